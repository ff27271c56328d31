//! `agent.task_create` (TSK-16).

use agent_protocol::{ErrorPayload, ToolClass, ToolRoles};
use agent_tool::{CallContext, NewTask, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::roles::{ORCHESTRATOR, TAGS};
use super::show;
use super::step_input::StepInput;
use crate::tools::arguments::invalid;
use crate::tools::ids::{self, Wrong};
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// Makes a task: steps that workers take when what they depend on is completed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// a-z, 0-9, _ and -.
    task_id: String,
    /// Name of its log file, a-z, 0-9, _ and -.
    wal_name: String,
    /// One line.
    title: String,
    /// What it is about.
    summary: String,
    steps: Vec<StepInput>,
}

impl Input {
    fn read(self) -> Result<NewTask, Wrong> {
        let Self { task_id, wal_name, title, summary, steps } = self;
        let step = |(at, step): (usize, StepInput)| step.read(&format!("steps[{at}]"));
        Ok(NewTask {
            task_id: ids::task_id(&task_id)?,
            wal_name: ids::wal_name(&wal_name)?,
            title,
            summary,
            steps: steps.into_iter().enumerate().map(step).collect::<Result<_, _>>()?,
        })
    }
}

pub(super) struct Create;

impl PortTool for Create {
    type Input = Input;
    const NAME: &'static str = "agent.task_create";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = ORCHESTRATOR;
    const CLASS: ToolClass = ToolClass::Ordered;

    fn about(input: &Input) -> String {
        format!("{}, {} steps", input.task_id, input.steps.len())
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let new = input.read().map_err(|wrong| invalid(Self::NAME, &wrong))?;
            let written = context.tasks.create(new).await?;
            let mut result = show::written(&written, Room::of(&context));
            result.insert("wal_path".to_owned(), written.wal_path.as_str().into());
            Ok(ToolOutput::value(result).summary(show::line(&written.task)))
        }
        .boxed()
    }
}
