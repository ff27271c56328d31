//! Command and state in, events or a typed refusal out.

use agent_protocol::task::{Moment, Operation, StepId, StepSpec, StepStatus, TaskId, TaskSnapshot, TaskStatus};
use agent_protocol::{
    AgentId, RunId, TaskCancelled, TaskCompleted, TaskCreated, TaskFailed, TaskRunning, TaskStepBlocked,
    TaskStepCancelled, TaskStepClaimed, TaskStepCompleted, TaskStepFailed, TaskStepLeaseExpired, TaskStepReady,
    TaskStepStarted, TaskStepUpdated, TaskUpdated,
};

use crate::apply::{Misfit, REASON_TASK_CANCELLED, REASON_TASK_FAILED};
use crate::command::{Actor, Command, Context, StepUpdate, Worker};
use crate::edit;
use crate::event::{Event, Payload};
use crate::limits;
use crate::refusal::{self, Refusal};
use crate::step::Step;
use crate::task::{Header, Task};

/// The reason of optional steps that were given up because the Task was completed.
pub const REASON_TASK_COMPLETED: &str = "task_completed";
/// The reason of `task_running`.
const REASON_STEP_READY: &str = "step_ready";

/// A Task as it is asked for (TSK-16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The id.
    pub task_id: TaskId,
    /// The log file, as the service names it.
    pub wal_path: String,
    /// One line.
    pub title: String,
    /// What it is about.
    pub summary: String,
    /// Its steps.
    pub steps: Vec<StepSpec>,
    /// The agent that makes it.
    pub agent_id: Option<AgentId>,
    /// The run that makes it.
    pub run_id: Option<RunId>,
}

/// A change that is made but not kept: store its events, then [`commit`](Self::commit). Where it is dropped instead, the Task is as
/// it was before.
#[derive(Debug)]
#[must_use = "a change that is dropped is taken back"]
pub struct Change<'a> {
    task: &'a mut Task,
    /// As it was before; none once the change is kept.
    before: Option<Header>,
    events: Vec<Event>,
}

impl Change<'_> {
    /// What is to be stored, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The Task as it will be.
    #[must_use]
    pub fn task(&self) -> &Task {
        self.task
    }

    /// Keeps the change.
    pub fn commit(mut self) -> Vec<Event> {
        self.before = None;
        self.task.keep();
        std::mem::take(&mut self.events)
    }

    fn emit(&mut self, at: Moment, step_id: Option<StepId>, payload: impl Into<Payload>) -> Result<(), Refusal> {
        let event = Event { step_id, at, payload: payload.into() };
        self.task.apply(&event).map_err(fault)?;
        self.events.push(event);
        Ok(())
    }

    /// What follows from the state: steps that wait for nothing are ready, and a Task with such steps is running.
    fn settle(&mut self, now: Moment) -> Result<(), Refusal> {
        if self.task.status().is_terminal() {
            return Ok(());
        }
        while let Some(step) = self.task.graph.first_due().and_then(|slot| self.task.graph.get(slot)) {
            let payload = TaskStepReady {
                previous_status: StepStatus::Pending,
                status: StepStatus::Ready,
                depends_on_step_ids: step.content.depends_on.clone(),
            };
            let id = step.id.clone();
            self.emit(now, Some(id), payload)?;
        }
        if self.task.status() == TaskStatus::Pending && self.task.has_moving_steps() {
            let reason = Some(REASON_STEP_READY.to_owned());
            let payload = TaskRunning { previous_status: TaskStatus::Pending, status: TaskStatus::Running, reason };
            self.emit(now, None, payload)?;
        }
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if let Some(header) = self.before.take() {
            self.task.take_back(header);
        }
    }
}

/// An event of our own that does not fit is a fault of this crate, told as one.
fn fault(misfit: Misfit) -> Refusal {
    Refusal::Internal(misfit.to_string())
}

