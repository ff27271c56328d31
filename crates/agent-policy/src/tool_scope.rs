//! Which of the registered tools a run may use at all (TOL-4).

use std::{collections::HashSet, fmt};

use agent_protocol::{AgentRole, Permission, ToolDefinition};

use crate::decision::{PolicySettings, Stance};

/// What narrows the registry down to the effective tool set of a run: the hard permission boundary. Nothing widens it.
#[derive(Debug, Clone, Copy)]
pub struct ToolScope<'a> {
    /// The part the agent plays.
    pub role: AgentRole,
    /// `tools.disabled`.
    pub disabled: &'a HashSet<String>,
    /// `[permissions]`: what they deny in every case is not offered.
    pub policy: &'a PolicySettings,
    /// The tools a child was started with; absent where nobody asked for fewer (AGT-8).
    pub requested: Option<&'a HashSet<String>>,
}

/// Why a registered tool is not in the set. The first four are the contract's reasons of unavailability (AGD-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Withheld {
    /// `tools.disabled` names it.
    DisabledByConfig,
    /// `[permissions]` deny every call of it.
    PermissionDenied,
    /// The mode of the run has no use for it.
    ModeRestricted,
    /// No agent of this kind gets it.
    PolicyRestricted,
    /// The agent was started with other tools.
    NotRequested,
}

impl Withheld {
    /// The contract's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DisabledByConfig => "disabled_by_config",
            Self::PermissionDenied => "permission_denied",
            Self::ModeRestricted => "mode_restricted",
            Self::PolicyRestricted => "policy_restricted",
            Self::NotRequested => "not_requested",
        }
    }
}

/// For people.
impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DisabledByConfig => "tools.disabled names it",
            Self::PermissionDenied => "[permissions] deny every call of it",
            Self::ModeRestricted => "this mode does not use it",
            Self::PolicyRestricted => "agents of this kind do not get it",
            Self::NotRequested => "the agent was started without it",
        })
    }
}

impl ToolScope<'_> {
    /// Why the tool is not in the set; nothing if it is.
    #[must_use]
    pub fn withholds(&self, definition: &ToolDefinition) -> Option<Withheld> {
        let name = definition.name.as_str();
        if self.disabled.contains(name) {
            return Some(Withheld::DisabledByConfig);
        }
        if !role_may_use(self.role, name) {
            let own = matches!(self.role, AgentRole::Main | AgentRole::Orchestrator);
            return Some(if own { Withheld::ModeRestricted } else { Withheld::PolicyRestricted });
        }
        if self.always_denied(definition) {
            return Some(Withheld::PermissionDenied);
        }
        self.requested.is_some_and(|requested| !requested.contains(name)).then_some(Withheld::NotRequested)
    }

    fn always_denied(&self, definition: &ToolDefinition) -> bool {
        let reads_only = definition.permission == Permission::Readonly && self.policy.readonly == Stance::Deny;
        let network = &self.policy.network;
        let no_host_is_left = definition.has_tag(ToolDefinition::NETWORK)
            && network.default == Stance::Deny
            && network.trusted.is_empty();
        !definition.is_of_core() && (reads_only || no_host_is_left)
    }
}

/// The table of roles (11-agents): children get nothing that makes plans, tasks or further children. What the table does not
/// name is open to everybody.
fn role_may_use(role: AgentRole, name: &str) -> bool {
    use AgentRole::{Main, Orchestrator, Worker};
    match name {
        "agent.plan_template" | "agent.list_agent_definitions" | "internal.recall_memory" => {
            matches!(role, Main | Orchestrator)
        }
        "agent.create_sub_agent" | "agent.fork_agent" => role == Main,
        "agent.list_workers"
        | "agent.dispatch_worker"
        | "agent.task_template"
        | "agent.task_create"
        | "agent.task_list"
        | "agent.task_update"
        | "agent.task_complete"
        | "agent.task_fail"
        | "agent.task_cancel" => role == Orchestrator,
        "agent.task_get" | "agent.task_query_steps" | "agent.task_update_step" => matches!(role, Orchestrator | Worker),
        "agent.task_claim_step" => role == Worker,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
