//! What core knows of a tool beside the contract's definition: where it comes from, who may have it, what it needs.
//!
//! None of this is sent to a model, hashed or stored: the contract's six fields are ([`ToolDefinition`]).

use crate::{AgentRole, ToolClass, ToolDefinition};

/// Where a tool comes from. Whoever registers a tool sets it; a tool cannot claim one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOrigin {
    /// Core itself. These tools never ask (PRM-13), and what they bring joins the conversation.
    Core,
    /// Packaged with core: the file and command tools.
    Builtin,
    /// Registered by the embedding program.
    Program,
    /// Offered by an MCP server of the configuration.
    Mcp {
        /// The server's name in the configuration.
        server: String,
    },
}

impl ToolOrigin {
    /// What the names of core's own tools begin with.
    const CORE: [&'static str; 2] = ["agent.", "internal."];
    /// What the names of MCP servers' tools begin with; the server's name and a dot follow.
    const MCP: &'static str = "mcp.";

    /// Whether a tool from here may have this name: core's prefixes are core's alone, `mcp.<server>.` is that server's (TOL-1).
    #[must_use]
    pub fn may_use_name(&self, name: &str) -> bool {
        let of_core = Self::CORE.iter().any(|prefix| name.starts_with(prefix));
        match self {
            Self::Core => of_core,
            Self::Builtin | Self::Program => !of_core && !name.starts_with(Self::MCP),
            Self::Mcp { server } => {
                let rest = name.strip_prefix(Self::MCP).and_then(|rest| rest.strip_prefix(server.as_str()));
                rest.and_then(|rest| rest.strip_prefix('.')).is_some_and(|tool| !tool.is_empty())
            }
        }
    }
}

/// Whether the agents of a role get a tool (AGT-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoleAccess {
    /// Not at all: it lies above the role's ceiling.
    Never,
    /// Only those that were started with it by name (`allowed_tools`).
    OnRequest,
    /// All of them.
    ByDefault,
}

/// Which roles get a tool: the ceiling of each role is what is not [`RoleAccess::Never`], its default set what is
/// [`RoleAccess::ByDefault`] (11-agents, AGT-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRoles {
    main: RoleAccess,
    orchestrator: RoleAccess,
    sub: RoleAccess,
    fork: RoleAccess,
    worker: RoleAccess,
}

impl ToolRoles {
    /// Every agent.
    pub const ALL: Self = Self::same(RoleAccess::ByDefault);
    /// The session's own agent in either mode, and no child.
    pub const ROOT: Self = Self::only(&[AgentRole::Main, AgentRole::Orchestrator]);
    /// The session's own agent; children only where they are started with it.
    pub const CHILDREN_ON_REQUEST: Self = Self::ALL.on_request_for_children();

    /// These roles and no others.
    #[must_use]
    pub const fn only(roles: &[AgentRole]) -> Self {
        let mut result = Self::same(RoleAccess::Never);
        let mut at = 0;
        while at < roles.len() {
            let access = match roles[at] {
                AgentRole::Main => &mut result.main,
                AgentRole::Orchestrator => &mut result.orchestrator,
                AgentRole::Sub => &mut result.sub,
                AgentRole::Fork => &mut result.fork,
                AgentRole::Worker => &mut result.worker,
            };
            *access = RoleAccess::ByDefault;
            at += 1;
        }
        result
    }

    /// What is usual for a tool that names no roles: what only reads is everybody's; what may change something is a child's
    /// only on request.
    #[must_use]
    pub fn usual(definition: &ToolDefinition) -> Self {
        if definition.may_change() { Self::CHILDREN_ON_REQUEST } else { Self::ALL }
    }

    /// The same, but out of the default set of every kind of child.
    #[must_use]
    pub const fn on_request_for_children(self) -> Self {
        Self { sub: lowered(self.sub), fork: lowered(self.fork), worker: lowered(self.worker), ..self }
    }

