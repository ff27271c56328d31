//! Which of the registered tools a run may use at all (TOL-4).

use std::{collections::HashSet, fmt};

use agent_protocol::{AgentRole, Permission, RoleAccess, ToolDefinition, ToolDescriptor, UnavailableReason};

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
    /// The tools a child was started with, or those of a worker's entry; absent: the default set of the role (AGT-8).
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
        self.unavailable().map_or("not_requested", UnavailableReason::as_str)
    }

    /// The contract's reason; nothing where the agent could have had the tool.
    #[must_use]
    pub fn unavailable(self) -> Option<UnavailableReason> {
        match self {
            Self::DisabledByConfig => Some(UnavailableReason::DisabledByConfig),
            Self::PermissionDenied => Some(UnavailableReason::PermissionDenied),
            Self::ModeRestricted => Some(UnavailableReason::ModeRestricted),
            Self::PolicyRestricted => Some(UnavailableReason::PolicyRestricted),
            Self::NotRequested => None,
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
    /// Why the tool is not in the set; nothing if it is. Without a request the set is the role's default (AGT-8).
    #[must_use]
    pub fn withholds(&self, tool: &ToolDescriptor) -> Option<Withheld> {
        self.excludes(tool).or_else(|| {
            let is_in = match self.requested {
                Some(requested) => requested.contains(tool.name()),
                None => tool.roles.access(self.role) == RoleAccess::ByDefault,
            };
            (!is_in).then_some(Withheld::NotRequested)
        })
    }

    /// Why no request brings the tool into the set: it lies above the ceiling. Nothing if one can (AGT-3).
    #[must_use]
    pub fn excludes(&self, tool: &ToolDescriptor) -> Option<Withheld> {
        if self.disabled.contains(tool.name()) {
            return Some(Withheld::DisabledByConfig);
        }
        if tool.roles.access(self.role) == RoleAccess::Never {
            let own = matches!(self.role, AgentRole::Main | AgentRole::Orchestrator);
            return Some(if own { Withheld::ModeRestricted } else { Withheld::PolicyRestricted });
        }
        self.always_denied(tool).then_some(Withheld::PermissionDenied)
    }

    fn always_denied(&self, tool: &ToolDescriptor) -> bool {
        let definition = &tool.definition;
        let reads_only = definition.permission == Permission::Readonly && self.policy.readonly == Stance::Deny;
        let network = &self.policy.network;
        let no_host_is_left = definition.has_tag(ToolDefinition::NETWORK)
            && network.default == Stance::Deny
            && network.trusted.is_empty();
        !tool.is_of_core() && (reads_only || no_host_is_left)
    }
}

#[cfg(test)]
mod tests;
