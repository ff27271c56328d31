//! A part of a long session, as the process that went on with it tells it to the bench.

use serde::{Deserialize, Serialize};

/// What that process is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Talk {
    /// Where it goes on; a new session if not given.
    pub(crate) session_id: Option<String>,
    /// What the user says, each in a run of its own.
    pub(crate) messages: Vec<String>,
    /// Whether it waits for work beside its runs before it ends, as a face does that has the time.
    pub(crate) waits: bool,
}

/// What it did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Talked {
    pub(crate) session_id: String,
    /// What became of runs that did not complete.
    pub(crate) failures: Vec<String>,
    /// Whether one of them did not end at all.
    pub(crate) stuck: bool,
    /// What it held at most.
    pub(crate) peak_kib: u64,
}
