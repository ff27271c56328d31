//! `agent.task_update` (TSK-9, TSK-17).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tool::{CallContext, TaskChange, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::operations::OperationInput;
use super::roles::{ORCHESTRATOR, TAGS};
use super::show;
use crate::tools::arguments::invalid;
use crate::tools::ids;
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// Changes a task by operations, in order, all or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    task_id: String,
    operations: Vec<OperationInput>,
}

pub(super) struct Update;

impl PortTool for Update {
    type Input = Input;
    const NAME: &'static str = "agent.task_update";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = ORCHESTRATOR;
    const CLASS: ToolClass = ToolClass::Ordered;

    fn about(input: &Input) -> String {
        format!("{}, {} operations", input.task_id, input.operations.len())
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let wrong = |wrong: ids::Wrong| invalid(Self::NAME, &wrong);
            let task_id = ids::task_id(&input.task_id).map_err(wrong)?;
            let operations = input.operations.into_iter().enumerate().map(|(at, operation)| operation.read(at));
            let operations = operations.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            let written = context.tasks.change(task_id, TaskChange::Update(operations)).await?;
            let result = show::written(&written, Room::of(&context));
            Ok(ToolOutput::value(result).summary(show::line(&written.task)))
        }
        .boxed()
    }
}
