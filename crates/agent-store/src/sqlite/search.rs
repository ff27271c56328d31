//! Search: an index of words that is filled when somebody searches, never by a commit.
//!
//! The index (`search_text`) knows words and row ids, not the text; a row id is made of the session's number and the node's
//! place. What it holds is exactly what [`text`] makes of a node: **whoever changes that, or how it is split into words,
//! adds a migration that empties the index**, else old and new nodes are found by different rules.

mod excerpt;
mod find;
mod index;
mod row_id;
mod text;
mod words;

pub(super) use find::{find, of_project};
pub(super) use index::{add, clean, exists, forget, gather, is_dirty, make};
pub(super) use words::Query;
