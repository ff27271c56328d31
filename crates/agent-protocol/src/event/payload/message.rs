//! Messages of a conversation. Their content is in the node that the event names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contract::{EventPayload, payloads};
use crate::{EventType, Object, Role};

/// A message joined the conversation: the user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageCreated {
    /// Who speaks.
    pub role: Role,
}

/// The model finished a message, or broke off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageCompleted {
    /// Tool calls in it; 0: it is the answer. Absent where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// The model broke off: the node is kept to be looked at and is on no path. A note in the next request may quote it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// Why it is no answer: the model broke off, and is asked again (`partial`) or not (`failed`, `aborted`); or it wrote a call as
    /// text (`written_call`), or not what its task wants (`off_schema`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// More text of the message being written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDelta {
    /// The text, without known secrets.
    pub text: String,
}

payloads! {
    MessageCreated = MessageCreated,
    MessageCompleted = MessageCompleted,
}

impl EventPayload for MessageDelta {
    const EVENT_TYPE: EventType = EventType::MessageDelta;

    fn into_object(self) -> Object {
        text(self.text)
    }
}

/// The payload of a text delta. The text is moved: there are many of them.
pub(super) fn text(text: String) -> Object {
    Object::from_iter([("text".to_owned(), Value::String(text))])
}
