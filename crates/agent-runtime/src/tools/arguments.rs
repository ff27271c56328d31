//! What core's own tools take, of whichever kind they are: their definitions, and their arguments read.

use agent_protocol::{ErrorCode, ErrorPayload, Object, Permission, ToolDefinition};
use agent_tool::input_schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The definition of a tool that changes nothing outside the session.
pub(super) fn definition<T: JsonSchema>(name: &str, tags: &[&str]) -> ToolDefinition {
    let input = input_schema::<T>();
    ToolDefinition {
        name: name.to_owned(),
        description: input.description,
        input_schema: input.schema,
        permission: Permission::Readonly,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        metadata: Object::new(),
    }
}

/// The arguments of a call.
pub(super) fn read<T: DeserializeOwned>(tool: &str, arguments: Object) -> Result<T, ErrorPayload> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| invalid(tool, &error.to_string()))
}

/// Arguments that do not hold up.
pub(super) fn invalid(tool: &str, why: &str) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::ValidationError, format!("invalid arguments for {tool}: {why}"))
}
