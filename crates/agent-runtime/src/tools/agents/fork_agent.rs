//! `agent.fork_agent` (AGT-2).

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

/// Has an agent that knows this conversation do one job beside you, as agent.create_sub_agent does.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    agent_definition_id: Option<String>,
    task: String,
    constraints: Option<String>,
    allowed_tools: Option<Vec<String>>,
    expected_output_schema: Option<JsonObject>,
    timeout_ms: Option<u64>,
}

pub(super) struct Fork;

impl PortTool for Fork {
    type Input = Input;
    const NAME: &'static str = "agent.fork_agent";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = MAIN;
    const CLASS: ToolClass = ToolClass::Agent;

    fn about(input: &Input) -> String {
        arguments::about(&input.task)
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let Input { agent_definition_id, task, constraints, allowed_tools, expected_output_schema, timeout_ms } =
                input;
            let wanted = ChildArguments {
                agent_definition_id,
                task,
                context: None,
                constraints,
                allowed_tools,
                expected_output_schema,
                timeout_ms,
            };
            let child = context.children.run(wanted.task(Self::NAME, ChildKind::Fork)?).await?;
            Ok(report::output(child, Object::new(), context).await)
        }
        .boxed()
    }
}
