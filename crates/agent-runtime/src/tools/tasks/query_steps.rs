//! `agent.task_query_steps` (TSK-13).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tasks::{StepStatus, TaskId};
use agent_tool::{CallContext, StepQuery, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::roles::{BOTH, TAGS};
use super::show;
use super::statuses;
use crate::tools::arguments::invalid;
use crate::tools::ids::{self, Wrong};
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// Lists steps of a task. Workers see ready steps that they may claim.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    task_id: String,
    #[serde(default)]
    #[schemars(schema_with = "statuses::lists_of_steps")]
    statuses: Option<Vec<StepStatus>>,
    worker_pool_id: Option<String>,
    claimed_by_agent_id: Option<String>,
    /// Also completed, failed and cancelled steps.
    #[serde(default)]
    include_terminal_steps: bool,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    #[serde(default)]
    offset: u32,
}

pub(super) fn fifty() -> u32 {
    50
}

impl Input {
    fn read(self) -> Result<(TaskId, StepQuery), Wrong> {
        let agent = self.claimed_by_agent_id.as_deref().filter(|text| !text.is_empty());
        let query = StepQuery {
            statuses: self.statuses.into_iter().flatten().collect(),
            worker_pool_id: ids::pool_id("worker_pool_id", self.worker_pool_id.as_deref())?,
            claimed_by_agent_id: agent.map(|text| ids::agent_id("claimed_by_agent_id", text)).transpose()?,
            include_terminal: self.include_terminal_steps,
            limit: self.limit as usize,
            offset: self.offset as usize,
        };
        Ok((ids::task_id(&self.task_id)?, query))
    }
}

pub(super) struct QuerySteps;

impl PortTool for QuerySteps {
    type Input = Input;
    const NAME: &'static str = "agent.task_query_steps";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = BOTH;
    const CLASS: ToolClass = ToolClass::Readonly;

    fn about(input: &Input) -> String {
        input.task_id.clone()
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let (task_id, query) = input.read().map_err(|wrong| invalid(Self::NAME, &wrong))?;
            let found = context.tasks.steps(task_id, query.clone()).await?;
            let line = format!("{} of {}", found.steps.len(), found.total);
            let result = show::steps(&found, &query, Room::of(&context)).stored(&context).await;
            Ok(ToolOutput::value(result).summary(line))
        }
        .boxed()
    }
}
