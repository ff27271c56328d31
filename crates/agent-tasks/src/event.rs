//! What happened to a Task: the 17 event types of its log, with the contract's payloads (WAL-1, WAL-7).

use agent_protocol::task::{Moment, StepId, TaskId};
use agent_protocol::{
    EventDraft, EventType, TaskCancelled, TaskCompleted, TaskCreated, TaskEvent, TaskFailed, TaskReopened, TaskRunning,
    TaskStepBlocked, TaskStepCancelled, TaskStepClaimed, TaskStepCompleted, TaskStepFailed, TaskStepLeaseExpired,
    TaskStepReady, TaskStepReopened, TaskStepStarted, TaskStepUpdated, TaskUpdated,
};
use serde::Serialize;

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

impl Event {
    /// The event for programs, of the line with this number.
    #[must_use]
    pub fn draft(&self, task_id: &TaskId, wal_seq: u64) -> EventDraft {
        self.payload.clone().draft(task_id.clone(), self.step_id.clone(), wal_seq)
    }
}

macro_rules! payloads {
    ($($name:ident, $level:ident;)*) => {
        $(
            impl From<$name> for Payload {
                fn from(payload: $name) -> Self {
                    Self::$name(payload)
                }
            }
        )*

        /// The payload of an event.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        #[expect(missing_docs, reason = "each is named as its type, which says what it is")]
        pub enum Payload {
            $($name($name),)*
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

            fn draft(self, task_id: TaskId, step_id: Option<StepId>, wal_seq: u64) -> EventDraft {
                match self {
                    $(Self::$name(payload) => EventDraft::of(TaskEvent { task_id, step_id, wal_seq, payload }),)*
                }
            }
        }
    };
    (@step task) => { false };
    (@step step) => { true };
}

payloads! {
    TaskCreated, task;
    TaskRunning, task;
    TaskUpdated, task;
    TaskReopened, task;
    TaskCompleted, task;
    TaskFailed, task;
    TaskCancelled, task;
    TaskStepReady, step;
    TaskStepClaimed, step;
    TaskStepStarted, step;
    TaskStepUpdated, step;
    TaskStepBlocked, step;
    TaskStepCompleted, step;
    TaskStepFailed, step;
    TaskStepCancelled, step;
    TaskStepReopened, step;
    TaskStepLeaseExpired, step;
}
