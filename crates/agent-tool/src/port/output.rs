//! What a call came to.

use agent_protocol::{ArtifactRef, ContentBlock, ErrorPayload, Object, ToolCallId, ToolResult};
use serde_json::Value;

use super::loaded::ContextNode;

/// The outcome of a call. An output with an error may still have content: what was captured before it failed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// What the model is shown.
    pub content: Vec<ContentBlock>,
    /// Set when the call failed.
    pub error: Option<ErrorPayload>,
    /// Facts for programs, not for the model.
    pub metadata: Object,
    /// What joins the conversation besides; of core's own tools only.
    pub context: Vec<ContextNode>,
}

impl ToolOutput {
    /// Key in `metadata`: the call was stopped before its end.
    pub const ABORTED: &'static str = "aborted";
    /// Key in `metadata`: the content is what was there when the call was stopped.
    pub const PARTIAL: &'static str = "partial";
    /// Key in `metadata`: known secrets in the content, or in an artifact of it, were replaced by their names (STO-10).
    pub const REDACTED: &'static str = "secrets_replaced";

    /// Key in `metadata`: one line for people about what came of the call.
    pub const SUMMARY: &'static str = "summary";

    /// Adds the line for people.
    #[must_use]
    pub fn summary(self, line: impl Into<String>) -> Self {
        self.with(Self::SUMMARY, line.into())
    }

    /// A success that shows this value.
    #[must_use]
    pub fn value(value: impl Into<Value>) -> Self {
        Self { content: vec![ContentBlock::from(value.into())], ..Self::default() }
    }

    /// A failure without content.
    #[must_use]
    pub fn failed(error: ErrorPayload) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// The stored products the content refers to.
    pub fn artifacts(&self) -> impl Iterator<Item = &ArtifactRef> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ArtifactRef(artifact) => Some(artifact),
            _ => None,
        })
    }

    /// The contract's form.
    #[must_use]
    pub fn into_result(self, tool_call_id: ToolCallId, tool_name: &str) -> ToolResult {
        ToolResult {
            tool_call_id,
            tool_name: tool_name.to_owned(),
            content: self.content,
            is_error: self.error.is_some(),
            error: self.error,
            metadata: self.metadata,
        }
    }
}

impl From<Result<ToolOutput, ErrorPayload>> for ToolOutput {
    fn from(result: Result<ToolOutput, ErrorPayload>) -> Self {
        result.unwrap_or_else(Self::failed)
    }
}
