//! `agent.task_claim_step` (TSK-18).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tool::{CallContext, TaskChange, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::roles::{TAGS, WORKER};
use super::show;
use crate::tools::arguments::invalid;
use crate::tools::ids;
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// Takes a ready step. It is yours until you set its status with agent.task_update_step; one run takes one step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    task_id: String,
    step_id: String,
}

pub(super) struct ClaimStep;

impl PortTool for ClaimStep {
    type Input = Input;
    const NAME: &'static str = "agent.task_claim_step";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = WORKER;
    const CLASS: ToolClass = ToolClass::Ordered;

    fn about(input: &Input) -> String {
        format!("{} of {}", input.step_id, input.task_id)
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let wrong = |wrong: ids::Wrong| invalid(Self::NAME, &wrong);
            let task_id = ids::task_id(&input.task_id).map_err(wrong)?;
            let step_id = ids::step_id("step_id", &input.step_id).map_err(wrong)?;
            let written = context.tasks.change(task_id, TaskChange::Claim(step_id)).await?;
            let result = show::with_step(&written, Room::of(&context)).stored(&context).await;
            Ok(ToolOutput::value(result).summary("claimed"))
        }
        .boxed()
    }
}
