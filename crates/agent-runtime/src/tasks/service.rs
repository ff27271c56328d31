//! The Tasks of a session as one call may have to do with them: who calls, in which role and sent for what comes from its run
//! (TSK-12).

use agent_protocol::{AgentRole, ClaimSkipReason, ErrorCode, ErrorPayload, EventDraft, TaskStepClaimSkipped};
use agent_redact::within::Finder;
use agent_task_store::{Actor, Recorded, TaskError, ended};
use agent_tasks::{Command, Refusal, Step, StepId, StepStatus, Task, TaskId, Worker};
use agent_tool::{
    ListedTask, NewTask, SessionTasks, StepQuery, TaskChange, TaskHeader, TaskList, TaskLook, TaskQuery, TaskSteps,
    TaskWritten, UnavailableTask, WorkerScope, WrittenLine,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::access::{Desk, ForCall, TaskAccess, payload};
use super::ending::Ending;

/// The most steps that a worker is shown at once (TSK-13).
const WORKER_LIMIT: usize = 5;

/// The Tasks for one call.
#[derive(Clone)]
pub(crate) struct CallTasks {
    pub(crate) access: TaskAccess,
    pub(crate) call: ForCall,
    pub(crate) ending: Ending,
}

impl SessionTasks for CallTasks {
    fn create(&self, new: NewTask) -> BoxFuture<'_, Result<TaskWritten, ErrorPayload>> {
        async move {
            self.is_orchestrator("make tasks")?;
            let NewTask { task_id, wal_name, title, summary, steps } = new;
            let parts = self.masked((task_id, wal_name, title, summary, steps))?;
            let actor = self.actor();
            let work = move |desk: &mut Desk<'_>| {
                let (task_id, wal_name, title, summary, steps) = parts;
                let new = agent_task_store::NewTask { task_id: task_id.clone(), wal_name, title, summary, steps };
                let made = desk.store.create(new, &actor, &desk.stamp);
                let recorded = desk.note(&task_id, made.map(|made| made.recorded))?;
                written(desk.store.task(&task_id), None, recorded)
            };
            self.done(work).await
        }
        .boxed()
    }

    fn change(&self, task_id: TaskId, change: TaskChange) -> BoxFuture<'_, Result<TaskWritten, ErrorPayload>> {
        async move {
            let Asked { command, step_id } = self.command(&task_id, change)?;
            if matches!(command, Command::Fail { .. } | Command::Cancel { .. }) {
                let ended = self.end(&task_id, command).await;
                if ended.is_err() {
                    // The Task goes on; the steps of workers that were stopped for its end do not (WRK-7).
                    self.access.end_of_runs(task_id).await;
                }
                return ended;
            }
            let actor = self.actor();
            let work = move |desk: &mut Desk<'_>| perform(desk, &task_id, &command, &actor, step_id.as_ref());
            self.done(work).await
        }
        .boxed()
    }

    fn get(&self, task_id: TaskId, look: TaskLook) -> BoxFuture<'_, Result<TaskSteps, ErrorPayload>> {
        async move {
            self.sees(&task_id)?;
            let query =
                StepQuery { include_terminal: look.include_terminal, limit: look.limit, ..StepQuery::default() };
            self.done(move |desk| desk.look(&task_id, |task| page(task, &query, |_| true))).await
        }
        .boxed()
    }

    fn steps(&self, task_id: TaskId, query: StepQuery) -> BoxFuture<'_, Result<TaskSteps, ErrorPayload>> {
        async move {
            let Some(worker) = self.sees(&task_id)? else {
                return self.done(move |desk| desk.look(&task_id, |task| page(task, &query, |_| true))).await;
            };
            let query = StepQuery { limit: query.limit.min(WORKER_LIMIT), include_terminal: false, ..query };
            let work = move |desk: &mut Desk<'_>| {
                let may_claim = |step: &Step| step.status == StepStatus::Ready && worker.may_claim(step);
                let found = desk.look(&task_id, |task| {
                    let holds_one = task.claimed_by(&worker.run_id).is_some_and(|step| step.is_held_by(&worker.run_id));
                    let none = !holds_one && !task.steps_in(StepStatus::Ready).any(may_claim);
                    TaskSteps { no_step_claimed: none, ..page(task, &query, may_claim) }
                })?;
                if found.no_step_claimed {
                    let reason = ClaimSkipReason::NoStepClaimed;
                    let skipped = TaskStepClaimSkipped { task_id, step_id: None, reason, claimed_by_agent_id: None };
                    desk.told.push(EventDraft::of(skipped));
                }
                Ok(found)
            };
            self.done(work).await
        }
        .boxed()
    }

    fn list(&self, query: TaskQuery) -> BoxFuture<'_, Result<TaskList, ErrorPayload>> {
        async move {
            self.is_orchestrator("list tasks")?;
            self.done(move |desk| list(desk, query)).await
        }
        .boxed()
    }
}

