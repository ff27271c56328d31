//! What the tools of agents have in common: who gets them, and what kind they are.

use agent_protocol::{AgentRole, ToolRoles};

/// What kind of tools they are.
pub(super) const TAGS: &[&str] = &["agent"];
/// Who has workers.
pub(super) const ORCHESTRATOR: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator]);
/// Who makes children.
pub(super) const MAIN: ToolRoles = ToolRoles::only(&[AgentRole::Main]);
