//! Event and state in, state out: what an event does to a Task, and whether it can have happened to it at all.
//!
//! Preparing a change and replaying a log both come through here, so that the state in memory is the state of the log (WAL-5).
//! A log is not trusted: an event that does not fit the state is an error (WAL-4).

use std::sync::Arc;

use agent_protocol::task::{Moment, StepId, StepStatus, TaskSnapshot, TaskStatus};
use agent_protocol::{AgentId, ArtifactId, RunId};

use crate::edit;
use crate::event::{Event, Payload};
use crate::graph::Slot;
use crate::refusal::Refusal;
use crate::step::{Claim, Step};
use crate::task::Task;

/// The reason of steps that ended because their Task failed (TSK-7).
pub const REASON_TASK_FAILED: &str = "task_failed";
/// The reason of steps that ended because their Task was cancelled (TSK-7).
pub const REASON_TASK_CANCELLED: &str = "task_cancelled";

/// Why an event cannot have happened to a Task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(pub(crate) String);

fn misfit<T>(why: impl Into<String>) -> Result<T, Misfit> {
    Err(Misfit(why.into()))
}

impl From<Refusal> for Misfit {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.to_string())
    }
}

impl Task {
    /// The Task of a `task_created`: all its steps are pending.
    pub(crate) fn created(snapshot: &TaskSnapshot) -> Result<Self, Misfit> {
        let mut task = Self::empty(snapshot);
        if snapshot.status != TaskStatus::Pending {
            return misfit(format!("a new task is pending, not {}", snapshot.status));
        }
        for snapshot in &snapshot.steps {
            if task.graph.slot(&snapshot.step_id).is_some() {
                return misfit(format!("step {} is there twice", snapshot.step_id));
            }
            let step = Step::from_snapshot(snapshot);
            // What a new step does not have must not be there.
            if !step.is_in(snapshot) {
                return misfit(format!("step {} is not a new one", step.id));
            }
            task.add(step);
        }
        if let Some((unknown, step)) = task.graph.unknown_dependency() {
            return misfit(format!("step {} depends on {unknown}, which is not there", step.id));
        }
        let all: Vec<Slot> = task.graph.iter().map(|(slot, _)| slot).collect();
        if let Some(cycle) = task.graph.cycle(all) {
            return Err(Refusal::DependencyCycle(cycle).into());
        }
        if !task.roots().map(|step| &step.id).eq(&snapshot.root_step_ids) {
            return misfit("root_step_ids are not the steps that depend on none");
        }
        Ok(task)
    }

