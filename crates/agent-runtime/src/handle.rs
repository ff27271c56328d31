//! What a caller holds of a run.

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{AgentId, EndReason, ErrorPayload, RunId, RunMode, RunStatus, SessionId};
use agent_store::SessionStore;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::live::{EventStream, Live, StreamTaken};
use crate::redact::shapes_of_error;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// Where it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub end_reason: Option<EndReason>,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
}

/// What became of a cancel (RUN-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelResult {
    /// Where the run stands now.
    pub status: RunStatus,
    /// Something did not stop in time; it can change nothing any more, and clean-up goes on.
    pub timed_out: bool,
}

/// Where a run stands, shared by its driver and its handle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standing {
    pub(crate) status: RunStatus,
    pub(crate) result: Option<RunResult>,
}

/// A run that was started. Dropping the handle does not end the run.
pub struct RunHandle {
    pub(crate) run_id: RunId,
    pub(crate) session_id: SessionId,
    pub(crate) agent_id: AgentId,
    pub(crate) live: Arc<Live>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) cancel: CancellationToken,
    pub(crate) standing: watch::Receiver<Standing>,
    pub(crate) cancel_timeout: Duration,
}

impl RunHandle {
    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Its session; give it to the next start to go on.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The agent that works.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.agent_id
    }

    /// How it works.
    #[must_use]
    pub fn mode(&self) -> RunMode {
        RunMode::Normal
    }

    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.standing.borrow().status
    }

    /// What happens, from the run's first event on. There is one consumer (API-4).
    ///
    /// # Errors
    /// [`StreamTaken`] the second time.
    pub fn events(&self, debug: bool) -> Result<EventStream, StreamTaken> {
        self.live.take(Arc::clone(&self.store), debug)
    }

    /// Waits for the end. What looks like a secret is not shown in its error.
    pub async fn wait(&self) -> RunResult {
        let mut standing = self.standing.clone();
        let result = match standing.wait_for(|standing| standing.result.is_some()).await {
            Ok(standing) => standing.result.clone(),
            Err(_) => None,
        };
        // The driver says how it ended before it goes; only one that was dropped with its threads leaves nothing.
        let mut result = result.unwrap_or_else(|| RunResult {
            status: RunStatus::Failed,
            end_reason: Some(EndReason::Failed),
            error: Some(ErrorPayload::new(
                agent_protocol::ErrorCode::InternalError,
                "the run ended without saying how; this is a fault of soong-agent",
            )),
        });
        if let Some(error) = &mut result.error {
            shapes_of_error(&self.live.patterns, error);
        }
        result
    }

    /// Asks the run to stop and does not wait; its end is in its events.
    pub fn stop(&self) {
        self.cancel.cancel();
    }

    /// Stops the run: new work at once, what runs cooperatively. Returns when it has ended, or after
    /// `runtime.cancel_timeout_ms`. Calling it again is fine.
    pub async fn cancel(&self) -> CancelResult {
        self.cancel.cancel();
        // The driver's own wait is the cancel timeout; beyond it lies only storing the end.
        let patience = self.cancel_timeout + Duration::from_secs(2);
        let timed_out = tokio::time::timeout(patience, self.wait()).await.is_err();
        CancelResult { status: self.status(), timed_out }
    }
}
