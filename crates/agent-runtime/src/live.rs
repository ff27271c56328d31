//! The live stream of a run: a tail of its log, with the deltas of text in between (EVT-2, API-13).
//!
//! Structural events are stored before they get here. A short tail of them is kept; a consumer that falls behind reads
//! the rest from the store at the place where it is. Deltas are not stored: those of one message merge into one pending
//! text, and when too much of it is pending, whole messages are dropped here and read from their node. So the run never
//! waits for a consumer, memory is bounded, and neither text nor structure is lost.
//!
//! Of a child's run nothing is kept before somebody watches it: what was stored until then is read from the store, and the
//! deltas begin there.

mod feed;
mod state;
mod stream;

pub(crate) use feed::{ClosedAtTheEnd, Live};
pub use stream::{EventStream, StreamTaken};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod watching_tests;