impl Task {
    /// Makes a Task. It is there once its events are stored.
    ///
    /// # Errors
    /// [`Refusal`] where a name is there twice, a dependency is unknown, steps wait for each other, or a limit is passed.
    pub fn create(new: &NewTask, now: Moment) -> Result<(Self, Vec<Event>), Refusal> {
        limits::title("the task", &new.title)?;
        limits::text("the summary of the task", Some(&new.summary))?;
        limits::step_count(new.steps.len())?;
        let mut known = std::collections::HashSet::new();
        for step in &new.steps {
            limits::spec(step)?;
            limits::dependencies(step.step_id.as_str(), step.depends_on_step_ids.len())?;
            if !known.insert(&step.step_id) {
                return Err(Refusal::Invalid(format!("steps has {} twice: each step_id must be unique", step.step_id)));
            }
        }
        let mut task = Self::empty(&TaskSnapshot {
            task_id: new.task_id.clone(),
            wal_path: new.wal_path.clone(),
            title: new.title.clone(),
            summary: new.summary.clone(),
            status: TaskStatus::Pending,
            root_step_ids: Vec::new(),
            steps: Vec::new(),
            created_by_agent_id: new.agent_id.clone(),
            created_by_run_id: new.run_id.clone(),
            created_at: now,
            updated_at: now,
        });
        let slots: Vec<_> = new.steps.iter().map(|spec| task.add(Step::new(spec, now))).collect();
        if let Some((unknown, step)) = task.graph.unknown_dependency() {
            let specs = new.steps.iter().enumerate().filter(|(_, spec)| spec.step_id == step.id);
            let mut places =
                specs.filter_map(|(at, spec)| Some(format!("steps[{at}].{}", refusal::place_of(unknown, spec)?)));
            let field = places.next().unwrap_or_default();
            return Err(Refusal::dependency_not_found(task.id(), &step.id, unknown, field));
        }
        if let Some(cycle) = task.graph.cycle(slots) {
            return Err(Refusal::DependencyCycle(cycle));
        }
        let created = TaskCreated { task: Box::new(task.snapshot()) };
        let mut change = task.change();
        change.events.push(Event { step_id: None, at: now, payload: created.into() });
        change.settle(now)?;
        let events = change.commit();
        Ok((task, events))
    }

    fn change(&mut self) -> Change<'_> {
        let before = Some(self.begin());
        Change { task: self, before, events: Vec::new() }
    }

    /// Makes a change without keeping it.
    ///
    /// A command that finds nothing to do, such as settling what is settled, gives a change without events.
    ///
    /// # Errors
    /// [`Refusal`] says why the command is refused; the Task is as it was before.
    pub fn prepare(&mut self, command: &Command, context: &Context) -> Result<Change<'_>, Refusal> {
        let idle = matches!(command, Command::RunEnded { .. } | Command::Settle);
        if self.status().is_terminal() && !idle {
            return Err(Refusal::TaskTerminal { task_id: self.id.clone(), status: self.status() });
        }
        let now = context.now;
        let mut change = self.change();
        match command {
            Command::Update(operations) => update(&mut change, operations, now)?,
            Command::Claim { worker, step_id } => claim(&mut change, worker, step_id, context)?,
            Command::UpdateStep { by, step_id, update } => update_step(&mut change, by, step_id, update, context)?,
            Command::Complete { result_summary } => complete(&mut change, result_summary.as_deref(), now)?,
            Command::Fail { reason } => fail(&mut change, reason.as_deref(), now)?,
            Command::Cancel { reason } => cancel(&mut change, reason.as_deref(), now)?,
            Command::RunEnded { run_id, reason } => run_ended(&mut change, run_id, reason, now)?,
            Command::Settle => expire(&mut change, now)?,
        }
        change.settle(now)?;
        Ok(change)
    }
}

fn update(change: &mut Change<'_>, operations: &[Operation], now: Moment) -> Result<(), Refusal> {
    let edited = edit::apply(change.task, operations, now)?;
    change.task.header.updated_at = now;
    let payload = TaskUpdated {
        operations: operations.to_vec(),
        updated_after_dispatch_step_ids: edited.after_dispatch,
        task_summary: Box::new(change.task.summary()),
    };
    change.events.push(Event { step_id: None, at: now, payload: payload.into() });
    let implied = edited.implied.into_iter();
    change.events.extend(implied.map(|(step_id, payload)| Event { step_id, at: now, payload }));
    Ok(())
}

