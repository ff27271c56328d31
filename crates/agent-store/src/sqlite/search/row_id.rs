//! Row ids of the index: a session's number, then the place of a node in it.

/// Bits of a row id that hold the node's place.
const PLACE_BITS: u32 = 32;

/// The first row id of a session, which no node has.
pub(super) fn first_row(number: i64) -> i64 {
    number << PLACE_BITS
}

/// The last row id of a session.
pub(super) fn last_row(number: i64) -> i64 {
    first_row(number) | ((1 << PLACE_BITS) - 1)
}

pub(super) fn session_of(row: i64) -> i64 {
    row >> PLACE_BITS
}

pub(super) fn place_of(row: i64) -> u64 {
    (row & ((1 << PLACE_BITS) - 1)).unsigned_abs()
}
