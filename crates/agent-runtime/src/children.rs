//! Child agents of a run: started by a call, within their limits, and ended with it (AGT-1, AGT-4, AGT-7).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_protocol::{
    AgentId, AgentRole, ChildAgentCancelRequested, ChildAgentCancelTimeout, ChildAgentCancelled, ChildAgentCompleted,
    ChildAgentCreated, ChildAgentFailed, ChildCancelReason, ErrorCode, ErrorPayload, EventDraft, Level, NodeId, RunId,
    RunStatus, ToolCallId,
};
use agent_tool::{ChildAgents, ChildKind, ChildReport, ChildTask, Fence};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ids::fresh_id;
use crate::run_context::RunContext;
use crate::run_spec::{ChildWork, Living, RunModel, RunSpec, Seed, StartRuns, StartedRun, Work};
use crate::run_state::{RunResult, Unanswered};
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
    /// What nobody answered in those that have ended.
    pub(crate) unanswered: Arc<Mutex<Vec<Unanswered>>>,
}

/// The same for one call.
pub(crate) struct CallChildren {
    pub(crate) children: Children,
    pub(crate) call: ToolCallId,
    /// Of the call.
    pub(crate) cancel: CancellationToken,
    /// Of the call's run.
    pub(crate) fence: Fence,
    /// The node in front of the reply that makes the call.
    pub(crate) before: Option<NodeId>,
}

impl ChildAgents for CallChildren {
    fn run(&self, task: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>> {
        async move {
            if task.worker.is_some() && self.children.run.role != AgentRole::Orchestrator {
                let message = "only the Orchestrator has workers";
                return Err(ErrorPayload::new(ErrorCode::ToolNotAvailable, message));
            }
            let living = self.children.count()?;
            let timeout = task.timeout.unwrap_or(self.children.services.settings.children.timeout);
            let cancel = CancellationToken::new();
            // Also where this future is dropped, with the run that polls it.
            let _cancelled_with_the_call = cancel.clone().drop_guard();
            let fence = self.fence.inner();
            let (spec, created) = self.prepare(task, living, timeout, (cancel, fence.clone()))?;
            let child = Child { agent_id: created.child_agent_id.clone(), run_id: created.child_run_id.clone() };
            self.tell(EventDraft::of(created)).await;
            let Children { starter, run, .. } = &self.children;
            let started = starter.start(&run.session, &run.owned, spec);
            let report = self.wait(&child, &started, timeout).await;
            // One that did not stop can change nothing from here on.
            fence.close();
            Ok(report)
        }
        .boxed()
    }
}

/// A child, as events name it.
struct Child {
    agent_id: AgentId,
    run_id: RunId,
}

impl Children {
    fn unanswered(&self) -> MutexGuard<'_, Vec<Unanswered>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what nobody answered in children that have ended: it went unanswered in this run as well.
    pub(crate) fn take_unanswered(&self) -> Vec<Unanswered> {
        std::mem::take(&mut self.unanswered())
    }

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
    /// What the child is to be, and the event that says so.
    fn prepare(
        &self,
        task: ChildTask,
        living: Living,
        timeout: Duration,
        (cancel, fence): (CancellationToken, Fence),
    ) -> Result<(RunSpec, ChildAgentCreated), ErrorPayload> {
        let Children { services, run, model, .. } = &self.children;
        let (role, seed, builtin) = match task.kind {
            ChildKind::Sub if task.worker.is_some() => (AgentRole::Worker, Seed::Fresh, "default_worker_agent"),
            ChildKind::Sub => (AgentRole::Sub, Seed::Fresh, "default_sub_agent"),
            ChildKind::Fork => {
                let nothing = || ErrorPayload::new(ErrorCode::InternalError, "there is no conversation to fork from");
                let from = self.before.clone().ok_or_else(nothing)?;
                (AgentRole::Fork, Seed::Inherited(from), "default_fork_agent")
            }
        };
        if let Some(allowed) = &task.allowed_tools {
            services.fixed.check_allowed(role, allowed)?;
        }
        let tools = services.fixed.tool_names(role, task.allowed_tools.as_ref(), model);
        let definition = task.definition.as_ref().map(|definition| definition.agent_definition_id.clone());
        let work = ChildWork {
            agent_id: fresh_id(AgentId::PREFIX, AgentId::parse),
            role,
            parent: run.as_parent(),
            task: task.task,
            seed,
            definition: task.definition,
            allowed_tools: task.allowed_tools,
            fence,
            worker: task.worker,
            _living: living,
        };
        let run_id = fresh_id(RunId::PREFIX, RunId::parse);
        let created = ChildAgentCreated {
            child_agent_id: work.agent_id.clone(),
            child_run_id: run_id.clone(),
            stream_id: run_id.clone(),
            agent_type: work.agent_type(),
            agent_definition_id: definition.unwrap_or_else(|| builtin.to_owned()),
            fork_from_node_id: match &work.seed {
                Seed::Fresh => None,
                Seed::Inherited(from) => Some(from.clone()),
            },
            allowed_tools: tools,
            timeout_ms: millis(timeout),
        };
        let limits = services.settings.limits.clone();
        Ok((RunSpec { run_id, work: Work::Child(work), model: Arc::clone(model), limits, cancel }, created))
    }