fn claim(change: &mut Change<'_>, worker: &Worker, id: &StepId, context: &Context) -> Result<(), Refusal> {
    let task = &change.task;
    if task.status() == TaskStatus::Blocked {
        let why = format!("task {} is blocked: no step can be claimed before the Orchestrator lets it go on", task.id);
        return Err(Refusal::NotDispatchable(why));
    }
    let (slot, step) = task.graph.find(id).ok_or_else(|| not_found(task, id))?;
    if let Some(step_id) = task.claims.get(&worker.run_id) {
        return Err(Refusal::StepAlreadyClaimedByRun { step_id: step_id.clone() });
    }
    if step.status.is_held() {
        let agent_id = step.claim.as_ref().map(|claim| claim.agent_id.clone());
        return Err(Refusal::StepAlreadyClaimed { step_id: id.clone(), status: step.status, agent_id });
    }
    if step.status != StepStatus::Ready {
        return Err(not_ready(task, slot, step));
    }
    may_claim(worker, step)?;
    let payload = TaskStepClaimed {
        previous_status: step.status,
        claimed_by_agent_id: worker.agent_id.clone(),
        claimed_by_run_id: worker.run_id.clone(),
        lease_expires_at: context.now.plus(context.lease_millis),
    };
    change.emit(context.now, Some(id.clone()), payload)
}

/// Whether a step is in a worker's scope: its dispatch names it or names none, and its pool is the worker's.
fn may_claim(worker: &Worker, step: &Step) -> Result<(), Refusal> {
    if worker.allowed_step_ids.as_ref().is_some_and(|allowed| !allowed.contains(&step.id)) {
        let why = format!("step {} is not among the steps that this worker was sent for", step.id);
        return Err(Refusal::PermissionDenied(why));
    }
    match &step.content.worker_pool_id {
        Some(pool) if *pool != worker.pool_id => {
            let why =
                format!("step {} is for the worker pool {pool}, and this worker is of {}", step.id, worker.pool_id);
            Err(Refusal::PermissionDenied(why))
        }
        _ => Ok(()),
    }
}

impl Worker {
    /// Whether the worker may claim this step once it is ready.
    #[must_use]
    pub fn may_claim(&self, step: &Step) -> bool {
        may_claim(self, step).is_ok()
    }
}

fn not_found(task: &Task, id: &StepId) -> Refusal {
    Refusal::StepNotFound { task_id: task.id.clone(), step_id: id.clone() }
}

fn not_ready(task: &Task, slot: u32, step: &Step) -> Refusal {
    let open = |id: &&StepId| task.step(id).is_none_or(|step| step.status != StepStatus::Completed);
    let waits = task.graph.unmet(slot) > 0 && step.status == StepStatus::Pending;
    let waits_for = step.content.depends_on.iter().filter(open).filter(|_| waits).cloned().collect();
    Refusal::StepNotReady { step_id: step.id.clone(), status: step.status, waits_for }
}

fn update_step(
    change: &mut Change<'_>,
    by: &Actor,
    id: &StepId,
    update: &StepUpdate,
    context: &Context,
) -> Result<(), Refusal> {
    limits::text("result_summary", update.result_summary.as_deref())?;
    limits::text("reason", update.reason.as_deref())?;
    limits::artifacts(update.artifact_ids.as_deref().unwrap_or_default())?;
    let task = &change.task;
    let (slot, step) = task.graph.find(id).ok_or_else(|| not_found(task, id))?;
    if let Actor::Worker(run_id) = by
        && !step.is_held_by(run_id)
    {
        let why = match task.claims.get(run_id) {
            Some(own) if own == id => format!("this run holds step {id} no longer: it is {}", step.status),
            _ => format!("this run has not claimed step {id}"),
        };
        return Err(Refusal::PermissionDenied(why));
    }
    if step.status == StepStatus::Pending {
        return Err(not_ready(task, slot, step));
    }
    let target = target(task, step, by, update)?;
    let lease = match (by, step.lease()) {
        (Actor::Worker(_), Some(lease)) => Some(lease.max(context.now.plus(context.lease_millis))),
        (_, lease) => lease,
    };
    let previous_status = step.status;
    let result_summary = update.result_summary.clone().or_else(|| step.result_summary.as_deref().map(str::to_owned));
    let artifact_ids = update.artifact_ids.clone().unwrap_or_else(|| step.artifact_ids.clone());
    let reason = update.reason.clone();
    let payload: Payload = match target {
        Target::Same => {
            let status = previous_status;
            TaskStepUpdated { previous_status, status, result_summary, artifact_ids, lease_expires_at: lease }.into()
        }
        Target::Started => {
            // What is said beside the start is an event of its own, behind it.
            let started = TaskStepStarted { previous_status, status: StepStatus::Running, lease_expires_at: lease };
            change.emit(context.now, Some(id.clone()), started)?;
            if update.result_summary.is_none() && update.artifact_ids.is_none() {
                return Ok(());
            }
            let (previous_status, status) = (StepStatus::Running, StepStatus::Running);
            TaskStepUpdated { previous_status, status, result_summary, artifact_ids, lease_expires_at: lease }.into()
        }
        Target::Blocked => TaskStepBlocked { previous_status, reason, result_summary, artifact_ids }.into(),
        Target::Completed => TaskStepCompleted { previous_status, result_summary, artifact_ids }.into(),
        Target::Failed => TaskStepFailed { previous_status, reason, result_summary, artifact_ids }.into(),
        Target::Cancelled => TaskStepCancelled { previous_status, reason, result_summary }.into(),
    };
    change.emit(context.now, Some(id.clone()), payload)
}

