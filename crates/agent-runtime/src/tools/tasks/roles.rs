//! What the tools of Tasks have in common: who gets them, and what kind they are. What changes a Task keeps its place among the calls
//! of a reply; looks may run beside each other.

use agent_protocol::{AgentRole, ToolRoles};

/// What kind of tools they are.
pub(super) const TAGS: &[&str] = &["agent", "task"];
/// Who makes, changes and ends Tasks.
pub(super) const ORCHESTRATOR: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator]);
/// Who takes steps.
pub(super) const WORKER: ToolRoles = ToolRoles::only(&[AgentRole::Worker]);
/// Both.
pub(super) const BOTH: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator, AgentRole::Worker]);
