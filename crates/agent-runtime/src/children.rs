//! Child agents of a run: started by a call, within their limits, and ended with it (AGT-1, AGT-4, AGT-7).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_protocol::{
    AgentDefinition, AgentDefinitionInfo, AgentId, AgentRole, ChildAgentCancelRequested, ChildAgentCancelTimeout,
    ChildAgentCancelled, ChildAgentCompleted, ChildAgentCreated, ChildAgentFailed, ChildCancelReason, ChildOrigin,
    ChildResultSchemaValidationFailed, ContentBlock, ErrorCode, ErrorPayload, EventDraft, Level, NodeId, RunId,
    RunStatus, ToolCallId, Usage, WorkerOrigin,
};
use agent_redact::in_one_line;
use agent_tasks::{Step, TaskId};
use agent_tool::{ChildAgents, ChildDefinition, ChildKind, ChildReport, ChildTask, Fence, OutputSchema, WorkerScope};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::KnownAs;
use crate::child_task;
use crate::ids::fresh_id;
use crate::live::{ClosedAtTheEnd, Live};
use crate::models::RunModel;
use crate::run_context::RunContext;
use crate::run_spec::{ChildWork, Living, RunSpec, Seed, SentWorker, StartRuns, StartedRun, Work};
use crate::run_state::{RunResult, Unanswered};
use crate::services::Services;
use crate::sources::unavailable_to_children;
use crate::spending::Spending;
use crate::tasks::TaskAccess;
use crate::workers::Busy;

/// Characters of what a child is asked to do, as its parent's timeline tells it.
const ASKED: usize = 200;

/// Starts the children of one run.
#[derive(Clone)]
pub(crate) struct Children {
    pub(crate) starter: Arc<dyn StartRuns>,
    pub(crate) services: Arc<Services>,
    pub(crate) run: Arc<RunContext>,
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

/// A child that is about to be started.
pub(crate) struct ChildStart {
    pub(crate) agent_id: AgentId,
    pub(crate) role: AgentRole,
    pub(crate) seed: Seed,
    pub(crate) task: Vec<ContentBlock>,
    /// What people know it by; absent: the name of its definition.
    pub(crate) name: Option<String>,
    pub(crate) definition: Arc<AgentDefinition>,
    /// Of [`CallChildren::model_for`].
    pub(crate) model: Arc<RunModel>,
    /// Checked against what its role may have.
    pub(crate) allowed_tools: Option<HashSet<String>>,
    /// It is a worker that is sent.
    pub(crate) worker: Option<Sent>,
    /// What its answer has to be.
    pub(crate) output: Option<OutputSchema>,
    pub(crate) timeout: Option<Duration>,
}

/// What is more to a worker that is sent.
pub(crate) struct Sent {
    /// The run that it is sent with.
    pub(crate) run_id: RunId,
    /// Its entry in the configuration.
    pub(crate) worker_id: String,
    pub(crate) scope: WorkerScope,
    /// What core says of that, behind its task.
    pub(crate) order: ContentBlock,
    /// Nobody else sends it before this is dropped.
    pub(crate) busy: Busy,
    /// The event that is stored beside that of the child.
    pub(crate) told: EventDraft,
}

impl ChildAgents for CallChildren {
    fn run(&self, task: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>> {
        async move {
            self.children.may_have_children()?;
            let start = self.of_task(task)?;
            let living = self.children.count()?;
            Ok(self.start(start, living).await.report)
        }
        .boxed()
    }

    fn definitions(&self) -> Vec<AgentDefinitionInfo> {
        let services = &self.children.services;
        let tools = services.fixed.registered().snapshot();
        services.definitions.list(&|name| unavailable_to_children(&services.settings, &tools, name))
    }
}

/// What a child that was started brought back.
pub(crate) struct Brought {
    pub(crate) report: ChildReport,
    /// Of a worker that ended: the step that it had claimed, as the Task has it then.
    pub(crate) step: Option<ClaimedStep>,
}

/// The step that a worker claimed, if it did, or why the Task could not be read.
type ClaimedStep = Result<Option<Step>, ErrorPayload>;

/// A child, as events name it.
struct Child {
    agent_id: AgentId,
    run_id: RunId,
    definition: String,
    /// The Task that a worker is sent for.
    task_id: Option<TaskId>,
}

impl Child {
    /// How it ended, or where it was left.
    fn report(&self, started: &StartedRun, result: Option<RunResult>, error: Option<ErrorPayload>) -> ChildReport {
        let (status, left) = (started.status(), started.left());
        let (end_reason, answer, usage, turns) = match result {
            Some(result) => (result.end_reason, result.answer, result.usage, result.turns),
            None => (None, None, Usage::default(), 0),
        };
        let answer = if status == RunStatus::Completed { answer } else { left.said.clone() };
        ChildReport {
            agent_id: self.agent_id.clone(),
            run_id: self.run_id.clone(),
            agent_definition_id: self.definition.clone(),
            status,
            end_reason,
            answer,
            output: None,
            error,
            artifacts: left.artifacts.clone(),
            usage,
            turns,
        }
    }
}

impl Children {
    fn unanswered(&self) -> MutexGuard<'_, Vec<Unanswered>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what nobody answered in children that have ended: it went unanswered in this run as well.
    pub(crate) fn take_unanswered(&self) -> Vec<Unanswered> {
        std::mem::take(&mut self.unanswered())
    }