/// Where a step goes by `task_update_step`.
enum Target {
    Same,
    Started,
    Blocked,
    Completed,
    Failed,
    Cancelled,
}

/// What the update asks for, where the state of the step and of the Task allow it. The holder was checked before.
fn target(task: &Task, step: &Step, by: &Actor, update: &StepUpdate) -> Result<Target, Refusal> {
    let now = step.status;
    if now.is_terminal() {
        let hint =
            if now == StepStatus::Failed { "; reopen it with agent.task_update first" } else { "; that is final" };
        return Err(Refusal::NotDispatchable(format!("step {} is {now}{hint}", step.id)));
    }
    let blocked = now == StepStatus::Blocked;
    let target = match update.status {
        None => Target::Same,
        Some(StepStatus::Running) if now == StepStatus::Running => Target::Same,
        Some(StepStatus::Blocked) if blocked => Target::Same,
        Some(_) if blocked => {
            let why = format!("step {} is blocked; reopen it with agent.task_update first", step.id);
            return Err(Refusal::NotDispatchable(why));
        }
        Some(StepStatus::Running) if now == StepStatus::Ready && task.status() == TaskStatus::Blocked => {
            let why = format!("task {} is blocked: no step can be started before it goes on", task.id);
            return Err(Refusal::NotDispatchable(why));
        }
        Some(StepStatus::Running) => Target::Started,
        Some(StepStatus::Blocked) => Target::Blocked,
        Some(StepStatus::Completed) => Target::Completed,
        Some(StepStatus::Failed) => Target::Failed,
        Some(StepStatus::Cancelled) if matches!(by, Actor::Worker(_)) => Target::Cancelled,
        Some(StepStatus::Cancelled) => {
            let why = if now.is_held() {
                "its holder ends it, or agent.task_cancel and agent.task_fail end all"
            } else {
                "use cancel_step of agent.task_update"
            };
            return Err(Refusal::NotDispatchable(format!(
                "step {} is {now} and is not cancelled this way: {why}",
                step.id
            )));
        }
        Some(status @ (StepStatus::Pending | StepStatus::Ready | StepStatus::Claimed)) => {
            return Err(Refusal::Invalid(format!(
                "status cannot be set to {status}: give running, blocked, completed, failed or cancelled"
            )));
        }
    };
    let takes_reason = matches!(target, Target::Blocked | Target::Failed | Target::Cancelled);
    if update.reason.is_some() && !takes_reason {
        return Err(Refusal::Invalid(
            "reason goes with the status blocked, failed or cancelled; use result_summary".into(),
        ));
    }
    let changes = update.result_summary.is_some() || update.artifact_ids.is_some() || update.status.is_some();
    if matches!(target, Target::Same) && !changes {
        return Err(Refusal::Invalid("nothing to update: give status, result_summary or artifact_ids".to_owned()));
    }
    Ok(target)
}

/// The steps in these states, in the order in which they were added.
fn steps_in(task: &Task, statuses: &[StepStatus]) -> Vec<Step> {
    let mut slots: Vec<u32> = statuses.iter().flat_map(|status| task.graph.in_status(*status).iter()).collect();
    slots.sort_unstable();
    slots.into_iter().filter_map(|slot| task.graph.get(slot)).map(|step| Step::clone(step)).collect()
}

