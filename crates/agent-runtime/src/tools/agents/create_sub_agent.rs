//! `agent.create_sub_agent` (AGT-2).

use agent_protocol::{ErrorPayload, Object, ToolClass, ToolRoles};
use agent_tool::{CallContext, ChildKind, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{self, ChildArguments, JsonObject};
use super::report;
use super::roles::{MAIN, TAGS};
use crate::tools::port_tool::PortTool;

/// Has another agent do one job and returns its answer. It knows only what you write here.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    agent_definition_id: Option<String>,
    /// The whole job.
    task: String,
    /// What it must know.
    context: Option<String>,
    /// What it must keep to.
    constraints: Option<String>,
    /// In place of its default, tools that only read.
    allowed_tools: Option<Vec<String>>,
    /// JSON schema of the answer.
    expected_output_schema: Option<JsonObject>,
    timeout_ms: Option<u64>,
}

pub(super) struct Create;

impl PortTool for Create {
    type Input = Input;
    const NAME: &'static str = "agent.create_sub_agent";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = MAIN;
    const CLASS: ToolClass = ToolClass::Agent;

    fn about(input: &Input) -> String {
        arguments::about(&input.task)
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let Input { agent_definition_id, task, context: known, constraints, .. } = input;
            let Input { allowed_tools, expected_output_schema, timeout_ms, .. } = input;
            let wanted = ChildArguments {
                agent_definition_id,
                task,
                context: known,
                constraints,
                allowed_tools,
                expected_output_schema,
                timeout_ms,
            };
            let child = context.children.run(wanted.task(Self::NAME, ChildKind::Sub)?).await?;
            Ok(report::output(child, Object::new(), context).await)
        }
        .boxed()
    }
}
