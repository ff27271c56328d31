//! A Task as programs and the log see it: the contract's fields (TSK-1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::name::{PoolId, StepId, TaskId};
use super::nullable::nullable;
use super::status::{StepStatus, TaskStatus};
use crate::{AgentId, ArtifactId, RunId};

/// A Task with all its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSnapshot {
    /// The id.
    pub task_id: TaskId,
    /// The log file, as the service names it.
    pub wal_path: String,
    /// One line.
    pub title: String,
    /// What the Task is about.
    pub summary: String,
    /// The state.
    pub status: TaskStatus,
    /// The steps that depend on none, in the order in which they were added.
    pub root_step_ids: Vec<StepId>,
    /// All steps, in the order in which they were added.
    pub steps: Vec<StepSnapshot>,
    /// The agent that made the Task.
    #[serde(deserialize_with = "nullable")]
    pub created_by_agent_id: Option<AgentId>,
    /// The run that made the Task.
    #[serde(deserialize_with = "nullable")]
    pub created_by_run_id: Option<RunId>,
    /// When it was made.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

/// A step of a Task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSnapshot {
    /// The id.
    pub step_id: StepId,
    /// One line.
    pub title: String,
    /// What is to be done.
    pub summary: String,
    /// The state.
    pub status: StepStatus,
    /// The steps that must be completed first.
    pub depends_on_step_ids: Vec<StepId>,
    /// Whether the Task needs it.
    pub required: bool,
    /// The pool whose workers may claim it.
    #[serde(deserialize_with = "nullable")]
    pub worker_pool_id: Option<PoolId>,
    /// Its holder, or who held it last.
    #[serde(deserialize_with = "nullable")]
    pub claimed_by_agent_id: Option<AgentId>,
    /// The holder's run.
    #[serde(deserialize_with = "nullable")]
    pub claimed_by_run_id: Option<RunId>,
    /// When the holder loses it.
    #[serde(deserialize_with = "nullable")]
    pub lease_expires_at: Option<Moment>,
    /// What came of it.
    #[serde(deserialize_with = "nullable")]
    pub result_summary: Option<String>,
    /// The products named as its result.
    pub artifact_ids: Vec<ArtifactId>,
    /// When it was added.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

/// How many steps are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is a state's name")]
pub struct StepCounts {
    pub pending: usize,
    pub ready: usize,
    pub claimed: usize,
    pub running: usize,
    pub blocked: usize,
    pub completed: usize,
    pub failed: usize,
    pub cancelled: usize,
}

impl StepCounts {
    /// The count of one state.
    #[must_use]
    pub fn of(&self, status: StepStatus) -> usize {
        match status {
            StepStatus::Pending => self.pending,
            StepStatus::Ready => self.ready,
            StepStatus::Claimed => self.claimed,
            StepStatus::Running => self.running,
            StepStatus::Blocked => self.blocked,
            StepStatus::Completed => self.completed,
            StepStatus::Failed => self.failed,
            StepStatus::Cancelled => self.cancelled,
        }
    }

    /// All steps.
    #[must_use]
    pub fn total(&self) -> usize {
        StepStatus::ALL.iter().map(|status| self.of(*status)).sum()
    }
}

/// A Task in short: what write tools return (TSK-15) and `task_updated` carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSummary {
    /// The id.
    pub task_id: TaskId,
    /// One line.
    pub title: String,
    /// The state.
    pub status: TaskStatus,
    /// Its steps, counted.
    pub steps: StepCounts,
    /// Nothing can go on by itself: no step is ready, claimed or running, and the Task cannot be completed (TSK-8).
    pub stalled: bool,
    /// `agent.task_complete` would be accepted (TSK-8).
    pub completeable: bool,
}
