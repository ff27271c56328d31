//! `agent.task_get` (TSK-14).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tool::{CallContext, TaskLook, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::query_steps::QuerySteps;
use super::roles::{BOTH, TAGS};
use super::show;
use crate::tools::arguments::invalid;
use crate::tools::ids;
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// More steps than this are read with agent.task_query_steps.
const MOST_STEPS: usize = 200;

/// Shows a task and its steps, also one that has ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    task_id: String,
    /// Also completed, failed and cancelled steps.
    #[serde(default)]
    include_terminal_steps: bool,
}

pub(super) struct Get;

impl PortTool for Get {
    type Input = Input;
    const NAME: &'static str = "agent.task_get";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = BOTH;
    const CLASS: ToolClass = ToolClass::Readonly;

    fn about(input: &Input) -> String {
        input.task_id.clone()
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let task_id = ids::task_id(&input.task_id).map_err(|wrong| invalid(Self::NAME, &wrong))?;
            let look = TaskLook { include_terminal: input.include_terminal_steps, limit: MOST_STEPS };
            let found = context.tasks.get(task_id, look).await?;
            let line = show::line(&found.task.task);
            let (terminal, room) = (look.include_terminal, Room::of(&context));
            let result = show::with_task(&found, terminal, QuerySteps::NAME, room).stored(&context).await;
            Ok(ToolOutput::value(result).summary(line))
        }
        .boxed()
    }
}
