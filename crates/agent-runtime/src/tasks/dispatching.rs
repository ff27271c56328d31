//! What a dispatch has to do with its Task: whether workers may be sent for it, and what became of the step (WRK-4…7).

use std::collections::{BTreeSet, HashMap};

use agent_protocol::{ErrorCode, ErrorPayload, RunId};
use agent_task_store::TaskError;
use agent_tasks::{PoolId, Refusal, Step, StepId, Task, TaskId, TaskStatus};

use super::access::{Desk, ForCall, TaskAccess, payload};
use crate::some_of::some_of;

/// So many steps that are not there are named.
const NAMED: usize = 12;

/// A Task that workers may be sent for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dispatchable {
    pub(crate) title: String,
    /// Whose steps those in scope are that have not ended; none: every pool's.
    pub(crate) pools: BTreeSet<Option<PoolId>>,
}

impl TaskAccess {
    /// Whether workers may be sent for the Task, and only for these steps of it.
    ///
    /// # Errors
    /// If there is no such Task, it is not at work, or a step is not there.
    pub(crate) async fn dispatchable(
        &self,
        call: ForCall,
        task_id: TaskId,
        allowed: Option<BTreeSet<StepId>>,
    ) -> Result<Dispatchable, ErrorPayload> {
        let look = move |desk: &mut Desk<'_>| {
            if desk.workers.is_closing(&task_id) {
                let why = format!("task {task_id} is being ended: no worker can be sent for it any more");
                return Err(Refusal::NotDispatchable(why).into());
            }
            desk.look(&task_id, |task| dispatchable(task, allowed.as_ref()))?
        };
        self.work(Some(call), look).await?.map_err(|error| payload(&error))
    }

    /// The step that a run claimed, as it is now: where the run is over, it has ended with it (WRK-7).
    ///
    /// # Errors
    /// If the Task cannot be read, or its log not be written.
    pub(crate) async fn step_of(&self, task_id: TaskId, run_id: RunId) -> Result<Option<Step>, ErrorPayload> {
        let look = move |desk: &mut Desk<'_>| desk.look(&task_id, |task| task.claimed_by(&run_id).cloned());
        self.work(None, look).await?.map_err(|error| payload(&error))
    }

    /// Ends what runs that are over still hold of a Task. Where its log cannot be written now, whoever looks at it next tries again.
    pub(crate) async fn end_of_runs(&self, task_id: TaskId) {
        let _ = self.work(None, move |desk| desk.refresh(&task_id).map(drop)).await;
    }

    /// The steps that runs hold now.
    ///
    /// # Errors
    /// If the Tasks cannot be had.
    pub(crate) async fn held_by(
        &self,
        call: ForCall,
        runs: Vec<(TaskId, RunId)>,
    ) -> Result<HashMap<RunId, StepId>, ErrorPayload> {
        let look = move |desk: &mut Desk<'_>| {
            let held = |(task_id, run_id): (TaskId, RunId)| {
                let step = desk.store.task(&task_id)?.claimed_by(&run_id)?;
                step.is_held_by(&run_id).then(|| (run_id, step.id.clone()))
            };
            runs.into_iter().filter_map(held).collect()
        };
        self.work(Some(call), look).await
    }
}

fn dispatchable(task: &Task, allowed: Option<&BTreeSet<StepId>>) -> Result<Dispatchable, TaskError> {
    let id = task.id();
    let status = task.status();
    if !matches!(status, TaskStatus::Pending | TaskStatus::Running) {
        let next = if status.is_terminal() { "that is final" } else { "reopen it with agent.task_update first" };
        let why = format!("task {id} is {status}: no worker can be sent for it; {next}");
        return Err(Refusal::NotDispatchable(why).into());
    }
    if let Some(allowed) = allowed {
        let unknown: Vec<_> = allowed.iter().filter(|id| task.step(id).is_none()).collect();
        if !unknown.is_empty() {
            let named = some_of(unknown, NAMED);
            let why = format!("`allowed_step_ids` names {named}, and task {id} has no such step");
            return Err(Refusal::Invalid(why).into());
        }
    }
    let in_scope = |step: &&Step| allowed.is_none_or(|allowed| allowed.contains(&step.id));
    let open = task.steps().filter(in_scope).filter(|step| !step.status.is_terminal());
    Ok(Dispatchable {
        title: task.title().to_owned(),
        pools: open.map(|step| step.content.worker_pool_id.clone()).collect(),
    })
}

/// `[]` names no step to claim (WRK-5).
pub(crate) fn check_scope(allowed: Option<&BTreeSet<StepId>>) -> Result<(), ErrorPayload> {
    match allowed {
        Some(allowed) if allowed.is_empty() => {
            let message =
                "`allowed_step_ids` is empty: name the steps that the worker may claim, or leave it out for all";
            Err(ErrorPayload::new(ErrorCode::ValidationError, message))
        }
        _ => Ok(()),
    }
}