/// A command, and the step that its result shows.
struct Asked {
    command: Command,
    step_id: Option<StepId>,
}

impl CallTasks {
    /// Ends the Task without success: first its workers (TSK-7).
    async fn end(&self, task_id: &TaskId, command: Command) -> Result<TaskWritten, ErrorPayload> {
        let stopped = self.ending.begin(&self.access, &self.call, task_id).await?;
        let (actor, task_id) = (self.actor(), task_id.clone());
        let work = move |desk: &mut Desk<'_>| perform(desk, &task_id, &command, &actor, None);
        let written = self.done(work).await?;
        Ok(TaskWritten { workers_left: stopped.left.clone(), ..written })
    }

    async fn done<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk<'_>) -> Result<R, TaskError> + Send + 'static,
    ) -> Result<R, ErrorPayload> {
        self.access.work(Some(self.call.clone()), work).await?.map_err(|error| payload(&error))
    }

    /// Who does it, for the log.
    fn actor(&self) -> Actor {
        let run = &self.access.run;
        Actor { agent_id: Some(run.agent.id.clone()), run_id: Some(run.run_id.clone()) }
    }

    fn is_orchestrator(&self, what: &str) -> Result<(), ErrorPayload> {
        if self.access.run.role == AgentRole::Orchestrator {
            return Ok(());
        }
        let message = format!("only the Orchestrator can {what}; say in your answer what should change");
        Err(ErrorPayload::new(ErrorCode::PermissionDenied, message))
    }

    /// The worker that calls; nobody where it is the Orchestrator.
    ///
    /// # Errors
    /// If it is neither, or a worker that was sent for another Task.
    fn sees(&self, task_id: &TaskId) -> Result<Option<Worker>, ErrorPayload> {
        match (self.access.run.role, &self.access.run.worker) {
            (AgentRole::Orchestrator, _) => Ok(None),
            (AgentRole::Worker, Some(scope)) => self.worker(scope, task_id).map(Some),
            _ => {
                let message =
                    "tasks are for the Orchestrator and its workers only; do what you were asked for without them";
                Err(ErrorPayload::new(ErrorCode::PermissionDenied, message))
            }
        }
    }

    fn worker(&self, scope: &WorkerScope, task_id: &TaskId) -> Result<Worker, ErrorPayload> {
        if scope.task_id != *task_id {
            let message = format!("you were sent for task {}, and task {task_id} is not yours", scope.task_id);
            return Err(ErrorPayload::new(ErrorCode::PermissionDenied, message));
        }
        let run = &self.access.run;
        Ok(Worker {
            agent_id: run.agent.id.clone(),
            run_id: run.run_id.clone(),
            pool_id: scope.pool_id.clone(),
            allowed_step_ids: scope.allowed_step_ids.clone(),
        })
    }

    fn command(&self, task_id: &TaskId, change: TaskChange) -> Result<Asked, ErrorPayload> {
        let of_task = |command| Asked { command, step_id: None };
        Ok(match change {
            TaskChange::Claim(step_id) => {
                let Some(worker) = self.sees(task_id)? else {
                    let message = "only workers claim steps: set the state of a step with agent.task_update_step";
                    return Err(ErrorPayload::new(ErrorCode::PermissionDenied, message));
                };
                Asked { command: Command::Claim { worker, step_id: step_id.clone() }, step_id: Some(step_id) }
            }
            TaskChange::UpdateStep(step_id, update) => {
                let by = match self.sees(task_id)? {
                    Some(worker) => agent_tasks::Actor::Worker(worker.run_id),
                    None => agent_tasks::Actor::Orchestrator,
                };
                let parts = (update.status, update.result_summary, update.artifact_ids, update.reason);
                let (status, result_summary, artifact_ids, reason) = self.masked(parts)?;
                let update = agent_tasks::StepUpdate { status, result_summary, artifact_ids, reason };
                Asked { command: Command::UpdateStep { by, step_id: step_id.clone(), update }, step_id: Some(step_id) }
            }
            TaskChange::Update(operations) => {
                self.is_orchestrator("change tasks")?;
                of_task(Command::Update(self.masked(operations)?))
            }
            TaskChange::Complete(result_summary) => {
                self.is_orchestrator("complete tasks")?;
                of_task(Command::Complete { result_summary: self.masked(result_summary)? })
            }
            TaskChange::Fail(reason) => {
                self.is_orchestrator("end tasks")?;
                of_task(Command::Fail { reason: self.masked(reason)? })
            }
            TaskChange::Cancel(reason) => {
                self.is_orchestrator("end tasks")?;
                of_task(Command::Cancel { reason: self.masked(reason)? })
            }
        })
    }

    /// What is to be stored, without known secrets (STO-10). A name with one in it is no name any more, and is refused.
    fn masked<T: Serialize + DeserializeOwned>(&self, what: T) -> Result<T, ErrorPayload> {
        let redactor = &self.access.run.redactor;
        if !redactor.is_active() {
            return Ok(what);
        }
        let masked = serde_json::to_value(&what).and_then(|mut value| {
            if !redactor.secrets().in_json(&mut value) {
                return Ok(what);
            }
            serde_json::from_value(value)
        });
        masked.map_err(|error| {
            let message = format!("an id or name holds a known secret and cannot be stored; choose another: {error}");
            ErrorPayload::new(ErrorCode::ValidationError, message)
        })
    }
}

