//! What can be asked of a Task.

use std::collections::BTreeSet;

use agent_protocol::task::{Moment, Operation, PoolId, StepId, StepStatus};
use agent_protocol::{AgentId, ArtifactId, RunId};

/// Something asked of a Task. Who asks is part of it; a worker is never taken at its word for who it is (TSK-12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The Orchestrator edits the Task (TSK-9).
    Update(Vec<Operation>),
    /// A worker takes a step (TSK-18).
    Claim {
        /// The worker.
        worker: Worker,
        /// The step.
        step_id: StepId,
    },
    /// A worker or the Orchestrator says how far a step is (TSK-19).
    UpdateStep {
        /// Who says it.
        by: Actor,
        /// The step.
        step_id: StepId,
        /// What is new.
        update: StepUpdate,
    },
    /// The Orchestrator ends the Task well (TSK-7).
    Complete {
        /// What came of it.
        result_summary: Option<String>,
    },
    /// The Orchestrator ends the Task without success (TSK-21).
    Fail {
        /// Why.
        reason: Option<String>,
    },
    /// The Orchestrator gives the Task up (TSK-21).
    Cancel {
        /// Why.
        reason: Option<String>,
    },
    /// A worker's run is over. A step that it still holds has failed (WRK-7).
    RunEnded {
        /// The run.
        run_id: RunId,
        /// Why the step has failed.
        reason: String,
    },
    /// Ends leases that are over, and writes what a torn log has lost.
    Settle,
}

/// Who changes a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The Orchestrator: any step.
    Orchestrator,
    /// The run of a worker: the step that it holds.
    Worker(RunId),
}

/// A worker, and what it was sent for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// The worker.
    pub agent_id: AgentId,
    /// Its run.
    pub run_id: RunId,
    /// Its pool.
    pub pool_id: PoolId,
    /// The steps that it may see and claim; none: no limit (WRK-5).
    pub allowed_step_ids: Option<BTreeSet<StepId>>,
}

/// What is new about a step. What is not given stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepUpdate {
    /// Its state: running, blocked, completed, failed or cancelled.
    pub status: Option<StepStatus>,
    /// What came of it so far.
    pub result_summary: Option<String>,
    /// All its products so far.
    pub artifact_ids: Option<Vec<ArtifactId>>,
    /// Why it is blocked, failed or cancelled.
    pub reason: Option<String>,
}

/// What the time of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Now.
    pub now: Moment,
    /// How long a worker keeps a step without a sign of life, in milliseconds.
    pub lease_millis: u64,
}
