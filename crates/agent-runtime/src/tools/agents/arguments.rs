//! What the tools that start an agent take alike: a task, tools, a form for the answer, a time.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use agent_protocol::{ContentBlock, ErrorPayload, Object};
use agent_tool::{ChildDefinition, ChildKind, ChildTask};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::tools::arguments::invalid;

/// A longer time is a slip: a call that waits for days is no call any more.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Any JSON object.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct JsonObject(pub(super) Object);

impl JsonSchema for JsonObject {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // That its fields may be any is not in the subset of JSON Schema that every provider takes, and goes without saying.
        json_schema!({ "type": "object" })
    }
}

/// What a child is to be and to do, as a call says it.
pub(super) struct ChildArguments {
    pub(super) agent_definition_id: Option<String>,
    pub(super) task: String,
    pub(super) context: Option<String>,
    pub(super) constraints: Option<String>,
    pub(super) allowed_tools: Option<Vec<String>>,
    pub(super) expected_output_schema: Option<JsonObject>,
    pub(super) timeout_ms: Option<u64>,
}

impl ChildArguments {
    pub(super) fn task(self, tool: &str, kind: ChildKind) -> Result<ChildTask, ErrorPayload> {
        Ok(ChildTask {
            kind,
            task: message((tool, "task"), &self.task, self.context.as_deref(), self.constraints.as_deref())?,
            definition: self.agent_definition_id.map(ChildDefinition::Named),
            allowed_tools: self.allowed_tools.map(names),
            output_schema: self.expected_output_schema.map(|JsonObject(schema)| schema),
            timeout: timeout(tool, self.timeout_ms)?,
        })
    }
}

/// What an agent is told in the user's place: what it is to do, and then what it needs to know and to keep to.
pub(super) fn message(
    (tool, field): (&str, &str),
    task: &str,
    context: Option<&str>,
    constraints: Option<&str>,
) -> Result<Vec<ContentBlock>, ErrorPayload> {
    if task.trim().is_empty() {
        return Err(invalid(tool, &format!("`{field}` is empty: say what is to be done")));
    }
    let part = |heading: &str, text: Option<&str>| {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(ContentBlock::text(format!("{heading}:\n{text}")))
    };
    let parts = [part("Context", context), part("Constraints", constraints)];
    Ok(std::iter::once(ContentBlock::text(task)).chain(parts.into_iter().flatten()).collect())
}

/// Names of tools; one named twice is named once.
pub(super) fn names(names: Vec<String>) -> HashSet<String> {
    names.into_iter().collect()
}

pub(super) fn timeout(tool: &str, millis: Option<u64>) -> Result<Option<Duration>, ErrorPayload> {
    let Some(millis) = millis else { return Ok(None) };
    let time = Duration::from_millis(millis);
    if time.is_zero() || time > MAX_TIMEOUT {
        let most = MAX_TIMEOUT.as_millis();
        return Err(invalid(tool, &format!("`timeout_ms` must be from 1 to {most} (24 hours), got {millis}")));
    }
    Ok(Some(time))
}

/// What a call is about, in one line.
pub(super) fn about(task: &str) -> String {
    task.trim().lines().next().unwrap_or_default().to_owned()
}
