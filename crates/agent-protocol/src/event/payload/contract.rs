//! What the payloads of all events have in common, and the error of one that cannot be read.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fields::{self, FieldError};
use crate::event::event_type::EventType;
use crate::event::runtime_event::RuntimeEvent;
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

    /// Fields that an older build had in another place, in the place and form of today.
    fn from_older(_payload: &Object) -> Object {
        Object::new()
    }

    /// Reads a payload. [`RuntimeEvent::read`] names the event as well.
    ///
    /// # Errors
    /// [`FieldError`] names the field that is missing or wrong.
    fn read(payload: &Object) -> Result<Self, FieldError> {
        fields::read(payload, &Self::from_older(payload))
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
pub(super) use payloads;
