//! `agent.task_complete`, `agent.task_fail` and `agent.task_cancel` (TSK-7).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tool::{CallContext, TaskChange, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::roles::{ORCHESTRATOR, TAGS};
use super::show;
use crate::tools::arguments::invalid;
use crate::tools::ids;
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// Ends a task whose required steps are all completed. Optional steps that nobody began are cancelled.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteInput {
    task_id: String,
    result_summary: Option<String>,
}

/// Ends a task without success: its workers are stopped, and its unfinished steps fail. That is final.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FailInput {
    task_id: String,
    reason: Option<String>,
}

/// Gives a task up: its workers are stopped, and its unfinished steps are cancelled. That is final.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelInput {
    task_id: String,
    reason: Option<String>,
}

macro_rules! ends {
    ($($tool:ident($input:ident, $words:ident) { $name:item })*) => {$(
        pub(super) struct $tool;

        impl PortTool for $tool {
            type Input = $input;
            $name
            const TAGS: &'static [&'static str] = TAGS;
            const ROLES: ToolRoles = ORCHESTRATOR;
            const CLASS: ToolClass = ToolClass::Ordered;

            fn about(input: &$input) -> String {
                input.task_id.clone()
            }

            fn run(input: $input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
                end(Self::NAME, input.task_id, TaskChange::$tool(input.$words), context).boxed()
            }
        }
    )*};
}

ends! {
    Complete(CompleteInput, result_summary) {
        const NAME: &'static str = "agent.task_complete";
    }
    Fail(FailInput, reason) {
        const NAME: &'static str = "agent.task_fail";
    }
    Cancel(CancelInput, reason) {
        const NAME: &'static str = "agent.task_cancel";
    }
}

async fn end(name: &str, task_id: String, end: TaskChange, context: CallContext) -> Result<ToolOutput, ErrorPayload> {
    let task_id = ids::task_id(&task_id).map_err(|wrong| invalid(name, &wrong))?;
    let written = context.tasks.change(task_id, end).await?;
    let result = show::written(&written, Room::of(&context));
    Ok(ToolOutput::value(result).summary(show::line(&written.task)))
}
