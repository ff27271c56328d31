//! `agent.plan_template` and `agent.task_template` (PLN-1, PLN-2): packaged instructions, filled in and handed over. Neither
//! makes anything: the model writes the plan, or the task, with other tools.

use std::path::PathBuf;

use agent_engine::keys;
use agent_library::{Asset, AssetId};
use agent_protocol::{AgentRole, ContentBlock, ErrorCode, ErrorPayload, NodeType, Object, ToolRoles};
use agent_tool::{CallContext, ContextNode, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::CoreTool;
use super::target::target;

/// A goal is so long at most. Characters.
const MAX_GOAL: usize = 2000;

/// The goal where the model names none.
const NO_GOAL: &str = "what the user asks for in their current message";

/// Gives instructions for writing a plan file. For when the user wants a plan.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanInput {
    goal: Option<String>,
    suggested_dir: Option<String>,
}

/// Hands out the instructions for a plan.
pub(super) struct PlanTemplate {
    /// N of `template.plan.N`.
    pub(super) template: String,
    pub(super) project: PathBuf,
    /// Where plans go by default.
    pub(super) folder: PathBuf,
}

impl CoreTool for PlanTemplate {
    type Input = PlanInput;
    const NAME: &'static str = "agent.plan_template";
    const TAGS: &'static [&'static str] = &["agent", "plan", "readonly"];
    const ROLES: ToolRoles = ToolRoles::ROOT;

    fn about(&self, input: &PlanInput) -> String {
        one_line(input.goal.as_deref().unwrap_or_default())
    }

    fn run(&self, input: PlanInput, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
        let suggested = input.suggested_dir.as_deref();
        let target = target(suggested, &self.folder, &self.project)
            .map_err(|error| ErrorPayload::new(ErrorCode::ValidationError, error.to_string()))?;
        let (template, goal) = (self.packaged()?, goal(input.goal.as_deref()));
        let text = template.fill(&[("goal", &goal), ("target", &target)]);
        let mut metadata = metadata(&template, &goal, context);
        metadata.insert("target_dir".to_owned(), target.as_str().into());
        let result = json!({ "template": template.source(), "target_dir": target });
        let output = ToolOutput::value(result).summary(format!("for {target}"));
        Ok(handed_over(output, &template, NodeType::PlanInstruction, text, metadata))
    }
}

impl PlanTemplate {
    /// The configuration is checked when it is read, so this fails only for who builds a runtime without one.
    fn packaged(&self) -> Result<Asset, ErrorPayload> {
        let id = format!("template.plan.{}", self.template);
        let found = AssetId::find(&id).ok_or_else(|| {
            let message = format!("there is no packaged text `{id}`; set plan.template_name to \"default\"");
            ErrorPayload::new(ErrorCode::ConfigError, message)
        });
        found.map(AssetId::load)
    }
}

/// Gives instructions for laying out work as a task with steps for workers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskInput {
    goal: Option<String>,
}

/// Hands out the instructions for a task.
pub(super) struct TaskTemplate;

impl CoreTool for TaskTemplate {
    type Input = TaskInput;
    const NAME: &'static str = "agent.task_template";
    const TAGS: &'static [&'static str] = &["agent", "task", "readonly"];
    const ROLES: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator]);

    fn about(&self, input: &TaskInput) -> String {
        one_line(input.goal.as_deref().unwrap_or_default())
    }

    fn run(&self, input: TaskInput, context: &CallContext) -> Result<ToolOutput, ErrorPayload> {
        let (template, goal) = (AssetId::TemplateTaskDag.load(), goal(input.goal.as_deref()));
        let text = template.fill(&[("goal", &goal)]);
        let output = ToolOutput::value(json!({ "template": template.source() }));
        let metadata = metadata(&template, &goal, context);
        Ok(handed_over(output, &template, NodeType::TaskInstruction, text, metadata))
    }
}

/// The output of a call with its node; both name the template and its version (AST-1).
fn handed_over(
    output: ToolOutput,
    template: &Asset,
    node_type: NodeType,
    text: String,
    metadata: Object,
) -> ToolOutput {
    let entry = ContextNode { node_type, content: vec![ContentBlock::text(text)], metadata };
    let output = output.with(TEMPLATE_ID, template.id.as_str()).with(TEMPLATE_VERSION, template.version);
    ToolOutput { context: vec![entry], ..output }
}

const TEMPLATE_ID: &str = "template_id";
const TEMPLATE_VERSION: &str = "template_version";

fn metadata(template: &Asset, goal: &str, context: &CallContext) -> Object {
    Object::from_iter([
        (TEMPLATE_ID.to_owned(), template.id.as_str().into()),
        (TEMPLATE_VERSION.to_owned(), template.version.into()),
        ("goal".to_owned(), goal.into()),
        (keys::TOOL_CALL_ID.to_owned(), context.tool_call_id.as_str().into()),
    ])
}

fn goal(words: Option<&str>) -> String {
    let words = one_line(words.unwrap_or_default());
    if words.is_empty() { NO_GOAL.to_owned() } else { words }
}

/// Runs of blanks and line ends become one space, other control characters go.
fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(MAX_GOAL).collect()
}
