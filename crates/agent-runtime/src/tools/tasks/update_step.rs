//! `agent.task_update_step` (TSK-19).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tasks::{StepId, StepStatus, StepUpdate, TaskId};
use agent_tool::{CallContext, TaskChange, ToolOutput};
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

/// Sets how far a step is and what came of it. Workers: the step they claimed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    task_id: String,
    step_id: String,
    #[serde(default)]
    #[schemars(schema_with = "statuses::set_on_steps")]
    status: Option<StepStatus>,
    /// All so far; replaces what was there.
    result_summary: Option<String>,
    /// All so far.
    artifact_ids: Option<Vec<String>>,
    /// Why blocked, failed or cancelled.
    reason: Option<String>,
}

impl Input {
    fn read(self) -> Result<(TaskId, StepId, StepUpdate), Wrong> {
        let Self { task_id, step_id, status, result_summary, artifact_ids, reason } = self;
        let artifact_ids = artifact_ids.map(|texts| ids::artifact_ids(&texts)).transpose()?;
        let update = StepUpdate { status, result_summary, artifact_ids, reason };
        Ok((ids::task_id(&task_id)?, ids::step_id("step_id", &step_id)?, update))
    }
}

pub(super) struct UpdateStep;

impl PortTool for UpdateStep {
    type Input = Input;
    const NAME: &'static str = "agent.task_update_step";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = BOTH;
    const CLASS: ToolClass = ToolClass::Ordered;

    fn about(input: &Input) -> String {
        let status = input.status.map_or_else(String::new, |status| format!(": {status}"));
        format!("{} of {}{status}", input.step_id, input.task_id)
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let (task_id, step_id, update) = input.read().map_err(|wrong| invalid(Self::NAME, &wrong))?;
            let written = context.tasks.change(task_id, TaskChange::UpdateStep(step_id, update)).await?;
            let line = written.step.as_ref().map_or("", |step| step.status.as_str());
            let result = show::with_status(&written, Room::of(&context));
            Ok(ToolOutput::value(result).summary(line))
        }
        .boxed()
    }
}
