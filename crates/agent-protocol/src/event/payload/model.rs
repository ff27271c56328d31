//! Requests to the model.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::contract::{EventPayload, payloads};
use super::message::text;
use crate::{ErrorPayload, EventType, Object, StopKind, Usage};

/// The model is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelStarted {
    /// The model's name at its provider.
    pub model: String,
    /// The request's number in its run, from 1; absent for requests that core makes for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u32>,
    /// The turn, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

/// The model replied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCompleted {
    /// Why the reply ended; absent for requests that core makes for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopKind>,
    /// The same in the provider's word, null where it said none; absent with `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "stated")]
    pub stop_raw: Option<Option<String>>,
    /// Tokens as the provider counted them.
    pub usage: Usage,
    /// Tokens that the prompt should have counted, where the provider's count cannot be that of the whole prompt (PRV-12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_expected: Option<u64>,
}

/// A field that is there, be it null.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFailed {
    /// Why.
    pub error: ErrorPayload,
    /// Whether the turn is asked for again (RUN-23); absent for requests that core makes for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub will_retry: Option<bool>,
}

/// The same request is sent again after a pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRetry {
    /// Which attempt failed, from 1.
    pub attempt: u32,
    /// How long the pause is, in milliseconds.
    pub wait_ms: u64,
    /// Why it failed.
    pub error: ErrorPayload,
}

/// A piece of text, as the provider sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelTextDelta {
    /// The text.
    pub text: String,
}

/// A piece of the model's thinking, as the provider sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReasoningDelta {
    /// The text.
    pub text: String,
}

/// A piece of a tool call's arguments, as the provider sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallDelta {
    /// The piece: part of a JSON text.
    pub fragment: String,
    /// Which call of the reply, from 0.
    pub index: usize,
    /// The tool's name, null where the provider did not repeat it.
    pub name: Option<String>,
}

payloads! {
    ModelStarted = ModelStarted,
    ModelCompleted = ModelCompleted,
    ModelFailed = ModelFailed,
    ModelRetry = ModelRetry,
}

impl EventPayload for ModelTextDelta {
    const EVENT_TYPE: EventType = EventType::ModelTextDelta;

    fn into_object(self) -> Object {
        text(self.text)
    }
}

impl EventPayload for ModelReasoningDelta {
    const EVENT_TYPE: EventType = EventType::ModelReasoningDelta;

    fn into_object(self) -> Object {
        text(self.text)
    }
}

impl EventPayload for ToolCallDelta {
    const EVENT_TYPE: EventType = EventType::ToolCallDelta;

    fn into_object(self) -> Object {
        Object::from_iter([
            ("fragment".to_owned(), Value::String(self.fragment)),
            ("index".to_owned(), self.index.into()),
            ("name".to_owned(), self.name.into()),
        ])
    }
}
