//! `agent.task_list` (TSK-14).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tasks::TaskStatus;
use agent_tool::{CallContext, TaskQuery, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::query_steps::fifty;
use super::roles::{ORCHESTRATOR, TAGS};
use super::show;
use super::statuses;
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// Lists the tasks of this session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(default)]
    #[schemars(schema_with = "statuses::of_tasks")]
    status: Option<TaskStatus>,
    /// Also completed, failed and cancelled tasks.
    #[serde(default)]
    include_terminal: bool,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
    #[serde(default)]
    offset: u32,
}

pub(super) struct List;

impl PortTool for List {
    type Input = Input;
    const NAME: &'static str = "agent.task_list";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = ORCHESTRATOR;
    const CLASS: ToolClass = ToolClass::Readonly;

    fn about(input: &Input) -> String {
        input.status.map_or("", TaskStatus::as_str).to_owned()
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let query = TaskQuery {
                status: input.status,
                include_terminal: input.include_terminal,
                limit: input.limit as usize,
                offset: input.offset as usize,
            };
            let found = context.tasks.list(query).await?;
            let line = match found.tasks.len() {
                1 => "1 task".to_owned(),
                count => format!("{count} tasks"),
            };
            Ok(ToolOutput::value(show::tasks(&found, query, Room::of(&context))).summary(line))
        }
        .boxed()
    }
}
