//! The sources of a run, turn by turn.

use agent_engine::Sources;
use agent_store::Write;

/// Keeps what a run's requests are made of.
#[derive(Debug)]
pub(crate) struct Gatherer {
    sources: Sources,
}

/// An answer, and the bytes behind hashes that it names for the first time.
pub(crate) struct Gathered {
    pub(crate) sources: Sources,
    pub(crate) blobs: Vec<Write>,
}

impl Gatherer {
    pub(crate) fn new(sources: Sources) -> Self {
        Self { sources }
    }

    /// The sources as they are now.
    pub(crate) fn gather(&mut self, _fresh: bool) -> Gathered {
        Gathered { sources: self.sources.clone(), blobs: Vec::new() }
    }
}
