//! Child agents (AGT-*). The events are the parent's; what happens in the child is in the child's own run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use crate::run::stored_enum;
use crate::task::{PoolId, StepId, StepStatus, TaskId};
use crate::{AgentId, AgentRole, AgentType, ErrorPayload, EventType, NodeId, RunId, Usage};

stored_enum! {
    /// Why a child agent is cancelled.
    ChildCancelReason {
        /// Its parent's run was cancelled.
        ParentCancelled = "parent_cancelled",
        /// Its parent's run ended.
        ParentEnded = "parent_ended",
        /// It took longer than it may.
        Timeout = "timeout",
        /// It is a worker whose Task is being ended.
        TaskEnded = "task_ended",
    }
}

stored_enum! {
    /// Why a worker was taken (WRK-4).
    SelectionReason {
        /// The call named it.
        Named = "named",
        /// It was the first idle one, in the order of the configuration.
        FirstIdle = "first_idle",
    }
}

/// A child agent was made and its run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgentCreated {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// Names the stream of its events: the id of its run.
    pub stream_id: RunId,
    /// `sub`, with a context of its own, or `fork`, which inherits its parent's.
    pub agent_type: AgentType,
    /// The definition it is made from.
    pub agent_definition_id: String,
    /// The node whose path a fork inherits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_from_node_id: Option<NodeId>,
    /// The tools it may use, by canonical name.
    pub allowed_tools: Vec<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// The part it plays: sub, fork or worker. Builds before this field had no workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<AgentRole>,
    /// The name of its definition, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// What it is asked to do, in one line of at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// A worker's entry in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// A worker's pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_pool_id: Option<PoolId>,
    /// The Task that a worker is sent for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The only steps that a worker may claim; absent: all of the Task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_step_ids: Option<Vec<StepId>>,
}

/// A child agent did its work; its result is the result of the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgentCompleted {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// Turns it took.
    pub turns: u32,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// The step that a worker had claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
    /// Where that step stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_status: Option<StepStatus>,
}

/// A child agent failed; the parent goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgentFailed {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// Turns it took.
    pub turns: u32,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Why.
    pub error: ErrorPayload,
    /// The step that a worker had claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
    /// Where that step stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_status: Option<StepStatus>,
}

/// A child agent is told to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgentCancelRequested {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// Why.
    pub reason: ChildCancelReason,
}

/// A child agent has stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgentCancelled {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// Turns it took.
    pub turns: u32,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// The step that a worker had claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
    /// Where that step stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_status: Option<StepStatus>,
}

/// A child agent did not stop in time. Whatever it still does changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgentCancelTimeout {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// How long it was waited for, in milliseconds.
    pub waited_ms: u64,
}

/// A worker was sent for a step of a Task; its run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerDispatched {
    /// The Task.
    pub task_id: TaskId,
    /// The worker's pool.
    pub worker_pool_id: PoolId,
    /// The worker's entry in its pool.
    pub worker_id: String,
    /// The worker; the same in every run of the session.
    pub worker_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// Names the stream of its events: the id of its run.
    pub stream_id: RunId,
    /// Why it was taken.
    pub selection_reason: SelectionReason,
    /// The only steps it may see and claim; absent: all that its pool may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_step_ids: Option<Vec<StepId>>,
}

/// No worker was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerDispatchFailed {
    /// The Task that it was to be sent for.
    pub task_id: TaskId,
    /// The pool that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_pool_id: Option<PoolId>,
    /// The worker that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_agent_id: Option<AgentId>,
    /// What was in the way.
    pub error: ErrorPayload,
}

/// The answer of a child agent is not as the schema that it was asked for wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildResultSchemaValidationFailed {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// What is wrong with the answer; `details.problems` has each place.
    pub error: ErrorPayload,
}

payloads! {
    ChildAgentCreated = ChildAgentCreated,
    ChildAgentCompleted = ChildAgentCompleted,
    ChildAgentFailed = ChildAgentFailed,
    ChildAgentCancelRequested = ChildAgentCancelRequested,
    ChildAgentCancelled = ChildAgentCancelled,
    ChildAgentCancelTimeout = ChildAgentCancelTimeout,
    WorkerDispatched = WorkerDispatched,
    WorkerDispatchFailed = WorkerDispatchFailed,
    ChildResultSchemaValidationFailed = ChildResultSchemaValidationFailed,
}
