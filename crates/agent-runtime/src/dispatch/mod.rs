//! The workers of an Orchestrator, for one call: who they are, which one is sent, and what came of it (WRK-2…10).
//!
//! Core sends nobody by itself (WRK-9): a worker's run begins with a call and ends with it, and what it did is read from the Task.
//! Read in this order: `roster.rs` (who there is), `choice.rs` (who is sent), `told.rs` (what it is told).

mod choice;
mod roster;
mod told;

use std::collections::HashMap;

use agent_protocol::task::{PoolId, StepId, TaskId};
use agent_protocol::{
    AgentRole, ErrorCode, ErrorPayload, EventDraft, Level, RunId, SelectionReason, WorkerDispatchFailed,
    WorkerDispatched,
};
use agent_tool::{Dispatch, DispatchReport, OutputSchema, WorkerAgents, WorkerInfo, WorkerScope, WorkerStatus};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::children::{Brought, CallChildren, ChildStart, Sent};
use crate::ids::fresh_id;
use crate::run_spec::{Living, Seed};
use crate::tasks::{ForCall, TaskAccess, check_scope};
use crate::workers::Workers;

use choice::{Wanted, choose};
use roster::{Roster, Worker};

/// The workers for one call.
pub(crate) struct CallWorkers {
    pub(crate) children: CallChildren,
    pub(crate) tasks: TaskAccess,
    pub(crate) call: ForCall,
}

/// A worker's run that is about to start.
struct Begin {
    start: ChildStart,
    living: Living,
    task_id: TaskId,
    run_id: RunId,
    selection_reason: SelectionReason,
}

impl WorkerAgents for CallWorkers {
    fn list(&self, pool_id: Option<PoolId>) -> BoxFuture<'_, Result<Vec<WorkerInfo>, ErrorPayload>> {
        async move {
            self.is_orchestrator()?;
            let roster = self.roster();
            let workers = roster.of_pool(pool_id.as_ref())?;
            let at_work = workers.iter().filter_map(|worker| self.workers().at_work(&worker.agent_id)?);
            let runs: Vec<_> = at_work.filter_map(|run| Some((self.workers().task_of(&run)?, run))).collect();
            let held =
                if runs.is_empty() { HashMap::new() } else { self.tasks.held_by(self.call.clone(), runs).await? };
            Ok(workers.into_iter().map(|worker| self.info(worker, &held)).collect())
        }
        .boxed()
    }

    fn dispatch(&self, dispatch: Dispatch) -> BoxFuture<'_, Result<DispatchReport, ErrorPayload>> {
        async move {
            self.is_orchestrator()?;
            let (task_id, worker_pool_id) = (dispatch.task_id.clone(), dispatch.pool_id.clone());
            let worker_agent_id = dispatch.worker.clone();
            match self.begin(dispatch).await {
                Ok(begin) => Ok(self.run(begin).await),
                Err(error) => {
                    let failed =
                        WorkerDispatchFailed { task_id, worker_pool_id, worker_agent_id, error: error.clone() };
                    self.children.tell(vec![EventDraft::of(failed).level(Level::Warning)]).await;
                    Err(error)
                }
            }
        }
        .boxed()
    }
}

impl CallWorkers {
    fn is_orchestrator(&self) -> Result<(), ErrorPayload> {
        if self.tasks.run.role == AgentRole::Orchestrator {
            return Ok(());
        }
        let message = "only the Orchestrator has workers: do the work yourself";
        Err(ErrorPayload::new(ErrorCode::ToolNotAvailable, message))
    }

    fn roster(&self) -> Roster {
        Roster::of(self.tasks.run.session.id(), &self.children.children.services)
    }

    fn workers(&self) -> &Workers {
        &self.tasks.run.owned.tasks.workers
    }

    fn info(&self, worker: &Worker, held: &HashMap<RunId, StepId>) -> WorkerInfo {
        let at_work = self.workers().at_work(&worker.agent_id);
        let status = match (&at_work, &worker.unavailable) {
            (Some(_), _) => WorkerStatus::Busy,
            (None, Some(_)) => WorkerStatus::Unavailable,
            (None, None) => WorkerStatus::Idle,
        };
        let current_run_id = at_work.flatten();
        let definition = worker.definition.as_deref();
        WorkerInfo {
            worker_agent_id: worker.agent_id.clone(),
            worker_id: worker.worker_id.clone(),
            agent_definition_id: worker.definition_id.clone(),
            name: definition.map(|definition| definition.name.clone()).unwrap_or_default(),
            description: definition.map(|definition| definition.description.clone()).unwrap_or_default(),
            worker_pool_id: worker.pool_id.clone(),
            status,
            unavailable_reason: worker.unavailable.clone(),
            suggested_tools: worker.suggested_tools.clone(),
            tags: definition.map(|definition| definition.tags.clone()).unwrap_or_default(),
            current_step_id: current_run_id.as_ref().and_then(|run| held.get(run)).cloned(),
            current_run_id,
        }
    }

