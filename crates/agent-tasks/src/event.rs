//! What happened to a Task: the 17 event types of its log, with the contract's payloads (WAL-1, WAL-7).

use agent_protocol::{AgentId, ArtifactId, EventType, RunId};
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::name::StepId;
use crate::nullable;
use crate::operation::Operation;
use crate::snapshot::{TaskSnapshot, TaskSummary};
use crate::status::{StepStatus, TaskStatus};

/// One thing that happened to a Task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The step it happened to; none for events of the Task.
    pub step_id: Option<StepId>,
    /// When.
    pub at: Moment,
    /// What.
    pub payload: Payload,
}

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident, $level:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                $($(#[$field_doc])* pub $field: $type,)*
            }

            impl From<$name> for Payload {
                fn from(payload: $name) -> Self {
                    Self::$name(payload)
                }
            }
        )*

        /// The payload of an event.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Payload {
            $($(#[$doc])* $name($name),)*
        }

        impl Payload {
            /// The event types of a Task's log, in the contract's order.
            pub const EVENT_TYPES: &'static [EventType] = &[$(EventType::$name,)*];

            /// The type of the event.
            #[must_use]
            pub fn event_type(&self) -> EventType {
                match self { $(Self::$name(_) => EventType::$name,)* }
            }

            /// Whether an event of this type is about a step; none where the type is not one of a Task's log.
            #[must_use]
            pub fn is_of_step(event_type: EventType) -> Option<bool> {
                match event_type {
                    $(EventType::$name => Some(payloads!(@step $level)),)*
                    _ => None,
                }
            }

            /// Reads the payload of an event of this type; none where the type is not one of a Task's log.
            pub(crate) fn read(event_type: EventType, json: &str) -> Option<Result<Self, serde_json::Error>> {
                match event_type {
                    $(EventType::$name => Some(serde_json::from_str(json).map(Self::$name)),)*
                    _ => None,
                }
            }
        }
    };
    (@step task) => { false };
    (@step step) => { true };
}

payloads! {
    /// A Task was made.
    TaskCreated, task {
        /// The whole Task, all its steps pending.
        task: Box<TaskSnapshot>,
    }
    /// A step of a pending Task is ready, claimed or running.
    TaskRunning, task {
        /// The state before.
        previous_status: TaskStatus,
        /// `running`.
        status: TaskStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
    }
    /// The Orchestrator changed the Task.
    TaskUpdated, task {
        /// What it changed, in order.
        operations: Vec<Operation>,
        /// The changed steps that somebody was at work on.
        updated_after_dispatch_step_ids: Vec<StepId>,
        /// The Task after it. Replay does not read it.
        task_summary: Box<TaskSummary>,
    }
    /// A blocked Task may go on.
    TaskReopened, task {
        /// The state before.
        previous_status: TaskStatus,
        /// `pending`.
        status: TaskStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
    }
    /// The Task ended well.
    TaskCompleted, task {
        /// What came of it.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The steps that were not needed and given up.
        cancelled_optional_step_ids: Vec<StepId>,
    }
    /// The Task ended without success.
    TaskFailed, task {
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The steps that were not finished.
        failed_step_ids: Vec<StepId>,
    }
    /// The Task was given up.
    TaskCancelled, task {
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The steps that were not finished.
        cancelled_step_ids: Vec<StepId>,
    }
    /// All that a step depends on is completed.
    TaskStepReady, step {
        /// The state before.
        previous_status: StepStatus,
        /// `ready`.
        status: StepStatus,
        /// What it depends on.
        depends_on_step_ids: Vec<StepId>,
    }
    /// A worker took a step.
    TaskStepClaimed, step {
        /// The state before.
        previous_status: StepStatus,
        /// The worker.
        claimed_by_agent_id: AgentId,
        /// Its run.
        claimed_by_run_id: RunId,
        /// When it loses the step.
        lease_expires_at: Moment,
    }
    /// Work on a step began.
    TaskStepStarted, step {
        /// The state before.
        previous_status: StepStatus,
        /// `running`.
        status: StepStatus,
        /// When the holder loses the step; null where the Orchestrator does it itself.
        #[serde(deserialize_with = "nullable")]
        lease_expires_at: Option<Moment>,
    }
    /// A step has a new result so far; its state is the same.
    TaskStepUpdated, step {
        /// The state before.
        previous_status: StepStatus,
        /// The same state.
        status: StepStatus,
        /// The result so far.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The products so far.
        artifact_ids: Vec<ArtifactId>,
        /// When the holder loses the step; null where nobody holds it.
        #[serde(deserialize_with = "nullable")]
        lease_expires_at: Option<Moment>,
    }
    /// A step cannot go on.
    TaskStepBlocked, step {
        /// The state before.
        previous_status: StepStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The result so far.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The products so far.
        artifact_ids: Vec<ArtifactId>,
    }
    /// A step is done.
    TaskStepCompleted, step {
        /// The state before.
        previous_status: StepStatus,
        /// The result.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The products.
        artifact_ids: Vec<ArtifactId>,
    }
    /// A step ended without success.
    TaskStepFailed, step {
        /// The state before.
        previous_status: StepStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The result so far.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The products so far.
        artifact_ids: Vec<ArtifactId>,
    }
    /// A step was given up.
    TaskStepCancelled, step {
        /// The state before.
        previous_status: StepStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The result so far.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
    }
    /// A blocked or failed step is pending again.
    TaskStepReopened, step {
        /// The state before.
        previous_status: StepStatus,
        /// `pending`.
        status: StepStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
    }
    /// The holder of a step gave no sign of life for too long; the step is pending again.
    TaskStepLeaseExpired, step {
        /// The state before.
        previous_status: StepStatus,
        /// The worker that held it.
        claimed_by_agent_id: AgentId,
        /// The worker's run.
        claimed_by_run_id: RunId,
        /// When the lease ended.
        expired_at: Moment,
    }
}
