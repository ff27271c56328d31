//! What a caller holds of a run.

use std::sync::Arc;
use std::time::Duration;

use agent_archive::{Archive, ArchiveError, ChildInspection, TaskArchive};
use agent_protocol::{AgentId, EndReason, ErrorCode, ErrorPayload, RunId, RunMode, RunStatus, SessionId};
use agent_redact::within::{in_error, in_optional_text, in_text};
use agent_store::SessionStore;

use crate::child_streams::ChildEventsError;
use crate::live::{EventStream, StreamTaken};
use crate::run_spec::StartedRun;
use crate::run_state::RunResult;

/// What became of a cancel (RUN-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelResult {
    /// Where the run stands now.
    pub status: RunStatus,
    /// Something did not stop in time; it can change nothing any more, and clean-up goes on.
    pub timed_out: bool,
}

/// A run that was started. Dropping the handle does not end the run.
pub struct RunHandle {
    pub(crate) started: StartedRun,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) cancel_timeout: Duration,
    pub(crate) mode: RunMode,
    pub(crate) archive: Archive,
    pub(crate) tasks: TaskArchive,
}

impl RunHandle {
    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.started.run_id
    }

    /// Its session; give it to the next start to go on.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.started.session_id
    }

    /// The agent that works.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.started.agent_id
    }

    /// How it works.
    #[must_use]
    pub fn mode(&self) -> RunMode {
        self.mode
    }

    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.started.status()
    }

    /// What happens, from the run's first event on. There is one consumer (API-4).
    ///
    /// # Errors
    /// [`StreamTaken`] the second time.
    pub fn events(&self, debug: bool) -> Result<EventStream, StreamTaken> {
        self.started.live.take(Arc::clone(&self.store), debug)
    }

    /// What happens in the run of a child that this run made, from that run's first event on, whether it is at work or has ended.
    /// `child_agent_created` names it, as `child_run_id`. There is one consumer (API-4).
    ///
    /// Nothing is kept for nobody: deltas begin when this is called. What was said before of the message that is being
    /// written then is in its node, as all of it is once it is complete.
    ///
    /// # Errors
    /// [`ChildEventsError`] if the run is none of this run's children, or has a consumer.
    pub fn child_events(&self, child_run_id: &RunId, debug: bool) -> Result<EventStream, ChildEventsError> {
        let child = self.started.child_streams.get(child_run_id).ok_or_else(|| ChildEventsError::NoChild {
            run_id: self.started.run_id.clone(),
            child_run_id: child_run_id.clone(),
        })?;
        Ok(child.take(Arc::clone(&self.store), debug)?)
    }

    /// The run of a child that this run made: what its turns were made of, who the child is, what it was asked and what came of it.
    ///
    /// # Errors
    /// If the run is none of this run's children, or the store cannot be read.
    pub async fn inspect_child(
        &self,
        child_run_id: &RunId,
        include_sensitive: bool,
    ) -> Result<ChildInspection, ArchiveError> {
        let mut child = self.archive.inspect_child(child_run_id, include_sensitive).await?;
        if child.place.parent_run_id != self.started.run_id {
            let (run_id, child_run_id) = (self.started.run_id.clone(), child_run_id.clone());
            let parent_run_id = child.place.parent_run_id;
            return Err(ArchiveError::OthersChild { run_id, child_run_id, parent_run_id });
        }
        let (tasks, run_id) = (self.tasks.clone(), child_run_id.clone());
        let looked = tokio::task::spawn_blocking(move || {
            child.place.look_at_step(&run_id, &tasks);
            child
        });
        looked.await.map_err(|_| ArchiveError::BrokeOff { work: "looking at the step of a worker" })
    }

    /// Waits for the end. What looks like a secret is not shown in its answer, its error and what went unanswered.
    pub async fn wait(&self) -> RunResult {
        // The driver says how it ended before it goes; only one that was dropped with its threads leaves nothing.
        let mut result = self.started.ended().await.unwrap_or_else(|| {
            let error = ErrorPayload::new(
                ErrorCode::InternalError,
                "the run ended without saying how; this is a bug in soong-agent",
            );
            RunResult::without_work(RunStatus::Failed, Some(EndReason::Failed), Some(error))
        });
        let patterns = &self.started.live.patterns;
        if let Some(error) = &mut result.error {
            in_error(patterns, error);
        }
        in_optional_text(patterns, result.answer.as_mut());
        for call in &mut result.unanswered {
            in_text(patterns, &mut call.reason);
        }
        result
    }

    /// For how long the run has been waiting for the store, such as while another program has the database locked; `None` where it is
    /// not waiting.
    #[must_use]
    pub fn waits_for_store(&self) -> Option<Duration> {
        self.started.live.storing.waiting()
    }

    /// Asks the run to stop and does not wait; its end is in its events.
    pub fn stop(&self) {
        self.started.cancel.cancel();
    }

    /// Stops the run: new work at once, what runs cooperatively. Returns when it has ended, or after
    /// `runtime.cancel_timeout_ms`. Calling it again is fine.
    pub async fn cancel(&self) -> CancelResult {
        self.started.cancel.cancel();
        // The driver's own wait is the cancel timeout; beyond it lies only storing the end.
        let patience = self.cancel_timeout + Duration::from_secs(2);
        let has_ended = tokio::time::timeout(patience, self.wait()).await.is_ok();
        CancelResult { status: self.status(), timed_out: !has_ended || self.started.left_behind() }
    }
}