    /// Stores an event of the parent's about its child.
    async fn tell(&self, event: EventDraft) {
        self.children.run.record(vec![event.call(&self.call)]).await;
    }

    /// The end of the child; it is cancelled with the call, and when its time is over.
    async fn wait(&self, child: &Child, started: &StartedRun, timeout: Duration) -> ChildReport {
        let mut why = None;
        let ended = tokio::select! {
            biased;
            ended = started.ended() => ended,
            () = self.cancel.cancelled() => self.cancelled(child, started, ChildCancelReason::ParentCancelled).await,
            () = tokio::time::sleep(timeout) => {
                let message = format!("the child did not end within {} ms and was cancelled", timeout.as_millis());
                why = Some(ErrorPayload::new(ErrorCode::Timeout, message));
                self.cancelled(child, started, ChildCancelReason::Timeout).await
            }
        };
        let (agent_id, run_id, status) = (child.agent_id.clone(), child.run_id.clone(), started.status());
        let Some(result) = ended else {
            let message = "the child did not stop in time; it can change nothing any more";
            let error = why.unwrap_or_else(|| ErrorPayload::new(ErrorCode::Timeout, message));
            return ChildReport { agent_id, run_id, status, end_reason: None, answer: None, error: Some(error) };
        };
        self.children.unanswered().extend(result.unanswered.iter().cloned());
        if started.left_behind() {
            self.children.run.note_left_behind();
        }
        self.tell(ended_event(child, &result)).await;
        let error = why.or(result.error);
        ChildReport { agent_id, run_id, status, end_reason: result.end_reason, answer: result.answer, error }
    }

    /// Ends the child, within the time that has; nothing if it did not stop.
    async fn cancelled(&self, child: &Child, started: &StartedRun, reason: ChildCancelReason) -> Option<RunResult> {
        started.cancel.cancel();
        let (child_agent_id, child_run_id) = (child.agent_id.clone(), child.run_id.clone());
        self.tell(EventDraft::of(ChildAgentCancelRequested { child_agent_id, child_run_id, reason })).await;
        let patience = self.children.services.settings.children.cancel_timeout;
        let ended = tokio::time::timeout(patience, started.ended()).await;
        if ended.is_err() {
            self.children.run.note_left_behind();
            let (child_agent_id, child_run_id) = (child.agent_id.clone(), child.run_id.clone());
            let timeout = ChildAgentCancelTimeout { child_agent_id, child_run_id, waited_ms: millis(patience) };
            self.tell(EventDraft::of(timeout).level(Level::Warning)).await;
        }
        ended.ok().flatten()
    }
}

/// How the child ended, for its parent's timeline.
fn ended_event(child: &Child, result: &RunResult) -> EventDraft {
    let (child_agent_id, child_run_id) = (child.agent_id.clone(), child.run_id.clone());
    let (turns, usage) = (result.turns, result.usage.clone());
    match result.status {
        RunStatus::Completed => EventDraft::of(ChildAgentCompleted { child_agent_id, child_run_id, turns, usage }),
        RunStatus::Aborted | RunStatus::Cancelled => {
            EventDraft::of(ChildAgentCancelled { child_agent_id, child_run_id, turns, usage })
        }
        RunStatus::Failed | RunStatus::Queued | RunStatus::Pending | RunStatus::Running => {
            let unknown = || ErrorPayload::new(ErrorCode::InternalError, "the child's run ended without saying why");
            let error = result.error.clone().unwrap_or_else(unknown);
            let failed = ChildAgentFailed { child_agent_id, child_run_id, turns, usage, error };
            EventDraft::of(failed).level(Level::Warning)
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