    /// Whether the agents of this role get the tool.
    #[must_use]
    pub const fn access(&self, role: AgentRole) -> RoleAccess {
        match role {
            AgentRole::Main => self.main,
            AgentRole::Orchestrator => self.orchestrator,
            AgentRole::Sub => self.sub,
            AgentRole::Fork => self.fork,
            AgentRole::Worker => self.worker,
        }
    }

    const fn same(access: RoleAccess) -> Self {
        Self { main: access, orchestrator: access, sub: access, fork: access, worker: access }
    }
}

const fn lowered(access: RoleAccess) -> RoleAccess {
    match access {
        RoleAccess::Never => RoleAccess::Never,
        RoleAccess::OnRequest | RoleAccess::ByDefault => RoleAccess::OnRequest,
    }
}

/// What there must be for a tool to be of use. A run without it is not offered the tool, which would only cost room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolRequirement {
    /// Skills that can be loaded.
    Skills,
    /// Memories that can be recalled.
    Memories,
}

/// A tool as core knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescriptor {
    /// What the tool says of itself, in the contract's form.
    pub definition: ToolDefinition,
    /// Where it comes from.
    pub origin: ToolOrigin,
    /// How its calls are scheduled (RUN-11).
    pub class: ToolClass,
    /// Which agents get it.
    pub roles: ToolRoles,
    /// What it needs to be of use.
    pub requires: Option<ToolRequirement>,
}

impl ToolDescriptor {
    /// Its canonical name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Whether this is a tool of core itself.
    #[must_use]
    pub fn is_of_core(&self) -> bool {
        self.origin == ToolOrigin::Core
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, Permission};

    const ROLES: &[AgentRole] = AgentRole::ALL;

    /// TOL-1, PRM-13: core's names are core's alone, and a server has only names of its own.
    #[test]
    fn names_belong_to_origins() {
        let server = |name: &str| ToolOrigin::Mcp { server: name.to_owned() };
        for (name, core, program, of_server) in [
            ("agent.deploy", true, false, false),
            ("internal.x", true, false, false),
            ("code.read_file", false, true, false),
            ("agents.x", false, true, false),
            ("mcp.web.get", false, false, true),
            ("mcp.web.", false, false, false),
            ("mcp.web", false, false, false),
            ("mcp.website.get", false, false, false),
        ] {
            assert_eq!(ToolOrigin::Core.may_use_name(name), core, "{name}");
            for origin in [ToolOrigin::Builtin, ToolOrigin::Program] {
                assert_eq!(origin.may_use_name(name), program, "{name}");
            }
            assert_eq!(server("web").may_use_name(name), of_server, "{name}");
        }
    }

    /// AGT-8: a child has a ceiling and a smaller default; the session's own agent has all that its mode allows.
    #[test]
    fn children_have_a_smaller_default() {
        let mut definition = ToolDefinition {
            name: "x".to_owned(),
            description: String::new(),
            input_schema: serde_json::Value::Null,
            permission: Permission::Readonly,
            tags: Vec::new(),
            metadata: Object::new(),
        };
        assert_eq!(ToolRoles::usual(&definition), ToolRoles::ALL);
        definition.tags = vec![ToolDefinition::DANGEROUS.to_owned()];
        assert_eq!(ToolRoles::usual(&definition), ToolRoles::CHILDREN_ON_REQUEST);
        definition = ToolDefinition { permission: Permission::Write, tags: Vec::new(), ..definition };
        assert_eq!(ToolRoles::usual(&definition), ToolRoles::CHILDREN_ON_REQUEST);
        for role in ROLES {
            let is_root = matches!(role, AgentRole::Main | AgentRole::Orchestrator);
            let expected = if is_root { RoleAccess::ByDefault } else { RoleAccess::OnRequest };
            assert_eq!(ToolRoles::CHILDREN_ON_REQUEST.access(*role), expected);
            let expected = if is_root { RoleAccess::ByDefault } else { RoleAccess::Never };
            assert_eq!(ToolRoles::ROOT.access(*role), expected);
            assert_eq!(ToolRoles::ROOT.on_request_for_children().access(*role), expected);
            assert_eq!(ToolRoles::only(&[*role]).access(*role), RoleAccess::ByDefault);
        }
    }
}
