//! What is to be cut out.

use std::ops::Range;

/// A range of a text, and what stands in its place.
pub(super) struct Cut {
    pub(super) range: Range<usize>,
    pub(super) marker: &'static str,
}
