//! What children cost, as the process that ran them tells it to the bench.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A run of an agent that starts children, one turn each, all at once.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Family {
    pub(crate) children: usize,
    /// CPU of the process from the start of the run to its end.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    /// What was asked of the allocator and not given back, at most, above what it was before.
    pub(crate) heap_bytes: usize,
    /// How often the store was asked, and for how many of these to store something.
    pub(crate) store_trips: u64,
    pub(crate) commits: u64,
}

/// A Task of five steps with dependencies over three workers, whose model takes its time for each reply.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Timeline {
    pub(crate) wall: Duration,
    /// Replies that had to wait for each other, at least, times what a reply takes.
    pub(crate) critical: Duration,
}

/// All that was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Families {
    /// With one child, and with many.
    pub(crate) subs: [Family; 2],
    pub(crate) workers: [Family; 2],
    pub(crate) timeline: Timeline,
}
