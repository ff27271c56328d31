//! The way from a call to the workers of an Orchestrator (WRK-*).

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

pub use agent_protocol::SelectionReason;
use agent_protocol::task::{PoolId, StepId, StepStatus, TaskId};
use agent_protocol::{AgentId, ContentBlock, ErrorCode, ErrorPayload, Object, RunId, SuggestedTool};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;

use super::children::ChildReport;

/// The workers of the session, for one call of the Orchestrator.
pub trait WorkerAgents: Send + Sync {
    /// The workers of a pool, or of all, in the order of the configuration (WRK-3).
    ///
    /// # Errors
    /// If there is no such pool, or the agent has no workers.
    fn list(&self, pool_id: Option<PoolId>) -> BoxFuture<'_, Result<Vec<WorkerInfo>, ErrorPayload>>;

    /// Sends a worker for a step of a Task and waits for its end. Cancelling the call cancels the worker's run, and so does dropping
    /// the future.
    ///
    /// # Errors
    /// If no worker was sent, with what is in the way (WRK-4, WRK-5). How one that was sent ended is no error here.
    fn dispatch(&self, dispatch: Dispatch) -> BoxFuture<'_, Result<DispatchReport, ErrorPayload>>;
}

/// A worker as the Orchestrator sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerInfo {
    /// The worker; the same in every run of the session.
    pub worker_agent_id: AgentId,
    /// Its entry in the configuration.
    pub worker_id: String,
    /// The definition it is made from.
    pub agent_definition_id: String,
    /// The definition's name.
    pub name: String,
    /// What the definition is good for.
    pub description: String,
    /// Its pool.
    pub worker_pool_id: PoolId,
    /// Whether it can be sent.
    pub status: WorkerStatus,
    /// Why it cannot be sent at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_reason: Option<String>,
    /// Tools its definition likes, and whether this worker has them.
    pub suggested_tools: Vec<SuggestedTool>,
    /// The definition's tags.
    pub tags: Vec<String>,
    /// Its run, when it is busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// The step it has claimed, when it is busy and has claimed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_step_id: Option<StepId>,
}

/// Whether a worker can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    /// It can.
    Idle,
    /// It is at work.
    Busy,
    /// Its entry cannot be used, such as when its definition is gone.
    Unavailable,
}

/// What a worker is sent for.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// The only Task it sees.
    pub task_id: TaskId,
    /// Only workers of this pool; absent: of all.
    pub pool_id: Option<PoolId>,
    /// This worker; absent: the first one that is idle, in the order of the configuration (WRK-4).
    pub worker: Option<AgentId>,
    /// The only steps it may see and claim; absent: all (WRK-5).
    pub allowed_step_ids: Option<BTreeSet<StepId>>,
    /// What it is told, in the user's place, behind what it was sent for.
    pub instruction: Vec<ContentBlock>,
    /// Only these tools of those that its entry allows (WRK-8).
    pub allowed_tools: Option<HashSet<String>>,
    /// What its answer has to be: a JSON schema (AGT-5). Absent: any text.
    pub output_schema: Option<Object>,
    /// How long it may take; absent: as long as the configuration says.
    pub timeout: Option<Duration>,
}

/// How a dispatch ended (WRK-6). What it says of the step is read from the Task, after the worker's end was written to it.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchReport {
    /// The worker's own end; `child.agent_id` is the worker.
    pub child: ChildReport,
    /// Why this worker was taken.
    pub selection_reason: SelectionReason,
    /// The step it claimed; absent: none.
    pub claimed_step_id: Option<StepId>,
    /// Where that step stands now.
    pub step_status: Option<StepStatus>,
    /// What the Task says that came of it.
    pub step_result_summary: Option<String>,
    /// Why it failed or was cancelled, or is blocked.
    pub step_reason: Option<String>,
    /// Why the Task could not be read after the run: what became of a step is not known then.
    pub task_error: Option<ErrorPayload>,
}

impl DispatchReport {
    /// The worker came back without a step, and that is known: a success (ERR-4).
    #[must_use]
    pub fn no_step_claimed(&self) -> bool {
        self.claimed_step_id.is_none() && self.task_error.is_none()
    }
}

/// For where there are no workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorkers;

impl NoWorkers {
    fn refusal() -> ErrorPayload {
        ErrorPayload::new(ErrorCode::ToolNotAvailable, "only the Orchestrator has workers")
    }
}

impl WorkerAgents for NoWorkers {
    fn list(&self, _: Option<PoolId>) -> BoxFuture<'_, Result<Vec<WorkerInfo>, ErrorPayload>> {
        std::future::ready(Err(Self::refusal())).boxed()
    }

    fn dispatch(&self, _: Dispatch) -> BoxFuture<'_, Result<DispatchReport, ErrorPayload>> {
        std::future::ready(Err(Self::refusal())).boxed()
    }
}
