//! What a tool says of itself, and what it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::stored_enum;
use crate::{ContentBlock, ErrorPayload, Object, ToolCallId};

stored_enum! {
    /// Whether a tool may change anything.
    Permission {
        /// Looks only.
        Readonly = "readonly",
        /// May change things.
        Write = "write",
    }
}

stored_enum! {
    /// How calls of one turn are scheduled (RUN-11). From the tool's definition, never from its name.
    ToolClass {
        /// Neighbours run in parallel.
        Readonly = "readonly",
        /// Changes the world: alone, in the model's order.
        Write = "write",
        /// Asks nothing but changes core's state (task tools, skills): alone, in the model's order.
        Ordered = "ordered",
        /// Starts a child agent: neighbours run in parallel up to the limits.
        Agent = "agent",
    }
}

/// What a tool says of itself (TOL-2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// Canonical name: `code.read_file`, `agent.…`, `internal.…`, `mcp.<server>.<tool>`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments, in the subset every provider takes (TOL-2, TOL-7).
    pub input_schema: Value,
    /// Whether it may change anything.
    pub permission: Permission,
    /// `dangerous`, `network`, `filesystem`, …
    #[serde(default)]
    pub tags: Vec<String>,
    /// Extensions.
    #[serde(default)]
    pub metadata: Object,
}

impl ToolDefinition {
    /// Tag of tools that can do more than their target shows.
    pub const DANGEROUS: &'static str = "dangerous";
    /// Tag of tools that talk to other hosts.
    pub const NETWORK: &'static str = "network";

    /// Whether the tool carries a tag.
    #[must_use]
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|t| t == tag)
    }

    /// Whether a call may change anything outside the session.
    #[must_use]
    pub fn may_change(&self) -> bool {
        self.permission == Permission::Write || self.has_tag(Self::DANGEROUS)
    }
}

/// What a tool answers, in the contract's form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// The call this answers (TYP-3).
    pub tool_call_id: ToolCallId,
    /// Canonical name of the tool.
    pub tool_name: String,
    /// What the model is shown.
    pub content: Vec<ContentBlock>,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Set when `is_error`.
    #[serde(default)]
    pub error: Option<ErrorPayload>,
    /// Facts for programs.
    #[serde(default)]
    pub metadata: Object,
}

/// Wraps what a plain handler returns (TYP-3): a string becomes text, nothing becomes no content, anything else JSON.
impl From<Value> for ContentBlock {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            other => Self::json(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// STO-13: the bytes of a definition, which prefix caches and stored hashes depend on, are the contract's six fields in their
    /// order.
    #[test]
    fn a_definition_has_the_contracts_bytes() {
        let definition = ToolDefinition {
            name: "x.y".to_owned(),
            description: "Looks.".to_owned(),
            input_schema: json!({"type": "object"}),
            permission: Permission::Readonly,
            tags: vec!["readonly".to_owned()],
            metadata: Object::new(),
        };
        assert_eq!(
            serde_json::to_string(&definition).unwrap(),
            r#"{"name":"x.y","description":"Looks.","input_schema":{"type":"object"},"permission":"readonly","tags":["readonly"],"metadata":{}}"#
        );
    }

    /// TYP-3: plain values are wrapped.
    #[test]
    fn plain_values_become_blocks() {
        assert_eq!(ContentBlock::from(json!("hi")), ContentBlock::text("hi"));
        for value in [json!({"a": 1}), json!([1, 2]), json!(3), json!(true), json!(null)] {
            assert_eq!(ContentBlock::from(value.clone()), ContentBlock::json(value));
        }
    }
}
