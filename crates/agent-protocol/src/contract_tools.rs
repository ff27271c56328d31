//! The tools that the contract names, and which roles may have them (the table of roles in 11-agents).
//!
//! A tool that is registered says itself who gets it. This table is for names of tools that are not registered, since this
//! version or this configuration does not have them: an agent definition or a worker pool may name them all the same (AGD-3).

use crate::{AgentRole, ToolRoles};

/// The Orchestrator alone.
const ORCHESTRATOR: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator]);
/// Who makes children.
const MAIN: ToolRoles = ToolRoles::only(&[AgentRole::Main]);
/// Who works on the steps of a Task.
const STEPS: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator, AgentRole::Worker]);

/// Canonical name and roles of each tool of the contract.
pub const CONTRACT_TOOLS: &[(&str, ToolRoles)] = &[
    ("code.read_file", ToolRoles::ALL),
    ("code.list_dir", ToolRoles::ALL),
    ("code.search", ToolRoles::ALL),
    ("code.write_file", ToolRoles::CHILDREN_ON_REQUEST),
    ("code.edit_file", ToolRoles::CHILDREN_ON_REQUEST),
    ("code.run_command", ToolRoles::CHILDREN_ON_REQUEST),
    ("internal.load_skill", ToolRoles::ALL),
    ("internal.recall_memory", ToolRoles::ROOT),
    ("agent.list_agent_definitions", ToolRoles::ROOT),
    ("agent.create_sub_agent", MAIN),
    ("agent.fork_agent", MAIN),
    ("agent.list_workers", ORCHESTRATOR),
    ("agent.dispatch_worker", ORCHESTRATOR),
    ("agent.plan_template", ToolRoles::ROOT),
    ("agent.task_template", ORCHESTRATOR),
    ("agent.task_create", ORCHESTRATOR),
    ("agent.task_get", STEPS),
    ("agent.task_list", ORCHESTRATOR),
    ("agent.task_update", ORCHESTRATOR),
    ("agent.task_query_steps", STEPS),
    ("agent.task_claim_step", ToolRoles::only(&[AgentRole::Worker])),
    ("agent.task_update_step", STEPS),
    ("agent.task_complete", ORCHESTRATOR),
    ("agent.task_fail", ORCHESTRATOR),
    ("agent.task_cancel", ORCHESTRATOR),
];

/// Which roles may have the contract's tool of that name; nothing for other names.
#[must_use]
pub fn contract_tool(name: &str) -> Option<ToolRoles> {
    CONTRACT_TOOLS.iter().find(|(known, _)| *known == name).map(|(_, roles)| *roles)
}
