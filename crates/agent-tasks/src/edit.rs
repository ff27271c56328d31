//! `task_update`: operations on the graph, in order, all or none (TSK-9 … TSK-11, TSK-17, TSK-23).

use std::sync::Arc;

use crate::event::Payload;
use crate::graph::Slot;
use crate::limits;
use crate::refusal::{self, Refusal};
use crate::step::{Step, StepContent, dedup};
use crate::task::Task;
use agent_protocol::task::{Moment, Operation, StepFields, StepId, StepSpec, StepStatus, TaskStatus};
use agent_protocol::{TaskReopened, TaskStepCancelled, TaskStepReopened};

/// What an update did beside changing the graph.
pub(crate) struct Edited {
    /// Steps that were changed while somebody was at work on them, in the order of the operations.
    pub(crate) after_dispatch: Vec<StepId>,
    /// The events that the operations imply, in their order.
    pub(crate) implied: Vec<(Option<StepId>, Payload)>,
}

/// Applies the operations and checks the graph that comes out. Where it refuses, the Task is half changed: the caller takes it back.
pub(crate) fn apply(task: &mut Task, operations: &[Operation], at: Moment) -> Result<Edited, Refusal> {
    limits::operations(operations)?;
    let mut edit = Edit { task, at, after_dispatch: Vec::new(), implied: Vec::new(), relinked: Vec::new() };
    for (at, operation) in operations.iter().enumerate() {
        edit.one(operation).map_err(|refusal| Refusal::Operation { at, refusal: Box::new(refusal) })?;
    }
    edit.finish(operations)
}

struct Edit<'a> {
    task: &'a mut Task,
    at: Moment,
    after_dispatch: Vec<StepId>,
    /// With the place of the step, since an id may be deleted and given to another step.
    implied: Vec<(Option<Slot>, Payload)>,
    /// Steps whose dependencies changed.
    relinked: Vec<Slot>,
}