fn complete(change: &mut Change<'_>, result_summary: Option<&str>, now: Moment) -> Result<(), Refusal> {
    limits::text("result_summary", result_summary)?;
    let task = &change.task;
    if task.graph.len() == 0 {
        let id = &task.id;
        let why = format!(
            "task {id} has no steps, so nothing was done: add some with agent.task_update, or end it with agent.task_cancel"
        );
        return Err(Refusal::NotDispatchable(why));
    }
    if !task.is_completeable() {
        let open = task
            .steps()
            .filter(|step| step.status.is_held() || step.content.required && step.status != StepStatus::Completed);
        let open: Vec<StepId> = open.map(|step| step.id.clone()).collect();
        let why = format!(
            "task {} cannot be completed: these steps are required and not completed, or somebody is at work on them: {}",
            task.id,
            refusal::list(&open)
        );
        return Err(Refusal::NotDispatchable(why));
    }
    let mut ids = Vec::new();
    for step in steps_in(task, &[StepStatus::Pending, StepStatus::Ready]) {
        cancel_one(change, &step, REASON_TASK_COMPLETED, now)?;
        ids.push(step.id);
    }
    let result_summary = result_summary.map(str::to_owned);
    change.emit(now, None, TaskCompleted { result_summary, cancelled_optional_step_ids: ids })
}

fn cancel_one(change: &mut Change<'_>, step: &Step, reason: &str, now: Moment) -> Result<(), Refusal> {
    let payload = TaskStepCancelled {
        previous_status: step.status,
        reason: Some(reason.to_owned()),
        result_summary: step.result_summary.as_deref().map(str::to_owned),
    };
    change.emit(now, Some(step.id.clone()), payload)
}

fn fail_one(change: &mut Change<'_>, step: &Step, reason: &str, now: Moment) -> Result<(), Refusal> {
    let payload = TaskStepFailed {
        previous_status: step.status,
        reason: Some(reason.to_owned()),
        result_summary: step.result_summary.as_deref().map(str::to_owned),
        artifact_ids: step.artifact_ids.clone(),
    };
    change.emit(now, Some(step.id.clone()), payload)
}

/// The states that end with their Task (TSK-21).
const UNFINISHED: [StepStatus; 5] =
    [StepStatus::Pending, StepStatus::Ready, StepStatus::Claimed, StepStatus::Running, StepStatus::Blocked];

fn fail(change: &mut Change<'_>, reason: Option<&str>, now: Moment) -> Result<(), Refusal> {
    limits::text("reason", reason)?;
    let mut failed_step_ids = Vec::new();
    for step in steps_in(change.task, &UNFINISHED) {
        fail_one(change, &step, REASON_TASK_FAILED, now)?;
        failed_step_ids.push(step.id);
    }
    change.emit(now, None, TaskFailed { reason: reason.map(str::to_owned), failed_step_ids })
}

fn cancel(change: &mut Change<'_>, reason: Option<&str>, now: Moment) -> Result<(), Refusal> {
    limits::text("reason", reason)?;
    let mut cancelled_step_ids = Vec::new();
    for step in steps_in(change.task, &UNFINISHED) {
        cancel_one(change, &step, REASON_TASK_CANCELLED, now)?;
        cancelled_step_ids.push(step.id);
    }
    change.emit(now, None, TaskCancelled { reason: reason.map(str::to_owned), cancelled_step_ids })
}

fn run_ended(change: &mut Change<'_>, run_id: &RunId, reason: &str, now: Moment) -> Result<(), Refusal> {
    limits::text("reason", Some(reason))?;
    let held = change.task.claimed_by(run_id).filter(|step| step.is_held_by(run_id)).cloned();
    match held {
        Some(step) if !change.task.status().is_terminal() => fail_one(change, &step, reason, now),
        _ => Ok(()),
    }
}

fn expire(change: &mut Change<'_>, now: Moment) -> Result<(), Refusal> {
    while let Some((lease, slot)) = change.task.graph.first_lease().filter(|(lease, _)| *lease <= now) {
        let held = change.task.graph.get(slot).and_then(|step| Some((step, step.claim.as_ref()?)));
        let Some((step, claim)) = held else { break };
        let payload = TaskStepLeaseExpired {
            previous_status: step.status,
            claimed_by_agent_id: claim.agent_id.clone(),
            claimed_by_run_id: claim.run_id.clone(),
            expired_at: lease,
        };
        let id = step.id.clone();
        change.emit(now, Some(id), payload)?;
    }
    Ok(())
}