/// What a command did.
struct Done {
    recorded: Vec<Recorded>,
    ended: Option<Task>,
}

fn perform(
    desk: &mut Desk<'_>,
    task_id: &TaskId,
    command: &Command,
    actor: &Actor,
    step_id: Option<&StepId>,
) -> Result<TaskWritten, TaskError> {
    let done = execute(desk, task_id, command, actor);
    let Done { recorded, ended } = done.map_err(|error| desk.terminal(task_id, error))?;
    let task = ended.as_ref().or_else(|| desk.store.task(task_id));
    written(task, step_id, recorded)
}

fn execute(desk: &mut Desk<'_>, task_id: &TaskId, command: &Command, actor: &Actor) -> Result<Done, TaskError> {
    let mut recorded = desk.refresh(task_id)?;
    if let Command::Claim { .. } = command
        && desk.workers.is_closing(task_id)
    {
        let why = format!("task {task_id} is being ended: no step of it can be claimed any more; end your run");
        return Err(Refusal::NotDispatchable(why).into());
    }
    let done = desk.store.execute(task_id, command, actor, &desk.stamp);
    if let Err(TaskError::Refused(Refusal::StepAlreadyClaimed { step_id, agent_id, .. })) = &done {
        let (step_id, claimed_by_agent_id) = (Some(step_id.clone()), agent_id.clone());
        let reason = ClaimSkipReason::StepAlreadyClaimed;
        let skipped = TaskStepClaimSkipped { task_id: task_id.clone(), step_id, reason, claimed_by_agent_id };
        desk.told.push(EventDraft::of(skipped));
    }
    let mut ended = None;
    let lines = done.map(|done| {
        ended = done.ended;
        done.recorded
    });
    recorded.extend(desk.note(task_id, lines)?);
    Ok(Done { recorded, ended })
}

