//! Core's own tools: those that bring something into the conversation (skills, and the instructions for plans and tasks), those of
//! other agents, and those of Tasks.
//!
//! None of them changes anything outside of the session. What one brings is a node after the results of its reply ([`ContextNode`]), which
//! the model sees in a frame, in the user's place and never in the system part (CTX-3).

mod agents;
mod arguments;
mod core_tool;
mod cut;
mod ids;
mod load_skill;
mod port_tool;
mod room;
mod target;
mod tasks;
mod templates;

use std::path::PathBuf;
use std::sync::Arc;

#[cfg(doc)]
use agent_tool::ContextNode;
use agent_tool::Tool;

use core_tool::{Core, CoreTool};
use load_skill::LoadSkill;
use templates::{PlanTemplate, TaskTemplate};

/// What core's own tools work with.
#[derive(Debug, Clone)]
pub struct CoreToolSettings {
    /// The project folder, resolved.
    pub project: PathBuf,
    /// The folder of the user's skills; it need not exist.
    pub skills_dir: PathBuf,
    /// Room for one skill as the model sees it, in estimated tokens. A longer one is cut. With more than
    /// [`Budgets::pinned`](agent_engine::Budgets::pinned) a skill would not stay when what is around it goes.
    pub skill_tokens: u64,
    /// Name of the packaged plan template: N is `template.plan.N` (PLN-4).
    pub plan_template: String,
    /// Where plans go unless the model is told another place.
    pub plans_dir: PathBuf,
}

/// Core's own tools, ready to be registered. Which of them a run gets is decided elsewhere (TOL-4).
#[must_use]
pub fn core_tools(settings: &CoreToolSettings) -> Vec<Arc<dyn Tool>> {
    let skills = LoadSkill { folder: settings.skills_dir.clone(), room: settings.skill_tokens };
    let plans = PlanTemplate {
        template: settings.plan_template.clone(),
        project: settings.project.clone(),
        folder: settings.plans_dir.clone(),
    };
    let mut tools = vec![Core::shared(skills), Core::shared(plans), Core::shared(TaskTemplate)];
    tools.extend(agents::agent_tools());
    tools.extend(tasks::task_tools());
    tools
}

#[cfg(test)]
mod tests;
