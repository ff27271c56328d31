//! The live streams of a run's children: whoever watches the run may watch each of them (API-4).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_protocol::RunId;

use crate::live::{Live, StreamTaken};

/// The children that a run has had, by their runs. As long as nobody watches one, nothing is kept of it but that it was there.
#[derive(Clone, Default)]
pub(crate) struct ChildStreams(Arc<Mutex<HashMap<RunId, Arc<Live>>>>);

/// A child's events cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChildEventsError {
    /// The run did not make a child with that run.
    #[error(
        "{child_run_id} is no child of run {run_id}: its event `child_agent_created` names each of its children, as `child_run_id`"
    )]
    NoChild {
        /// The run that was asked.
        run_id: RunId,
        /// What it was asked for.
        child_run_id: RunId,
    },
    /// Somebody else watches it, or has.
    #[error(transparent)]
    Taken(#[from] StreamTaken),
}

impl ChildStreams {
    /// A child is about to be told of.
    pub(crate) fn add(&self, child: Arc<Live>) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(child.run_id().clone(), child);
    }

    pub(crate) fn get(&self, child_run_id: &RunId) -> Option<Arc<Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(child_run_id).cloned()
    }
}
