//! JSON Schemas of the boundary types, generated from the types and never written twice (API-8).

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{
    AgentDefinition, ContentBlock, ErrorPayload, Node, PermissionDecision, PermissionRequest, Reply, RuntimeEvent,
    ToolDefinition, ToolResult,
};

/// A boundary type's name and its JSON Schema (draft 2020-12).
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The type's name.
    pub name: &'static str,
    /// Its schema.
    pub schema: Value,
}

/// The schemas of the types that cross a boundary as JSON.
#[must_use]
pub fn boundary_schemas() -> Vec<Schema> {
    macro_rules! schemas {
        ($($name:ident),* $(,)?) => {
            vec![$(Schema {
                name: stringify!($name),
                schema: SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<$name>().to_value(),
            }),*]
        };
    }
    schemas![
        ContentBlock,
        ToolDefinition,
        ToolResult,
        RuntimeEvent,
        PermissionRequest,
        PermissionDecision,
        AgentDefinition,
        ErrorPayload,
        Node,
        Reply,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// API-8: the schemas in `docs/schemas` are those of the types. `UPDATE_DOCS=1` writes them anew.
    #[test]
    fn documented_schemas_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        for Schema { name, schema } in boundary_schemas() {
            let path = folder.join(format!("{name}.json"));
            let text = format!("{:#}\n", schema);
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let stored = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(stored == text, "{} is stale: run the tests with UPDATE_DOCS=1", path.display());
        }
    }

    /// API-12, TYP-6: every field of the contract is there; what is not used yet stays.
    #[test]
    fn the_contracts_fields_are_there() {
        let contract = [
            ("ToolResult", "tool_call_id tool_name content is_error error metadata"),
            (
                "RuntimeEvent",
                "event_id seq run_seq session_id agent_id run_id level event_type node_id tool_call_id payload created_at",
            ),
            ("PermissionDecision", "decision reason metadata"),
            (
                "AgentDefinition",
                "agent_definition_id name description body model_profile suggested_tools tags overrides source metadata",
            ),
            ("ToolDefinition", "name description input_schema permission tags metadata"),
            ("ErrorPayload", "type code message retryable details redacted"),
        ];
        for (name, fields) in contract {
            let schema = boundary_schemas().into_iter().find(|schema| schema.name == name).unwrap().schema;
            let mut ours: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
            let mut theirs: Vec<_> = fields.split(' ').map(str::to_owned).collect();
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs, "{name}");
        }
        let block = schemars::schema_for!(crate::PromptBlock).to_value();
        for field in ["block_id", "source", "content", "priority", "dynamic", "token_count", "metadata"] {
            assert!(block["properties"].get(field).is_some(), "{field}");
        }
    }

    /// API-8: objects of boundary types are closed.
    #[test]
    fn boundary_objects_refuse_unknown_fields() {
        for Schema { name, schema } in boundary_schemas() {
            if schema.get("properties").is_some() && schema.get("oneOf").is_none() {
                assert_eq!(schema["additionalProperties"], Value::Bool(false), "{name}");
            }
        }
    }
}