    /// Children have none of their own (AGT-1).
    pub(crate) fn may_have_children(&self) -> Result<(), ErrorPayload> {
        if matches!(self.run.role, AgentRole::Main | AgentRole::Orchestrator) {
            return Ok(());
        }
        let message = "a child agent cannot start children of its own: do the work yourself";
        Err(ErrorPayload::new(ErrorCode::ToolNotAvailable, message))
    }

    /// Takes a place for one more, if there is one. Taken first and looked at then, so that two calls never take the last one
    /// both.
    pub(crate) fn count(&self) -> Result<Living, ErrorPayload> {
        let living = Living::new(self.living.token(), self.run.owned.child_lives());
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
    /// What a child is to be for a task.
    fn of_task(&self, task: ChildTask) -> Result<ChildStart, ErrorPayload> {
        let Children { services, .. } = &self.children;
        let usual = &services.settings.children;
        let (role, seed, usual) = match task.kind {
            ChildKind::Sub => (AgentRole::Sub, Seed::Fresh, &usual.sub_definition),
            ChildKind::Fork => {
                let nothing = || ErrorPayload::new(ErrorCode::InternalError, "there is no conversation to fork from");
                let from = self.before.clone().ok_or_else(nothing)?;
                (AgentRole::Fork, Seed::Inherited(from), &usual.fork_definition)
            }
        };
        if let Some(allowed) = &task.allowed_tools {
            services.fixed.check_allowed(role, allowed)?;
        }
        let definition = match task.definition {
            Some(ChildDefinition::Given(definition)) => definition,
            Some(ChildDefinition::Named(id)) => services.definitions.find(&id)?,
            None => services.definitions.find(usual)?,
        };
        let output = task.output_schema.as_ref().map(OutputSchema::compile).transpose()?;
        let (task, allowed_tools, timeout) = (task.task, task.allowed_tools, task.timeout);
        let agent_id = fresh_id(AgentId::PREFIX, AgentId::parse);
        let model = self.model_for(role, &definition)?;
        Ok(ChildStart {
            agent_id,
            role,
            seed,
            task,
            name: None,
            definition,
            model,
            allowed_tools,
            worker: None,
            output,
            timeout,
        })
    }

    /// The model that a child asks: its definition's, else the one of the configuration.
    ///
    /// # Errors
    /// If it cannot be used, such as one whose window is too small for what every child of its role is told.
    pub(crate) fn model_for(
        &self,
        role: AgentRole,
        definition: &AgentDefinition,
    ) -> Result<Arc<RunModel>, ErrorPayload> {
        let services = &self.children.services;
        let model = services.model_for(Some(definition))?;
        services.fixed.check(role, &model).map_err(|error| {
            let message = format!("the model of {}: {error}", definition.agent_definition_id);
            ErrorPayload::new(ErrorCode::ConfigError, message)
        })?;
        Ok(model)
    }

    /// Starts a child and waits for its end.
    pub(crate) async fn start(&self, start: ChildStart, living: Living) -> Brought {
        let timeout = start.timeout.unwrap_or(self.children.services.settings.children.timeout);
        let cancel = CancellationToken::new();
        // Also where this future is dropped, with the run that polls it.
        let _cancelled_with_the_call = cancel.clone().drop_guard();
        let fence = self.fence.inner();
        let (output, over) = (start.output.clone(), living.over());
        let (spec, created, told) = self.prepare(start, living, timeout, (cancel, fence.clone()));
        let child = Child {
            agent_id: created.child_agent_id.clone(),
            run_id: created.child_run_id.clone(),
            definition: created.agent_definition_id.clone(),
            task_id: created.task_id.clone(),
        };
        self.tell(std::iter::once(EventDraft::of(created)).chain(told).collect()).await;
        let Children { starter, run, .. } = &self.children;
        let started = starter.start(&run.session, &run.owned, spec);
        let brought = self.wait(&child, &started, timeout).await;
        // One that did not stop can change nothing from here on.
        fence.close();
        if brought.report.status.is_terminal() {
            // Whoever hears of the end may start another one in its place at once.
            over.cancelled().await;
        }
        match output {
            Some(output) => Brought { report: self.checked(brought.report, &output).await, ..brought },
            None => brought,
        }
    }

    /// What the child is to be, and the events that say so.
    fn prepare(
        &self,
        start: ChildStart,
        living: Living,
        timeout: Duration,
        (cancel, fence): (CancellationToken, Fence),
    ) -> (RunSpec, ChildAgentCreated, Option<EventDraft>) {
        let Children { services, run, .. } = &self.children;
        let model = start.model;
        let tools = services.fixed.tool_names(start.role, start.allowed_tools.as_ref(), &model);
        let AgentDefinition { agent_definition_id, name, .. } = &*start.definition;
        let (agent_definition_id, name) = (agent_definition_id.clone(), name.clone());
        let known_as =
            KnownAs { name: start.name.unwrap_or_else(|| name.clone()), definition_id: agent_definition_id.clone() };
        let asked = asked(services, &start.task);
        let order = start.worker.as_ref().map(|sent| sent.order.clone());
        let task = child_task::said(start.role, start.task, order, start.output.as_ref());
        let worker_origin = start.worker.as_ref().map(|sent| WorkerOrigin {
            worker_id: Some(sent.worker_id.clone()),
            worker_pool_id: sent.scope.pool_id.clone(),
            task_id: sent.scope.task_id.clone(),
            allowed_step_ids: sent.scope.allowed_step_ids.clone(),
        });
        let (run_id, worker, told) = match start.worker {
            Some(Sent { run_id, scope, busy, told, .. }) => {
                (run_id, Some(SentWorker { scope, sender: Arc::clone(run), _busy: busy }), Some(told))
            }
            None => (fresh_id(RunId::PREFIX, RunId::parse), None, None),
        };
        // It can be watched before anybody hears of it.
        let live = Live::new(run.session.id().clone(), run_id.clone(), services.patterns.clone());
        let stream = ClosedAtTheEnd(Arc::new(live.unwatched()));
        run.child_streams.add(Arc::clone(&stream.0));
        let origin = ChildOrigin {
            parent_run_id: run.run_id.clone(),
            parent_tool_call_id: self.call.clone(),
            role: start.role,
            agent_definition_id: agent_definition_id.clone(),
            worker: worker_origin,
        };
        let work = ChildWork {
            agent_id: start.agent_id,
            role: start.role,
            parent: run.as_parent(),
            task,
            seed: start.seed,
            known_as,
            definition: start.definition,
            output: start.output,
            allowed_tools: start.allowed_tools,
            fence,
            worker,
            origin,
            stream,
            living,
        };
        let sent = work.origin.worker.as_ref();
        let created = ChildAgentCreated {
            child_agent_id: work.agent_id.clone(),
            child_run_id: run_id.clone(),
            stream_id: run_id.clone(),
            agent_type: work.agent_type(),
            agent_definition_id,
            fork_from_node_id: match &work.seed {
                Seed::Fresh => None,
                Seed::Inherited(from) => Some(from.clone()),
            },
            allowed_tools: tools,
            timeout_ms: millis(timeout),
            role: Some(work.role),
            definition_name: Some(name),
            asked,
            worker_id: sent.and_then(|sent| sent.worker_id.clone()),
            worker_pool_id: sent.map(|sent| sent.worker_pool_id.clone()),
            task_id: sent.map(|sent| sent.task_id.clone()),
            allowed_step_ids: sent.and_then(|sent| Some(sent.allowed_step_ids.as_ref()?.iter().cloned().collect())),
        };
        let limits = model.limits(&services.settings.limits);
        let spending = Spending::of_child(&run.spending);
        (RunSpec { run_id, work: Work::Child(Box::new(work)), model, limits, spending, cancel }, created, told)
    }

    /// Stores events of the parent's about its child.
    pub(crate) async fn tell(&self, events: Vec<EventDraft>) {
        self.children.run.record(events.into_iter().map(|event| event.call(&self.call)).collect()).await;
    }

    /// The end of the child; it is cancelled with the call, and when its time is over.
    async fn wait(&self, child: &Child, started: &StartedRun, timeout: Duration) -> Brought {
        let mut why = None;
        let ended = tokio::select! {
            biased;
            ended = started.ended() => ended,
            () = self.cancel.cancelled() => self.cancelled(child, started, ChildCancelReason::ParentCancelled).await,
            () = started.clock.has_worked(timeout) => {
                // The time that it waited for its server or a person is none of it.
                let message = format!("the child did not end within {} ms of work and was cancelled", timeout.as_millis());
                why = Some(ErrorPayload::new(ErrorCode::Timeout, message));
                self.cancelled(child, started, ChildCancelReason::Timeout).await
            }
        };
        let Some(result) = ended else {
            let message = "the child did not stop in time; it can change nothing any more";
            let error = why.unwrap_or_else(|| ErrorPayload::new(ErrorCode::Timeout, message));
            return Brought { report: child.report(started, None, Some(error)), step: None };
        };
        self.children.unanswered().extend(result.unanswered.iter().cloned());
        if started.left_behind() {
            self.children.run.note_left_behind();
        }
        // First what its end makes of its step.
        let step = match &child.task_id {
            Some(task_id) => {
                let tasks = TaskAccess::of(&self.children.run, &self.children.services);
                Some(tasks.step_of(task_id.clone(), child.run_id.clone()).await)
            }
            None => None,
        };
        let claimed = step.as_ref().and_then(|step| step.as_ref().ok()?.as_ref());
        self.tell(vec![ended_event(child, &result, claimed)]).await;
        let error = why.or_else(|| result.error.clone());
        Brought { report: child.report(started, Some(result), error), step }
    }

    /// The answer as its schema wants it, or what is wrong with it (AGT-5). Only that of a child that did its work is looked at.
    async fn checked(&self, mut report: ChildReport, output: &OutputSchema) -> ChildReport {
        if !report.is_success() {
            return report;
        }
        let answer = report.answer.as_deref().unwrap_or_default();
        match output.check(answer, &self.children.run.redactor.secrets()) {
            Ok(value) => report.output = Some(value),
            Err(mismatch) => {
                let error = mismatch.payload();
                let (child_agent_id, child_run_id) = (report.agent_id.clone(), report.run_id.clone());
                report.error = Some(error.clone());
                let failed = ChildResultSchemaValidationFailed { child_agent_id, child_run_id, error };
                self.tell(vec![EventDraft::of(failed).level(Level::Warning)]).await;
            }
        }
        report
    }

    /// Ends the child, within the time that has; nothing if it did not stop.
    async fn cancelled(&self, child: &Child, started: &StartedRun, reason: ChildCancelReason) -> Option<RunResult> {
        self.children.run.owned.tasks.workers.stopping(&child.run_id, reason);
        started.cancel.cancel();
        let (child_agent_id, child_run_id) = (child.agent_id.clone(), child.run_id.clone());
        self.tell(vec![EventDraft::of(ChildAgentCancelRequested { child_agent_id, child_run_id, reason })]).await;
        let patience = self.children.services.settings.children.cancel_timeout;
        let ended = tokio::time::timeout(patience, started.ended()).await;
        if ended.is_err() {
            self.children.run.note_left_behind();
            let (child_agent_id, child_run_id) = (child.agent_id.clone(), child.run_id.clone());
            let timeout = ChildAgentCancelTimeout { child_agent_id, child_run_id, waited_ms: millis(patience) };
            self.tell(vec![EventDraft::of(timeout).level(Level::Warning)]).await;
        }
        ended.ok().flatten()
    }
}

/// What a child is asked to do, in one line. Nothing that is a secret, or looks like one, is cut in half.
fn asked(services: &Services, task: &[ContentBlock]) -> Option<String> {
    let mut text = task.iter().filter_map(ContentBlock::to_model_text).collect::<Vec<_>>().join("\n");
    services.redactor.text(&mut text);
    let line = in_one_line(&services.patterns.redact(&text).text, ASKED);
    Some(line).filter(|line| !line.is_empty())
}

/// How the child ended, for its parent's timeline.
fn ended_event(child: &Child, result: &RunResult, step: Option<&Step>) -> EventDraft {
    let (child_agent_id, child_run_id) = (child.agent_id.clone(), child.run_id.clone());
    let (turns, usage) = (result.turns, result.usage.clone());
    let (step_id, step_status) = (step.map(|step| step.id.clone()), step.map(|step| step.status));
    match result.status {
        RunStatus::Completed => {
            EventDraft::of(ChildAgentCompleted { child_agent_id, child_run_id, turns, usage, step_id, step_status })
        }
        RunStatus::Aborted | RunStatus::Cancelled => {
            EventDraft::of(ChildAgentCancelled { child_agent_id, child_run_id, turns, usage, step_id, step_status })
        }
        RunStatus::Failed | RunStatus::Queued | RunStatus::Pending | RunStatus::Running => {
            let unknown = || ErrorPayload::new(ErrorCode::InternalError, "the child's run ended without saying why");
            let error = result.error.clone().unwrap_or_else(unknown);
            let failed = ChildAgentFailed { child_agent_id, child_run_id, turns, usage, error, step_id, step_status };
            EventDraft::of(failed).level(Level::Warning)
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
