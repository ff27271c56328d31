//! What a message is made of (TYP-1).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ArtifactId, ErrorPayload, Object, ToolCallId};

/// One piece of a message: provider-neutral, stored as JSON, tagged by `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text(TextBlock),
    /// Structured data; big data is an artifact and the block keeps summary and id (TYP-2).
    Json(JsonBlock),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResultBlock),
    /// A stored product of the run.
    ArtifactRef(ArtifactRef),
}

/// Plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextBlock {
    /// The text, as it came.
    pub text: String,
}

/// Structured data, or a summary of it and where the whole lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonBlock {
    /// The data; absent when it went to an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What the data says, in a line or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Where the whole is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<ArtifactId>,
}

/// A call the model makes. `arguments` is always an object: text that was not one is kept in
/// `metadata.invalid_arguments` and answered with an error (PRV-6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub tool_call_id: ToolCallId,
    /// Canonical name, such as `code.read_file`; what the model said where no such tool exists.
    pub name: String,
    /// The arguments.
    pub arguments: Object,
    /// Raw id, raw name, invalid argument text, provider extras to echo.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
}

impl ToolCall {
    /// Key in `metadata` under which adapters keep argument text that is no JSON object.
    pub const INVALID_ARGUMENTS: &'static str = "invalid_arguments";
    /// Key in `metadata` that says why the argument text is no object.
    pub const ARGUMENTS_ERROR: &'static str = "arguments_error";
    /// Begins the reason where the text is JSON, of something else than an object.
    pub const NO_OBJECT: &'static str = "the arguments must be a JSON object";
    /// Begins the reason where the text ends in the middle of JSON.
    pub const UNFINISHED: &'static str = "the arguments end too early";

    /// Why the arguments cannot be used, if they cannot.
    #[must_use]
    pub fn arguments_error(&self) -> Option<&str> {
        self.metadata.get(Self::ARGUMENTS_ERROR).and_then(Value::as_str)
    }
}

/// Longest name of a tool, a model or a kind of end that is kept as it was said, in bytes.
pub const MAX_NAME: usize = 256;

/// A name that a model or server has said, of a length that can be stored, shown and sent back: of a longer one the beginning, with
/// a mark that no name of a tool has.
#[must_use]
pub fn bounded_name(said: &str) -> Cow<'_, str> {
    const MARK: &str = "…";
    if said.len() <= MAX_NAME {
        return Cow::Borrowed(said);
    }
    let end = said.floor_char_boundary(MAX_NAME - MARK.len());
    Cow::Owned(format!("{}{MARK}", &said[..end]))
}

/// The answer to a call, paired by id, never by order (TYP-3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolResultBlock {
    /// The call this answers.
    pub tool_call_id: ToolCallId,
    /// Whether the call failed, was denied or was skipped.
    #[serde(default)]
    pub is_error: bool,
    /// What the model is shown.
    pub content: Vec<ContentBlock>,
    /// Set when `is_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorPayload>,
    /// `aborted`, `partial`, exit codes, …
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
}

/// A stored product of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    /// Where it is stored.
    pub artifact_id: ArtifactId,
    /// What it is, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

impl ContentBlock {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into() })
    }

    /// A JSON block with its data inline.
    #[must_use]
    pub fn json(data: Value) -> Self {
        Self::Json(JsonBlock { data: Some(data), summary: None, artifact_id: None })
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }

    /// The call of a tool-call block.
    #[must_use]
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// What a model that takes only text is shown for this block: text as it is, data as compact JSON, references as one
    /// line. Calls and results have their own places in a request and give nothing here.
    #[must_use]
    pub fn to_model_text(&self) -> Option<String> {
        match self {
            Self::Text(block) => Some(block.text.clone()),
            Self::Json(block) => Some(match (&block.data, &block.summary) {
                (Some(data), _) => data.to_string(),
                (None, Some(summary)) => summary.clone(),
                (None, None) => "null".to_owned(),
            }),
            Self::ArtifactRef(artifact) => Some(match &artifact.summary {
                Some(summary) => format!("[artifact {}: {summary}]", artifact.artifact_id),
                None => format!("[artifact {}]", artifact.artifact_id),
            }),
            Self::ToolCall(_) | Self::ToolResult(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// TYP-1, TYP-9: a tagged union on `type`, snake_case, that survives a round trip.
    #[test]
    fn blocks_are_tagged_by_type() {
        for value in [
            json!({"type": "text", "text": "hi"}),
            json!({"type": "json", "data": {"a": 1}}),
            json!({"type": "json", "summary": "big", "artifact_id": "art_1"}),
            json!({"type": "tool_call", "tool_call_id": "c1", "name": "code.read_file", "arguments": {"path": "a"}}),
            json!({"type": "tool_result", "tool_call_id": "c1", "is_error": false,
                   "content": [{"type": "text", "text": "x"}]}),
            json!({"type": "artifact_ref", "artifact_id": "art_1", "mime_type": "text/plain"}),
        ] {
            let block: ContentBlock = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&block).unwrap(), value);
        }
    }

    /// API-8: unknown fields and unknown types are refused.
    #[test]
    fn unknown_fields_are_refused() {
        for value in [
            json!({"type": "text", "text": "hi", "colour": "red"}),
            json!({"type": "image", "data": ""}),
            json!({"type": "tool_call", "tool_call_id": "c1", "name": "x", "arguments": "{}"}),
        ] {
            assert!(serde_json::from_value::<ContentBlock>(value.clone()).is_err(), "{value}");
        }
    }
}
