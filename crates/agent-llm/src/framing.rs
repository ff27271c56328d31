//! From network chunks to lines, and from lines to events. Push parsers: they take whatever bytes there are, in any cut,
//! in time linear in the bytes, and keep no more than one line or event (PRV-16).
//!
//! No chunk is ever decoded: bytes are cut at line ends first, and a complete line is decoded, lossily, on its own. So a
//! character that is split between two chunks is whole again, and broken bytes spoil their own line only.

mod lines;
mod sse;

pub(crate) use lines::{LineEnds, Lines};
pub(crate) use sse::{Sse, SseEvent};

/// A line or event was longer than the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong {
    pub(crate) limit: usize,
}

#[cfg(test)]
mod tests;
