//! `agent.dispatch_worker` (WRK-4, WRK-5, WRK-6).

use std::collections::BTreeSet;

use agent_protocol::task::StepStatus;
use agent_protocol::{ErrorPayload, Object, RunStatus, ToolClass, ToolRoles};
use agent_tool::{CallContext, Dispatch, DispatchReport, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{self, JsonObject};
use super::report;
use super::roles::{ORCHESTRATOR, TAGS};
use crate::tools::arguments::invalid;
use crate::tools::ids::{self, Wrong};
use crate::tools::port_tool::PortTool;
use crate::tools::room::Room;

/// The most of a result that the Task holds, where the worker says it once more. Bytes.
const MOST_SUMMARY: usize = 4_000;
/// Of a reason.
const MOST_REASON: usize = 600;

/// Sends a worker to do one step of a task, and waits for it. Several calls in one reply work side by side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    task_id: String,
    worker_pool_id: Option<String>,
    /// Of agent.list_workers; else the first idle one.
    worker_agent_id: Option<String>,
    /// The only steps it may claim.
    allowed_step_ids: Option<Vec<String>>,
    instruction: String,
    context: Option<String>,
    constraints: Option<String>,
    allowed_tools: Option<Vec<String>>,
    expected_output_schema: Option<JsonObject>,
    timeout_ms: Option<u64>,
}

impl Input {
    fn read(self, tool: &str) -> Result<Dispatch, ErrorPayload> {
        let wrong = |wrong: Wrong| invalid(tool, &wrong);
        let (context, constraints) = (self.context.as_deref(), self.constraints.as_deref());
        let worker = self.worker_agent_id.as_deref().filter(|text| !text.is_empty());
        let steps = self.allowed_step_ids.as_deref().map(|texts| ids::step_ids("allowed_step_ids", texts));
        let steps = steps.transpose().map_err(wrong)?.map(|ids| ids.into_iter().collect::<BTreeSet<_>>());
        Ok(Dispatch {
            task_id: ids::task_id(&self.task_id).map_err(wrong)?,
            pool_id: ids::pool_id("worker_pool_id", self.worker_pool_id.as_deref()).map_err(wrong)?,
            worker: worker.map(|text| ids::agent_id("worker_agent_id", text)).transpose().map_err(wrong)?,
            allowed_step_ids: steps,
            instruction: arguments::message((tool, "instruction"), &self.instruction, context, constraints)?,
            allowed_tools: self.allowed_tools.map(arguments::names),
            output_schema: self.expected_output_schema.map(|JsonObject(schema)| schema),
            timeout: arguments::timeout(tool, self.timeout_ms)?,
        })
    }
}

pub(super) struct DispatchWorker;

impl PortTool for DispatchWorker {
    type Input = Input;
    const NAME: &'static str = "agent.dispatch_worker";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = ORCHESTRATOR;
    const CLASS: ToolClass = ToolClass::Agent;

    fn about(input: &Input) -> String {
        format!("{}: {}", input.task_id, arguments::about(&input.instruction))
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let done = context.workers.dispatch(input.read(Self::NAME)?).await?;
            let more = step_of(&done, &Room::share_of(&context, MOST_REASON));
            Ok(report::output(done.child, more, context).await)
        }
        .boxed()
    }
}

/// What the Task says of the dispatch. On conflict it is the truth: a worker whose step did not end has not done what it was sent for,
/// whatever its last message says.
fn step_of(done: &DispatchReport, room: &Room) -> Object {
    let text = |text: &str, most: usize| room.share(3).at_most(most).text(text).text;
    let (child, status) = (&done.child, done.step_status);
    let mut more = Object::from_iter([
        ("worker_agent_id".to_owned(), child.agent_id.as_str().into()),
        ("child_run_id".to_owned(), child.run_id.as_str().into()),
        ("stream_id".to_owned(), child.run_id.as_str().into()),
        ("selection_reason".to_owned(), done.selection_reason.as_str().into()),
        ("claimed_step_id".to_owned(), done.claimed_step_id.as_ref().map(|id| id.as_str()).into()),
        ("step_status".to_owned(), status.map(StepStatus::as_str).into()),
        (
            "step_result_summary".to_owned(),
            done.step_result_summary.as_deref().map(|summary| text(summary, MOST_SUMMARY)).into(),
        ),
        ("no_step_claimed".to_owned(), done.no_step_claimed().into()),
    ]);
    if let Some(reason) = &done.step_reason {
        more.insert("step_reason".to_owned(), text(reason, MOST_REASON).into());
    }
    if let Some(error) = &done.task_error {
        let why = format!("what became of the step is not known: {}", error.message);
        more.insert("task_error".to_owned(), text(&why, MOST_REASON).into());
    }
    // A run that completed beside a step that did not end by it: the step counts.
    let is_conflict = child.status == RunStatus::Completed && status == Some(StepStatus::Failed);
    if is_conflict {
        more.insert("status".to_owned(), "failed".into());
    }
    more
}