impl Edit<'_> {
    fn one(&mut self, operation: &Operation) -> Result<(), Refusal> {
        match operation {
            Operation::UpdateTask { title, summary, status } => {
                self.update_task(title.as_deref(), summary.as_deref(), *status)
            }
            Operation::AddStep { step } => self.add(step),
            Operation::UpdateStep { step_id, fields } => self.update_step(step_id, fields),
            Operation::DeleteStep { step_id } => self.delete(step_id),
            Operation::AddDependency { step_id, depends_on_step_id } => {
                self.add_dependency(step_id, depends_on_step_id)
            }
            Operation::RemoveDependency { step_id, depends_on_step_id } => {
                self.remove_dependency(step_id, depends_on_step_id)
            }
            Operation::CancelStep { step_id, reason } => self.cancel(step_id, reason.as_deref()),
            Operation::ReopenStep { step_id, reason } => self.reopen(step_id, reason.as_deref()),
        }
    }

    fn find(&self, id: &StepId) -> Result<(Slot, Step), Refusal> {
        let found = self.task.graph.find(id).map(|(slot, step)| (slot, Step::clone(step)));
        found.ok_or_else(|| Refusal::StepNotFound { task_id: self.task.id.clone(), step_id: id.clone() })
    }

    fn put(&mut self, slot: Slot, mut step: Step) {
        step.updated_at = self.at;
        self.task.put(slot, Some(step));
    }

    fn update_task(
        &mut self,
        title: Option<&str>,
        summary: Option<&str>,
        status: Option<TaskStatus>,
    ) -> Result<(), Refusal> {
        if title.is_none() && summary.is_none() && status.is_none() {
            return Err(Refusal::Invalid("update_task changes nothing: give title, summary or status".to_owned()));
        }
        if let Some(text) = title {
            limits::title("the task", text)?;
            self.task.header.title = text.into();
        }
        if let Some(text) = summary {
            limits::text("the summary of the task", Some(text))?;
            self.task.header.summary = text.into();
        }
        let Some(wanted) = status else { return Ok(()) };
        let now = self.task.header.status;
        match (now, wanted) {
            (TaskStatus::Pending | TaskStatus::Running, TaskStatus::Blocked) => {}
            (TaskStatus::Blocked, TaskStatus::Pending) => {
                let payload = TaskReopened { previous_status: now, status: wanted, reason: None };
                self.implied.push((None, payload.into()));
            }
            (_, TaskStatus::Blocked | TaskStatus::Pending) => {
                return Err(Refusal::NotDispatchable(format!(
                    "the task is {now}: update_task can set a pending or running task to blocked, and a blocked task to pending"
                )));
            }
            _ => {
                return Err(Refusal::Invalid(format!(
                    "update_task cannot set the status to {wanted}: use agent.task_complete, agent.task_fail or agent.task_cancel"
                )));
            }
        }
        self.task.header.status = wanted;
        Ok(())
    }

    fn add(&mut self, spec: &StepSpec) -> Result<(), Refusal> {
        limits::spec(spec)?;
        if self.task.graph.slot(&spec.step_id).is_some() {
            return Err(Refusal::Invalid(format!("there is a step {} already: choose another step_id", spec.step_id)));
        }
        let slot = self.task.add(Step::new(spec, self.at));
        self.relinked.push(slot);
        Ok(())
    }

    fn update_step(&mut self, id: &StepId, fields: &StepFields) -> Result<(), Refusal> {
        let (slot, mut step) = self.find(id)?;
        if fields.is_empty() {
            let why = format!("update_step of {id} changes nothing: give title, summary, required or worker_pool_id");
            return Err(Refusal::Invalid(why));
        }
        let ended = matches!(step.status, StepStatus::Completed | StepStatus::Cancelled);
        if ended && (fields.required.is_some() || fields.worker_pool_id.is_some()) {
            let why = format!("step {id} is {}: only its title and summary can be changed", step.status);
            return Err(Refusal::NotDispatchable(why));
        }
        let mut content = StepContent::clone(&step.content);
        if let Some(text) = &fields.title {
            limits::title(&format!("step {id}"), text)?;
            content.title = text.as_str().into();
        }
        if let Some(text) = &fields.summary {
            limits::text(&format!("the summary of step {id}"), Some(text))?;
            content.summary = text.as_str().into();
        }
        if let Some(required) = fields.required {
            content.required = required;
        }
        if let Some(pool) = &fields.worker_pool_id {
            content.worker_pool_id.clone_from(pool);
        }
        step.content = Arc::new(content);
        self.edited(&step);
        self.put(slot, step);
        Ok(())
    }

    /// Notes a step that somebody is at work on.
    fn edited(&mut self, step: &Step) {
        if step.status.is_held() {
            self.after_dispatch.push(step.id.clone());
        }
    }

    fn delete(&mut self, id: &StepId) -> Result<(), Refusal> {
        let (slot, step) = self.find(id)?;
        if !matches!(step.status, StepStatus::Pending | StepStatus::Ready | StepStatus::Cancelled) {
            let why = format!("step {id} is {}: only pending, ready and cancelled steps can be deleted", step.status);
            return Err(Refusal::NotDispatchable(why));
        }
        let dependents = self.task.graph.dependents(slot).into_iter();
        let dependents: Vec<StepId> =
            dependents.filter_map(|slot| Some(self.task.graph.get(slot)?.id.clone())).collect();
        if !dependents.is_empty() {
            return Err(Refusal::StepHasDependents { step_id: id.clone(), dependents });
        }
        self.task.put(slot, None);
        Ok(())
    }

    /// The step, where its dependencies may change.
    fn relink(&mut self, id: &StepId) -> Result<(Slot, Step, StepContent), Refusal> {
        let (slot, step) = self.find(id)?;
        if matches!(step.status, StepStatus::Completed | StepStatus::Cancelled) {
            let why = format!("step {id} is {}: its dependencies cannot be changed", step.status);
            return Err(Refusal::NotDispatchable(why));
        }
        let content = StepContent::clone(&step.content);
        Ok((slot, step, content))
    }

    fn relinked(&mut self, slot: Slot, mut step: Step, content: StepContent) {
        step.content = Arc::new(content);
        self.edited(&step);
        self.put(slot, step);
        self.relinked.push(slot);
    }

    fn add_dependency(&mut self, id: &StepId, on: &StepId) -> Result<(), Refusal> {
        let (slot, step, mut content) = self.relink(id)?;
        if content.depends_on.contains(on) {
            return Err(Refusal::Invalid(format!("step {id} depends on {on} already")));
        }
        content.depends_on.push(on.clone());
        self.relinked(slot, step, content);
        Ok(())
    }

    fn remove_dependency(&mut self, id: &StepId, on: &StepId) -> Result<(), Refusal> {
        let (slot, step, mut content) = self.relink(id)?;
        let Some(at) = content.depends_on.iter().position(|known| known == on) else {
            return Err(Refusal::Invalid(format!("step {id} does not depend on {on}")));
        };
        content.depends_on.remove(at);
        self.relinked(slot, step, content);
        Ok(())
    }

    fn cancel(&mut self, id: &StepId, reason: Option<&str>) -> Result<(), Refusal> {
        limits::text("reason", reason)?;
        let (slot, mut step) = self.find(id)?;
        let why = match step.status {
            StepStatus::Pending | StepStatus::Ready => None,
            StepStatus::Blocked | StepStatus::Failed => Some("reopen it first"),
            StepStatus::Claimed | StepStatus::Running => {
                Some("its holder ends it, or agent.task_cancel and agent.task_fail end all")
            }
            StepStatus::Completed | StepStatus::Cancelled => Some("that is final"),
        };
        if let Some(why) = why {
            return Err(Refusal::NotDispatchable(format!(
                "step {id} is {} and cannot be cancelled: {why}",
                step.status
            )));
        }
        let payload = TaskStepCancelled {
            previous_status: step.status,
            reason: reason.map(str::to_owned),
            result_summary: step.result_summary.as_deref().map(str::to_owned),
        };
        self.implied.push((Some(slot), payload.into()));
        step.status = StepStatus::Cancelled;
        step.reason = reason.map(Into::into);
        self.put(slot, step);
        Ok(())
    }

    fn reopen(&mut self, id: &StepId, reason: Option<&str>) -> Result<(), Refusal> {
        limits::text("reason", reason)?;
        let (slot, mut step) = self.find(id)?;
        if !matches!(step.status, StepStatus::Blocked | StepStatus::Failed) {
            let hint = if step.status == StepStatus::Cancelled { ": add a new step instead" } else { "" };
            let why = format!("step {id} is {}; only blocked and failed steps can be reopened{hint}", step.status);
            return Err(Refusal::NotDispatchable(why));
        }
        let payload = TaskStepReopened {
            previous_status: step.status,
            status: StepStatus::Pending,
            reason: reason.map(str::to_owned),
        };
        self.implied.push((Some(slot), payload.into()));
        reopen(&mut step, reason);
        self.put(slot, step);
        Ok(())
    }

    /// Checks the graph as a whole (TSK-9), and sends ready steps back that have to wait again.
    fn finish(self, operations: &[Operation]) -> Result<Edited, Refusal> {
        let Self { task, at, mut after_dispatch, implied, mut relinked } = self;
        limits::step_count(task.graph.len())?;
        if let Some((unknown, step)) = task.graph.unknown_dependency() {
            let field = field_of_dependency(operations, &step.id, unknown);
            return Err(Refusal::dependency_not_found(task.id(), &step.id, unknown, field));
        }
        relinked.sort_unstable();
        relinked.dedup();
        for slot in &relinked {
            if let Some(step) = task.graph.get(*slot) {
                limits::dependencies(step.id.as_str(), step.content.depends_on.len())?;
            }
        }
        if let Some(cycle) = task.graph.cycle(relinked.iter().copied()) {
            return Err(Refusal::DependencyCycle(cycle));
        }
        for slot in relinked {
            let Some(step) = task.graph.get(slot) else { continue };
            if step.status == StepStatus::Ready && task.graph.unmet(slot) > 0 {
                let step = Step { status: StepStatus::Pending, updated_at: at, ..Step::clone(step) };
                task.put(slot, Some(step));
            }
        }
        after_dispatch.retain(|id| task.graph.slot(id).is_some());
        dedup(&mut after_dispatch);
        // An event about a step that the same update deletes has nobody to tell.
        let implied = implied.into_iter().filter_map(|(slot, payload)| match slot {
            None => Some((None, payload)),
            Some(slot) => Some((Some(task.graph.get(slot)?.id.clone()), payload)),
        });
        Ok(Edited { after_dispatch, implied: implied.collect() })
    }
}

/// Where the operations make a step depend on another; the last place, since an id may be given twice.
fn field_of_dependency(operations: &[Operation], step_id: &StepId, on: &StepId) -> String {
    let field = |(at, operation): (usize, &Operation)| {
        let field = match operation {
            Operation::AddStep { step } if step.step_id == *step_id => {
                format!("step.{}", refusal::place_of(on, step)?)
            }
            Operation::AddDependency { step_id: id, depends_on_step_id }
                if id == step_id && depends_on_step_id == on =>
            {
                "depends_on_step_id".to_owned()
            }
            _ => return None,
        };
        Some(format!("operations[{at}].{field}"))
    };
    operations.iter().enumerate().rev().find_map(field).unwrap_or_default()
}

/// A blocked or failed step begins anew. What came of it so far stays to be read.
pub(crate) fn reopen(step: &mut Step, reason: Option<&str>) {
    step.status = StepStatus::Pending;
    step.claim = None;
    step.dispatched = None;
    if reason.is_some() {
        step.reason = reason.map(Into::into);
    }
}