    /// Does what an event says.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), Misfit> {
        let slot = event.step_id.as_ref().and_then(|id| self.graph.slot(id));
        self.apply_at(event, slot)
    }

    /// The same where the place of its step was looked up already.
    pub(crate) fn apply_at(&mut self, event: &Event, slot: Option<Slot>) -> Result<(), Misfit> {
        let status = self.header.status;
        if status.is_terminal() {
            return misfit(format!("the task is {status} already"));
        }
        if let Some((event_type, step_id)) = self.implied.front() {
            if *event_type == event.payload.event_type() && *step_id == event.step_id {
                self.implied.pop_front();
                return Ok(());
            }
            self.implied.clear();
        }
        match &event.step_id {
            None => self.apply_to_task(&event.payload, event.at)?,
            Some(id) => {
                let found = slot.and_then(|slot| Some((slot, self.graph.get(slot)?)));
                let Some((slot, step)) = found else { return misfit(format!("there is no step {id}")) };
                let step = Step { updated_at: event.at, ..Step::clone(step) };
                self.apply_to_step(slot, step, &event.payload)?;
            }
        }
        self.header.updated_at = event.at;
        Ok(())
    }

    fn apply_to_task(&mut self, payload: &Payload, at: Moment) -> Result<(), Misfit> {
        match payload {
            Payload::TaskCreated(_) => misfit("the task is there already"),
            Payload::TaskRunning(payload) => {
                self.task_moves(payload.previous_status, payload.status, TaskStatus::Pending, TaskStatus::Running)?;
                if !self.has_moving_steps() {
                    return misfit("no step is ready, claimed or running");
                }
                self.header.status = TaskStatus::Running;
                Ok(())
            }
            Payload::TaskReopened(payload) => {
                self.task_moves(payload.previous_status, payload.status, TaskStatus::Blocked, TaskStatus::Pending)?;
                self.header.status = TaskStatus::Pending;
                Ok(())
            }
            Payload::TaskUpdated(payload) => {
                let edited = edit::apply(self, &payload.operations, at)?;
                if edited.after_dispatch != payload.updated_after_dispatch_step_ids {
                    return misfit("updated_after_dispatch_step_ids names other steps than the operations changed");
                }
                self.implied = edited.implied.iter().map(|(id, payload)| (payload.event_type(), id.clone())).collect();
                Ok(())
            }
            Payload::TaskCompleted(payload) => {
                if !self.lets_complete() {
                    return misfit("a required step is not completed, or somebody is at work on a step");
                }
                self.ends(TaskStatus::Completed, &payload.cancelled_optional_step_ids, StepStatus::Cancelled)?;
                self.header.result_summary = payload.result_summary.as_deref().map(Into::into);
                Ok(())
            }
            Payload::TaskFailed(payload) => {
                self.ends(TaskStatus::Failed, &payload.failed_step_ids, StepStatus::Failed)?;
                self.header.reason = payload.reason.as_deref().map(Into::into);
                Ok(())
            }
            Payload::TaskCancelled(payload) => {
                self.ends(TaskStatus::Cancelled, &payload.cancelled_step_ids, StepStatus::Cancelled)?;
                self.header.reason = payload.reason.as_deref().map(Into::into);
                Ok(())
            }
            _ => misfit("it is about a step, and names none"),
        }
    }

    fn task_moves(
        &self,
        said_from: TaskStatus,
        said_to: TaskStatus,
        from: TaskStatus,
        to: TaskStatus,
    ) -> Result<(), Misfit> {
        let now = self.header.status;
        if (said_from, said_to, now) == (from, to, from) {
            return Ok(());
        }
        misfit(format!("it says {said_from} to {said_to}, and the task is {now}"))
    }

    /// Ends the Task; the named steps have ended with it before.
    fn ends(&mut self, end: TaskStatus, named: &[StepId], named_status: StepStatus) -> Result<(), Misfit> {
        let mut open = vec![StepStatus::Pending, StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
        if end != TaskStatus::Completed {
            open.push(StepStatus::Blocked);
        }
        for status in open {
            if let Some(step) = self.steps_in(status).next() {
                return misfit(format!("step {} is {status} still", step.id));
            }
        }
        for id in named {
            if self.step(id).is_none_or(|step| step.status != named_status) {
                return misfit(format!("step {id} is not {named_status}"));
            }
        }
        self.header.status = end;
        Ok(())
    }

    pub(crate) fn has_moving_steps(&self) -> bool {
        let moving = [StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
        moving.iter().any(|status| !self.graph.in_status(*status).is_empty())
    }

    fn apply_to_step(&mut self, slot: Slot, step: Step, payload: &Payload) -> Result<(), Misfit> {
        let step = match payload {
            Payload::TaskStepReady(payload) => {
                stays_true(&step, payload.previous_status, &[StepStatus::Pending])?;
                if payload.status != StepStatus::Ready || self.graph.unmet(slot) > 0 {
                    return misfit(format!("step {} waits for others still", step.id));
                }
                if payload.depends_on_step_ids != step.content.depends_on {
                    return misfit(format!("step {} depends on other steps", step.id));
                }
                Step { status: StepStatus::Ready, ..step }
            }
            Payload::TaskStepClaimed(payload) => {
                stays_true(&step, payload.previous_status, &[StepStatus::Ready])?;
                let (agent_id, run_id) = (&payload.claimed_by_agent_id, &payload.claimed_by_run_id);
                self.take(step, agent_id, run_id, payload.lease_expires_at)?
            }
            Payload::TaskStepStarted(payload) => {
                stays_true(&step, payload.previous_status, &[StepStatus::Ready, StepStatus::Claimed])?;
                if payload.status != StepStatus::Running {
                    return misfit(format!("a started step is running, not {}", payload.status));
                }
                with_lease(Step { status: StepStatus::Running, ..step }, payload.lease_expires_at)?
            }
            Payload::TaskStepUpdated(payload) => {
                let from = [StepStatus::Ready, StepStatus::Claimed, StepStatus::Running, StepStatus::Blocked];
                stays_true(&step, payload.previous_status, &from)?;
                if payload.status != payload.previous_status {
                    return misfit("a change of state has an event of its own");
                }
                let step = with_result(step, payload.result_summary.as_deref(), &payload.artifact_ids);
                with_lease(step, payload.lease_expires_at)?
            }
            Payload::TaskStepBlocked(payload) => {
                let from = [StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
                stays_true(&step, payload.previous_status, &from)?;
                let step = with_result(step, payload.result_summary.as_deref(), &payload.artifact_ids);
                Step { claim: None, ..ended(step, StepStatus::Blocked, payload.reason.as_deref()) }
            }
            Payload::TaskStepCompleted(payload) => {
                let from = [StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
                stays_true(&step, payload.previous_status, &from)?;
                let step = with_result(step, payload.result_summary.as_deref(), &payload.artifact_ids);
                ended(step, StepStatus::Completed, None)
            }
            Payload::TaskStepFailed(payload) => {
                let mut from = vec![StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
                if payload.reason.as_deref() == Some(REASON_TASK_FAILED) {
                    from.extend([StepStatus::Pending, StepStatus::Blocked]);
                }
                stays_true(&step, payload.previous_status, &from)?;
                let step = with_result(step, payload.result_summary.as_deref(), &payload.artifact_ids);
                ended(step, StepStatus::Failed, payload.reason.as_deref())
            }
            Payload::TaskStepCancelled(payload) => {
                let mut from = vec![StepStatus::Pending, StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
                if payload.reason.as_deref() == Some(REASON_TASK_CANCELLED) {
                    from.push(StepStatus::Blocked);
                }
                stays_true(&step, payload.previous_status, &from)?;
                let artifact_ids = step.artifact_ids.clone();
                let step = with_result(step, payload.result_summary.as_deref(), &artifact_ids);
                ended(step, StepStatus::Cancelled, payload.reason.as_deref())
            }
            Payload::TaskStepReopened(payload) => {
                stays_true(&step, payload.previous_status, &[StepStatus::Blocked, StepStatus::Failed])?;
                let mut step = step;
                edit::reopen(&mut step, payload.reason.as_deref());
                step
            }
            Payload::TaskStepLeaseExpired(payload) => {
                stays_true(&step, payload.previous_status, &[StepStatus::Claimed, StepStatus::Running])?;
                let (agent_id, run_id) = (&payload.claimed_by_agent_id, &payload.claimed_by_run_id);
                let held = step.claim.as_ref().is_some_and(|by| by.agent_id == *agent_id && by.run_id == *run_id);
                if !held || step.lease().is_none_or(|lease| lease > payload.expired_at) {
                    return misfit(format!("the lease of step {} is another one", step.id));
                }
                Step { status: StepStatus::Pending, claim: None, dispatched: None, ..step }
            }
            _ => return misfit("it is about the task, and names a step"),
        };
        self.put(slot, Some(step));
        Ok(())
    }

    fn take(&mut self, step: Step, agent_id: &AgentId, run_id: &RunId, lease: Moment) -> Result<Step, Misfit> {
        if self.header.status == TaskStatus::Blocked {
            return misfit("the task is blocked");
        }
        if let Some(other) = self.claims.get(run_id) {
            return misfit(format!("run {run_id} has claimed step {other}"));
        }
        self.claimed(run_id, &step.id);
        let claim = Claim { agent_id: agent_id.clone(), run_id: run_id.clone(), lease_expires_at: Some(lease) };
        let dispatched = Some(Arc::clone(&step.content));
        Ok(Step { status: StepStatus::Claimed, claim: Some(claim), dispatched, ..step })
    }
}

/// Whether the step is in the state that the event says it was in, and one from which this can happen.
fn stays_true(step: &Step, said: StepStatus, allowed: &[StepStatus]) -> Result<(), Misfit> {
    if step.status == said && allowed.contains(&said) {
        return Ok(());
    }
    let (id, now) = (&step.id, step.status);
    misfit(if now == said {
        format!("this cannot happen to a step that is {now}")
    } else {
        format!("it says that step {id} was {said}, and it is {now}")
    })
}

fn with_result(step: Step, result_summary: Option<&str>, artifact_ids: &[ArtifactId]) -> Step {
    let same = step.result_summary.as_deref() == result_summary;
    let result_summary = if same { step.result_summary } else { result_summary.map(Into::into) };
    Step { result_summary, artifact_ids: artifact_ids.to_vec(), ..step }
}

/// A step that nobody is at work on any more. Who held it stays to be read.
fn ended(mut step: Step, status: StepStatus, reason: Option<&str>) -> Step {
    step.status = status;
    step.reason = reason.map(Into::into);
    if let Some(claim) = &mut step.claim {
        claim.lease_expires_at = None;
    }
    step
}

/// A lease belongs to a held step of a worker, and to no other.
fn with_lease(mut step: Step, lease: Option<Moment>) -> Result<Step, Misfit> {
    let held = step.status.is_held();
    match (&mut step.claim, lease) {
        (Some(claim), Some(_)) if held => claim.lease_expires_at = lease,
        (None, None) => {}
        _ => return misfit(format!("step {} has a lease without a holder, or a holder without a lease", step.id)),
    }
    Ok(step)
}
