//! When a search is over before its end.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// Ends a search on request, or at a point in time.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) cancel: CancellationToken,
    pub(crate) deadline: Option<Instant>,
}

impl Stop {
    /// Whether it is over.
    pub(crate) fn now(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Why a read failed that was stopped.
#[derive(Debug, thiserror::Error)]
#[error("the search was stopped")]
pub(crate) struct Stopped;
