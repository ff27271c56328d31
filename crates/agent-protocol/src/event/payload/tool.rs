//! Tool calls. The call is the event's `tool_call_id`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use crate::run::stored_enum;
use crate::{ErrorPayload, EventType, Object, PayloadError, RuntimeEvent};

stored_enum! {
    /// How a call ended.
    ResultKind {
        /// It ran.
        Ok = "ok",
        /// It could not run, or ran into an error.
        Failed = "failed",
        /// Somebody said no.
        Denied = "denied",
        /// It was stopped.
        Aborted = "aborted",
        /// An earlier call was in its way.
        Skipped = "skipped",
    }
}

/// A call begins; stored before its side effects do (RUN-14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolStarted {
    /// Canonical name of the tool.
    pub tool_name: String,
    /// What the call does, in one line.
    pub summary: Option<String>,
}

/// What a call at work has to show at the moment, such as the last lines of a command. The keys are the tool's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolProgress(pub Object);

/// A call ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolCompleted(pub CallEnd);

/// A call failed, was stopped, or was skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolFailed(pub CallEnd);

/// A call was not allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolDenied(pub CallEnd);

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallEnd {
    /// Canonical name of the tool.
    pub tool_name: String,
    /// How it ended; the event's type follows from it.
    pub kind: ResultKind,
    /// What the call does, in one line; null where it was never prepared.
    pub call: Option<String>,
    /// What came of it, in one line, if the tool says so.
    pub summary: Option<String>,
    /// Facts for programs, such as `exit_code`; by tool.
    #[serde(default)]
    pub metadata: Object,
    /// Why it did not run to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorPayload>,
}

payloads! {
    ToolStarted = ToolStarted,
    ToolCompleted = ToolCompleted,
    ToolFailed = ToolFailed,
    ToolDenied = ToolDenied,
}

impl EventPayload for ToolProgress {
    const EVENT_TYPE: EventType = EventType::ToolProgress;

    fn into_object(self) -> Object {
        self.0
    }
}

impl CallEnd {
    /// Reads the event that ended a call.
    ///
    /// # Errors
    /// [`PayloadError`] where the event says no such thing.
    pub fn read(event: &RuntimeEvent) -> Result<Self, PayloadError> {
        Ok(match event.event_type {
            EventType::ToolFailed => event.read::<ToolFailed>()?.0,
            EventType::ToolDenied => event.read::<ToolDenied>()?.0,
            _ => event.read::<ToolCompleted>()?.0,
        })
    }
}
