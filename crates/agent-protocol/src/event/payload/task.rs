//! Tasks (TSK-*, WAL-*). What stands in the log of a Task is told to programs in the same words: one type is the payload of a line
//! (`TaskStepReady`), and with the ids of the line it is the payload of the event ([`TaskEvent`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use super::fields::{self, FieldError};
use crate::run::stored_enum;
use crate::task::{Moment, Operation, StepId, StepStatus, TaskId, TaskSnapshot, TaskStatus, TaskSummary, nullable};
use crate::{AgentId, ArtifactId, EventType, Object, RunId};

/// The payload of a line in the log of a Task: exactly these keys, all of them.
pub trait TaskLine: Serialize + serde::de::DeserializeOwned {
    /// The type of the event.
    const EVENT_TYPE: EventType;
    /// The keys.
    const KEYS: &'static [&'static str];
}

/// A line of a Task's log, for programs: the payload of the line, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskEvent<P> {
    /// The Task.
    pub task_id: TaskId,
    /// The step it is about; null where it is about the Task.
    pub step_id: Option<StepId>,
    /// The line in the Task's log.
    pub wal_seq: u64,
    /// What the line says.
    #[serde(flatten)]
    pub payload: P,
}

/// What a line's payload does not have.
#[derive(Deserialize)]
struct Place {
    task_id: TaskId,
    step_id: Option<StepId>,
    wal_seq: u64,
}

impl<P: TaskLine> EventPayload for TaskEvent<P> {
    const EVENT_TYPE: EventType = P::EVENT_TYPE;

    /// In two parts, so that a field of the payload that does not fit is named like any other.
    fn read(payload: &Object) -> Result<Self, FieldError> {
        let Place { task_id, step_id, wal_seq } = fields::read(payload, &Object::new())?;
        let known = payload.iter().filter(|(key, _)| P::KEYS.contains(&key.as_str()));
        let known: Object = known.map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self { task_id, step_id, wal_seq, payload: fields::read(&known, &Object::new())? })
    }
}

macro_rules! lines {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl TaskLine for $name {
            const EVENT_TYPE: EventType = EventType::$name;
            const KEYS: &'static [&'static str] = &[$(stringify!($field)),*];
        }
    )*};
}

lines! {
    /// A Task was made.
    TaskCreated {
        /// The whole Task, all its steps pending.
        task: Box<TaskSnapshot>,
    }
    /// A step of a pending Task is ready, claimed or running.
    TaskRunning {
        /// The state before.
        previous_status: TaskStatus,
        /// `running`.
        status: TaskStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
    }
    /// The Orchestrator changed the Task.
    TaskUpdated {
        /// What it changed, in order.
        operations: Vec<Operation>,
        /// The changed steps that somebody was at work on.
        updated_after_dispatch_step_ids: Vec<StepId>,
        /// The Task after it. Replay does not read it.
        task_summary: Box<TaskSummary>,
    }
    /// A blocked Task may go on.
    TaskReopened {
        /// The state before.
        previous_status: TaskStatus,
        /// `pending`.
        status: TaskStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
    }
    /// The Task ended well.
    TaskCompleted {
        /// What came of it.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The steps that were not needed and given up.
        cancelled_optional_step_ids: Vec<StepId>,
    }
    /// The Task ended without success.
    TaskFailed {
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The steps that were not finished.
        failed_step_ids: Vec<StepId>,
    }
    /// The Task was given up.
    TaskCancelled {
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
        /// The steps that were not finished.
        cancelled_step_ids: Vec<StepId>,
    }
    /// All that a step depends on is completed.
    TaskStepReady {
        /// The state before.
        previous_status: StepStatus,
        /// `ready`.
        status: StepStatus,
        /// What it depends on.
        depends_on_step_ids: Vec<StepId>,
    }
    /// A worker took a step.
    TaskStepClaimed {
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
    TaskStepStarted {
        /// The state before.
        previous_status: StepStatus,
        /// `running`.
        status: StepStatus,
        /// When the holder loses the step; null where the Orchestrator does it itself.
        #[serde(deserialize_with = "nullable")]
        lease_expires_at: Option<Moment>,
    }
    /// A step has a new result so far; its state is the same.
    TaskStepUpdated {
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
    TaskStepBlocked {
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
    TaskStepCompleted {
        /// The state before.
        previous_status: StepStatus,
        /// The result.
        #[serde(deserialize_with = "nullable")]
        result_summary: Option<String>,
        /// The products.
        artifact_ids: Vec<ArtifactId>,
    }
    /// A step ended without success.
    TaskStepFailed {
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
    TaskStepCancelled {
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
    TaskStepReopened {
        /// The state before.
        previous_status: StepStatus,
        /// `pending`.
        status: StepStatus,
        /// Why.
        #[serde(deserialize_with = "nullable")]
        reason: Option<String>,
    }
    /// The holder of a step gave no sign of life for too long; the step is pending again.
    TaskStepLeaseExpired {
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

stored_enum! {
    /// Why a worker claimed no step.
    ClaimSkipReason {
        /// Another run holds the step.
        StepAlreadyClaimed = "step_already_claimed",
        /// No step that the worker may claim is ready.
        NoStepClaimed = "no_step_claimed",
    }
}

/// A worker looked for a step and claimed none. Nothing of it is in the Task's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskStepClaimSkipped {
    /// The Task.
    pub task_id: TaskId,
    /// The step it wanted; null where none was ready.
    pub step_id: Option<StepId>,
    /// Why.
    pub reason: ClaimSkipReason,
    /// Who holds the step.
    pub claimed_by_agent_id: Option<AgentId>,
}

/// A Task was made again from its log, and is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskWalReplayed {
    /// The Task.
    pub task_id: TaskId,
    /// Its log.
    pub wal_path: String,
    /// How many lines it had.
    pub lines: u64,
    /// What a crash had left of a last line: it was never acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<TornEnd>,
    /// How many lines were written since: leases that were over, and what a crash had kept from being written.
    pub settled: u64,
}

/// The unfinished end of a log, which was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TornEnd {
    /// Where it began, in bytes from the beginning of the file.
    pub offset: u64,
    /// How long it was.
    pub bytes: u64,
    /// Where its bytes are now.
    pub kept_in: String,
}

/// A log of a Task cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskWalFailed {
    /// The Task, where it is known.
    pub task_id: Option<TaskId>,
    /// The log, or the folder of logs.
    pub wal_path: String,
    /// One word: `line`, `sequence`, `beginning`, `other`, `misfit`, `locked`, `file`, `empty`, `folder` or `write`.
    pub kind: String,
    /// The line that is wrong, from 1.
    pub line: Option<u64>,
    /// What is wrong, in words.
    pub reason: String,
}

payloads! {
    TaskStepClaimSkipped = TaskStepClaimSkipped,
    TaskWalReplayed = TaskWalReplayed,
    TaskWalFailed = TaskWalFailed,
}
