//! Search: an index of words that is filled when somebody searches, never by a commit.
//!
//! The index (`search_text`) knows words and row ids, not the text; a row id is made of the session's number and the node's
//! place. What it holds is exactly what [`text`] makes of a node: **whoever changes that, or how it is split into words,
//! adds a migration that empties the index**, else old and new nodes are found by different rules.

mod excerpt;
mod find;
mod index;
mod text;
mod words;

pub(super) use find::find;
pub(super) use index::{add, clean, exists, forget, gather, is_dirty, make};
pub(super) use words::Query;

/// Bits of a row id that hold the node's place.
const PLACE_BITS: u32 = 32;

/// The first row id of a session, which no node has.
fn first_row(number: i64) -> i64 {
    number << PLACE_BITS
}

/// The last row id of a session.
fn last_row(number: i64) -> i64 {
    first_row(number) | ((1 << PLACE_BITS) - 1)
}

fn session_of(row: i64) -> i64 {
    row >> PLACE_BITS
}

fn place_of(row: i64) -> u64 {
    (row & ((1 << PLACE_BITS) - 1)).unsigned_abs()
}