    /// Chooses a worker and takes it. Whoever called first chooses first.
    async fn begin(&self, dispatch: Dispatch) -> Result<Begin, ErrorPayload> {
        let Dispatch { task_id, pool_id, worker, allowed_step_ids, instruction, .. } = dispatch;
        let Dispatch { allowed_tools, output_schema, timeout, .. } = dispatch;
        let services = &self.children.children.services;
        let _turn = self.workers().choosing.lock().await;
        check_scope(allowed_step_ids.as_ref())?;
        if let Some(allowed) = &allowed_tools {
            services.fixed.check_allowed(AgentRole::Worker, allowed)?;
        }
        let output = output_schema.as_ref().map(OutputSchema::compile).transpose()?;
        let task = self.tasks.dispatchable(self.call.clone(), task_id.clone(), allowed_step_ids.clone()).await?;
        let roster = self.roster();
        let wanted = Wanted {
            task_id: &task_id,
            pool_id: pool_id.as_ref(),
            worker: worker.as_ref(),
            allowed_tools: allowed_tools.as_ref(),
            pools: &task.pools,
        };
        let of_pool = roster.of_pool(pool_id.as_ref())?;
        let take = |worker: &Worker| self.workers().take(&worker.agent_id);
        let (worker, busy, selection_reason) = choose(&wanted, &of_pool, take)?;
        let definition = services.definitions.find(&worker.definition_id)?;
        let model = self.children.model_for(AgentRole::Worker, &definition)?;
        let living = self.children.children.count()?;
        let run_id = fresh_id(RunId::PREFIX, RunId::parse);
        busy.with(&run_id);
        let scope = WorkerScope { task_id: task_id.clone(), pool_id: worker.pool_id.clone(), allowed_step_ids };
        let dispatched = WorkerDispatched {
            task_id: task_id.clone(),
            worker_pool_id: worker.pool_id.clone(),
            worker_id: worker.worker_id.clone(),
            worker_agent_id: worker.agent_id.clone(),
            child_run_id: run_id.clone(),
            stream_id: run_id.clone(),
            selection_reason,
            allowed_step_ids: scope.allowed_step_ids.as_ref().map(|ids| ids.iter().cloned().collect()),
        };
        let order = told::told(&scope, &task.title);
        let start = ChildStart {
            agent_id: worker.agent_id.clone(),
            role: AgentRole::Worker,
            seed: Seed::Fresh,
            task: instruction,
            name: Some(worker.worker_id.clone()),
            definition,
            model,
            allowed_tools: allowed_tools.or_else(|| worker.tools.clone()),
            worker: Some(Sent {
                run_id: run_id.clone(),
                worker_id: worker.worker_id.clone(),
                scope,
                order,
                busy,
                told: EventDraft::of(dispatched),
            }),
            output,
            timeout,
        };
        Ok(Begin { start, living, task_id, run_id, selection_reason })
    }

    /// Sends it, waits for its end, and reads in the Task what became of its step.
    async fn run(&self, begin: Begin) -> DispatchReport {
        let Begin { start, living, task_id, run_id, selection_reason } = begin;
        let Brought { report: child, step } = self.children.start(start, living).await;
        let read = match step {
            Some(read) => read,
            None => {
                // It did not stop in time.
                self.workers().gave_up(&run_id);
                self.tasks.step_of(task_id, run_id).await
            }
        };
        let (step, task_error) = match read {
            Ok(step) => (step, None),
            Err(error) => (None, Some(error)),
        };
        let step = step.as_ref();
        DispatchReport {
            child,
            selection_reason,
            claimed_step_id: step.map(|step| step.id.clone()),
            step_status: step.map(|step| step.status),
            step_result_summary: step.and_then(|step| step.result_summary.as_deref()).map(str::to_owned),
            step_reason: step.and_then(|step| step.reason.as_deref()).map(str::to_owned),
            task_error,
        }
    }
}
