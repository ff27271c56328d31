//! Before a Task fails or is cancelled, its workers are (TSK-7).

use std::time::Duration;

use agent_protocol::{
    AgentId, ChildAgentCancelRequested, ChildAgentCancelTimeout, ChildCancelReason, ErrorCode, ErrorPayload,
    EventDraft, Level,
};
use agent_tasks::TaskId;
use futures::future::join_all;

use super::access::{ForCall, TaskAccess};
use crate::workers::{Closing, WorkerRun};

/// How long workers have to stop.
#[derive(Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) patience: Duration,
}

/// A Task whose workers were stopped; nobody can claim a step of it.
pub(super) struct Stopped {
    /// Workers that did not stop in time. What they still do changes nothing: the Task ends without them.
    pub(super) left: Vec<AgentId>,
    _closing: Closing,
}

impl Ending {
    /// Keeps late claims away, cancels the workers of the Task and waits for their ends.
    ///
    /// # Errors
    /// If the call is cancelled meanwhile: the Task is as it was.
    pub(super) async fn begin(
        self,
        access: &TaskAccess,
        call: &ForCall,
        task_id: &TaskId,
    ) -> Result<Stopped, ErrorPayload> {
        let workers = &access.run.owned.tasks.workers;
        let closing = workers.close(task_id);
        let living = workers.of(task_id);
        if living.is_empty() {
            return Ok(Stopped { left: Vec::new(), _closing: closing });
        }
        let requested = living.iter().map(|worker| {
            workers.stopping(&worker.run_id, ChildCancelReason::TaskEnded);
            worker.cancel.cancel();
            EventDraft::of(ChildAgentCancelRequested {
                child_agent_id: worker.agent_id.clone(),
                child_run_id: worker.run_id.clone(),
                reason: ChildCancelReason::TaskEnded,
            })
            .call(&call.call)
        });
        access.run.record(requested.collect()).await;
        let ends = join_all(living.into_iter().map(|worker| self.end(worker)));
        let left: Vec<WorkerRun> = tokio::select! {
            biased;
            left = ends => left.into_iter().flatten().collect(),
            () = call.cancel.cancelled() => {
                let message = format!("the call was cancelled while workers were being stopped; task {task_id} is as it was");
                return Err(ErrorPayload::new(ErrorCode::Cancelled, message));
            }
        };
        if !left.is_empty() {
            access.run.note_left_behind();
            let waited_ms = u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX);
            let late = left.iter().map(|worker| {
                let (child_agent_id, child_run_id) = (worker.agent_id.clone(), worker.run_id.clone());
                let late = ChildAgentCancelTimeout { child_agent_id, child_run_id, waited_ms };
                EventDraft::of(late).level(Level::Warning).call(&call.call)
            });
            access.run.record(late.collect()).await;
        }
        Ok(Stopped { left: left.into_iter().map(|worker| worker.agent_id).collect(), _closing: closing })
    }

    /// The worker, if it did not stop in time.
    async fn end(self, mut worker: WorkerRun) -> Option<WorkerRun> {
        // A run that is gone without a word has ended, too.
        let ended = worker.state.wait_for(|state| state.end.is_some());
        let in_time = tokio::time::timeout(self.patience, ended).await.is_ok();
        (!in_time).then_some(worker)
    }
}