fn written(task: Option<&Task>, step_id: Option<&StepId>, recorded: Vec<Recorded>) -> Result<TaskWritten, TaskError> {
    let Some(task) = task else { return Err(Refusal::Internal("the task is gone".to_owned()).into()) };
    let lines = recorded.into_iter();
    Ok(TaskWritten {
        task: task.summary(),
        wal_path: task.wal_path().to_owned(),
        lines: lines
            .map(|line| WrittenLine { wal_seq: line.wal_seq, event_id: line.event_id, event: line.event })
            .collect(),
        step: step_id.and_then(|id| task.step(id)).cloned(),
        workers_left: Vec::new(),
    })
}

/// The steps that are asked for, of those that may be seen.
fn page(task: &Task, query: &StepQuery, may_see: impl Fn(&Step) -> bool) -> TaskSteps {
    let wanted = |step: &&Step| {
        (query.include_terminal || !step.status.is_terminal())
            && (query.statuses.is_empty() || query.statuses.contains(&step.status))
            && query.worker_pool_id.as_ref().is_none_or(|pool| step.content.worker_pool_id.as_ref() == Some(pool))
            && query
                .claimed_by_agent_id
                .as_ref()
                .is_none_or(|agent| step.claim.as_ref().is_some_and(|claim| claim.agent_id == *agent))
            && may_see(step)
    };
    let mut total = 0;
    let mut steps = Vec::new();
    for step in task.steps().filter(wanted) {
        if total >= query.offset && steps.len() < query.limit {
            steps.push(step.clone());
        }
        total += 1;
    }
    TaskSteps { task: TaskHeader::from(task), steps, total, no_step_claimed: false }
}

/// Active Tasks first, in the order in which they were made; then those that have ended, the newest first.
fn list(desk: &mut Desk<'_>, query: TaskQuery) -> Result<TaskList, TaskError> {
    let ids: Vec<TaskId> = desk.store.active().map(|task| task.id().clone()).collect();
    for id in &ids {
        // One whose log cannot be written is still shown as it is.
        let _ = desk.refresh(id);
    }
    let is_wanted = |task: &&Task| query.status.is_none_or(|status| task.status() == status);
    let mut active: Vec<&Task> = desk.store.active().filter(is_wanted).collect();
    active.sort_by(|a, b| a.created_at().cmp(&b.created_at()).then_with(|| a.id().cmp(b.id())));
    let mut tasks: Vec<ListedTask> =
        active.iter().skip(query.offset).take(query.limit).map(|task| ListedTask::from(*task)).collect();
    let mut more = active.len() > query.offset.saturating_add(query.limit);
    let unavailable = desk.store.unavailable().map(|(name, log)| UnavailableTask {
        wal_path: desk.store.shown(name),
        task_id: log.task_id.clone(),
        line: log.line,
        reason: log.why.clone(),
    });
    let mut unavailable: Vec<UnavailableTask> = unavailable.collect();
    if query.include_terminal && !more {
        let (limit, offset) = (query.limit - tasks.len(), query.offset.saturating_sub(active.len()));
        let page = ended(desk.store, query.status, limit, offset)?;
        more = page.more;
        for log in page.tasks {
            match log.task {
                Ok(task) => tasks.push(ListedTask::from(&task)),
                Err(reason) => {
                    let wal_path = desk.store.shown_file(&log.path);
                    unavailable.push(UnavailableTask { wal_path, task_id: None, line: None, reason });
                }
            }
        }
    }
    Ok(TaskList { tasks, more, unavailable })
}
