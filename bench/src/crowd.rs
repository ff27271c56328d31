//! What many sessions at once took, as the process that ran them tells it to the bench.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The figures of a process that ran many sessions, twice.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Crowd {
    /// When one session had run: code is in memory, database and connection are open.
    pub(crate) before: Footprint,
    /// The most of each that was seen while the sessions of the first time ran.
    pub(crate) peak: Footprint,
    /// When they had ended and nothing of them was held.
    pub(crate) after: Footprint,
    /// The same after as many new ones: what the allocator has kept of the first is used again by then, so that only what
    /// sessions leave for good is added.
    pub(crate) after_again: Footprint,
    /// When each session of the first time ended, from the common start on.
    pub(crate) ends: Vec<Duration>,
}

/// What a process holds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Footprint {
    pub(crate) resident_kib: u64,
    /// What was asked of the allocator and not given back. SQLite asks the C library and is not in it.
    pub(crate) heap_bytes: usize,
    pub(crate) descriptors: usize,
    /// Those of them that are connections.
    pub(crate) sockets: usize,
    pub(crate) threads: u64,
}
