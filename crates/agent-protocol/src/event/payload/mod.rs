//! What an event says, by its type: one struct writes a payload and reads it.
//!
//! What is written today stands in the structs. A field that some builds did not write is an `Option` or has a default;
//! [`older`] says what else changed. Keys that a struct does not know are passed over, so that a database of a later build
//! reads as well. Anything else that does not fit is a [`PayloadError`], never a default.

mod agent;
mod compaction;
mod context;
mod fields;
mod memory;
mod message;
mod model;
mod older;
mod permission;
mod run;
mod schema;
mod tool;

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use agent::{
    ChildAgentCancelRequested, ChildAgentCancelTimeout, ChildAgentCancelled, ChildAgentCompleted, ChildAgentCreated,
    ChildAgentFailed, ChildCancelReason,
};
pub use compaction::{CompactCompleted, CompactFailed, CompactMode, CompactStarted};
pub use context::{ContextBuilt, EpochPart, ModelSettings, WindowBudgets};
pub use fields::FieldError;
pub use memory::{ExtractionReason, MemoryExtractionCompleted, MemoryExtractionFailed, MemoryExtractionStarted};
pub use message::{MessageCompleted, MessageCreated, MessageDelta};
pub use model::{
    ModelCompleted, ModelFailed, ModelReasoningDelta, ModelRetry, ModelStarted, ModelTextDelta, ToolCallDelta,
};
pub use permission::{PermissionFailed, PermissionRequested, PermissionResolved};
pub use run::{
    CancelTimeout, ErrorReported, Estimates, LoopAborted, LoopCompleted, LoopFailed, LoopStarted, RunCancelled,
    RunDequeued, RunEnd, RunQueued,
};
pub use schema::{EventSchema, event_index, event_schemas};
pub use tool::{CallEnd, ResultKind, ToolCompleted, ToolDenied, ToolFailed, ToolProgress, ToolStarted};

use super::{EventType, RuntimeEvent};
use crate::{EventId, Object};

/// The payload of one type of event.
pub trait EventPayload: Serialize + DeserializeOwned {
    /// The type.
    const EVENT_TYPE: EventType;

    /// The payload as a JSON object, as events carry it.
    fn into_object(self) -> Object {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            // Structs of words, numbers, ids and JSON always serialise to an object: a test has one of each.
            _ => Object::new(),
        }
    }

    /// The payload of an older build in the form of today; none where it has that already.
    fn from_older(_payload: &Object) -> Option<Object> {
        None
    }

    /// Reads a payload. [`RuntimeEvent::read`] names the event as well.
    ///
    /// # Errors
    /// [`FieldError`] names the field that is missing or wrong.
    fn read(payload: &Object) -> Result<Self, FieldError> {
        match Self::from_older(payload) {
            Some(today) => fields::read(&today),
            None => fields::read(payload),
        }
    }
}

/// A payload that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event_id} ({}) cannot be read: {why}", .event_type.as_str())]
pub struct PayloadError {
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: EventType,
    /// What is wrong with it. It may quote what is stored.
    pub why: FieldError,
}

impl RuntimeEvent {
    /// What the event says.
    ///
    /// # Errors
    /// [`PayloadError`] where the payload is not that of a `P`, or the event is of another type.
    pub fn read<P: EventPayload>(&self) -> Result<P, PayloadError> {
        if self.event_type != P::EVENT_TYPE {
            return Err(self.unreadable(FieldError::other_type(P::EVENT_TYPE)));
        }
        P::read(&self.payload).map_err(|error| self.unreadable(error))
    }

    /// The error of a payload that cannot be read.
    #[must_use]
    pub fn unreadable(&self, why: FieldError) -> PayloadError {
        PayloadError { event_id: self.event_id.clone(), event_type: self.event_type, why }
    }
}

macro_rules! payloads {
    ($($name:ident = $event_type:ident,)*) => {$(
        impl EventPayload for $name {
            const EVENT_TYPE: EventType = EventType::$event_type;
        }
    )*};
}
use payloads;
