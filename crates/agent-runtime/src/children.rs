//! Child agents of a run: started by a call, within their limits, and ended with it (AGT-1, AGT-4, AGT-7).

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{AgentId, AgentRole, ErrorCode, ErrorPayload, NodeId};
use agent_tool::{ChildAgents, ChildKind, ChildReport, ChildTask};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ids::fresh_id;
use crate::run_context::RunContext;
use crate::run_spec::{ChildWork, Living, RunModel, RunSpec, Seed, StartRuns, StartedRun, Work};
use crate::services::Services;

/// Starts the children of one run.
#[derive(Clone)]
pub(crate) struct Children {
    pub(crate) starter: Arc<dyn StartRuns>,
    pub(crate) services: Arc<Services>,
    pub(crate) run: Arc<RunContext>,
    /// The model they ask.
    pub(crate) model: Arc<RunModel>,
    /// Those of this run that live.
    pub(crate) living: TaskTracker,
}

/// The same for one call.
pub(crate) struct CallChildren {
    pub(crate) children: Children,
    /// Of the call.
    pub(crate) cancel: CancellationToken,
    /// The node in front of the reply that makes the call.
    pub(crate) before: Option<NodeId>,
}

impl ChildAgents for CallChildren {
    fn run(&self, task: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>> {
        async move {
            let living = self.children.count()?;
            let timeout = task.timeout.unwrap_or(self.children.services.settings.children.timeout);
            let cancel = CancellationToken::new();
            // Also where this future is dropped, with the run that polls it.
            let _cancelled_with_the_call = cancel.clone().drop_guard();
            let started = self.start(task, living, cancel)?;
            Ok(self.wait(&started, timeout).await)
        }
        .boxed()
    }
}

impl Children {
    /// Takes a place for one more, if there is one. Taken first and looked at then, so that two calls never take the last one
    /// both.
    fn count(&self) -> Result<Living, ErrorPayload> {
        if !matches!(self.run.role, AgentRole::Main | AgentRole::Orchestrator) {
            let message = "a child agent cannot start children of its own: do the work yourself";
            return Err(ErrorPayload::new(ErrorCode::ToolNotAvailable, message));
        }
        let living = Living { _of_run: self.living.token(), _of_session: self.run.owned.child_lives() };
        let limits = &self.services.settings.children;
        for (count, limit, of) in [
            (self.living.len(), limits.per_run, "this run"),
            (self.run.owned.living_children(), limits.per_session, "this session"),
        ] {
            if count > limit {
                let message = format!(
                    "{of} may have {limit} child agents at a time, and has as many: wait until one has ended, or do the work \
                     yourself"
                );
                return Err(ErrorPayload::new(ErrorCode::ChildAgentLimitExceeded, message).detail("limit", limit));
            }
        }
        Ok(living)
    }
}

impl CallChildren {
    fn start(&self, task: ChildTask, living: Living, cancel: CancellationToken) -> Result<StartedRun, ErrorPayload> {
        let Children { starter, services, run, model, .. } = &self.children;
        let (role, seed) = match task.kind {
            ChildKind::Sub => (AgentRole::Sub, Seed::Fresh),
            ChildKind::Fork => {
                let nothing = || ErrorPayload::new(ErrorCode::InternalError, "there is no conversation to fork from");
                (AgentRole::Fork, Seed::Inherited(self.before.clone().ok_or_else(nothing)?))
            }
        };
        let work = ChildWork {
            agent_id: fresh_id(AgentId::PREFIX, AgentId::parse),
            role,
            parent: run.as_parent(),
            task: task.task,
            seed,
            definition: task.definition,
            allowed_tools: task.allowed_tools,
            _living: living,
        };
        let limits = services.settings.limits.clone();
        let spec = RunSpec { work: Work::Child(work), model: Arc::clone(model), limits, cancel };
        Ok(starter.start(&run.session, &run.owned, spec))
    }

    /// The end of the child; it is cancelled with the call, and when its time is over.
    async fn wait(&self, started: &StartedRun, timeout: Duration) -> ChildReport {
        let mut why = None;
        let ended = tokio::select! {
            biased;
            ended = started.ended() => ended,
            () = self.cancel.cancelled() => self.cancelled(started).await,
            () = tokio::time::sleep(timeout) => {
                let message = format!("the child did not end within {} ms and was cancelled", timeout.as_millis());
                why = Some(ErrorPayload::new(ErrorCode::Timeout, message));
                self.cancelled(started).await
            }
        };
        let (agent_id, run_id, status) = (started.agent_id.clone(), started.run_id.clone(), started.status());
        let Some(result) = ended else {
            let message = "the child did not stop in time; it can change nothing any more";
            let error = why.unwrap_or_else(|| ErrorPayload::new(ErrorCode::Timeout, message));
            return ChildReport { agent_id, run_id, status, end_reason: None, answer: None, error: Some(error) };
        };
        let error = why.or(result.error);
        ChildReport { agent_id, run_id, status, end_reason: result.end_reason, answer: result.answer, error }
    }

    /// Ends the child, within the time that has.
    async fn cancelled(&self, started: &StartedRun) -> Option<crate::run_state::RunResult> {
        started.cancel.cancel();
        let patience = self.children.services.settings.children.cancel_timeout;
        tokio::time::timeout(patience, started.ended()).await.ok().flatten()
    }
}
