//! Agent definitions: who a child agent is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Object;
use crate::run::stored_enum;

/// Who an agent is (the contract's fields).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// The id, given by the definition, never generated.
    pub agent_definition_id: String,
    /// A name for people.
    pub name: String,
    /// What it is good for; for catalogs only.
    pub description: String,
    /// System instructions.
    #[serde(default)]
    pub body: String,
    /// A named profile, or a partial one in place.
    #[serde(default)]
    pub model_profile: Option<ModelProfile>,
    /// Tools it likes; grants nothing.
    #[serde(default)]
    pub suggested_tools: Vec<String>,
    /// Free words.
    #[serde(default)]
    pub tags: Vec<String>,
    /// `<source>:<id>` of the definition this one replaces.
    #[serde(default)]
    pub overrides: Option<String>,
    /// Where it comes from.
    pub source: DefinitionSource,
    /// Extensions.
    #[serde(default)]
    pub metadata: Object,
}

/// What core says of agents in the metadata of their rows, and of those that it makes for itself in those of their runs.
pub mod internal {
    /// The key: the definition that the agent is made from.
    pub const DEFINITION: &str = "agent_definition_id";
    /// The key: a worker's entry in the configuration.
    pub const WORKER: &str = "worker_id";
    /// The key: a worker's pool.
    pub const WORKER_POOL: &str = "worker_pool_id";
    /// The key: of what use the agent is.
    pub const PURPOSE: &str = "purpose";
    /// It summarises the older turns of another agent's conversation (CMP-4).
    pub const COMPACT: &str = "compact";
}

/// A named model profile, or a partial one in place (CFG-4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ModelProfile {
    /// Names `[model_overrides.NAME]`.
    Named(String),
    /// Overlays `[model]` itself.
    Inline(Object),
}

stored_enum! {
    /// Where an agent definition comes from.
    DefinitionSource {
        /// Packaged with the core.
        Builtin = "builtin",
        /// The user's own file.
        User = "user",
        /// Registered by the embedding program.
        Code = "code",
    }
}

/// A definition as agents and programs see it in a list (AGD-6): no instructions, no model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinitionInfo {
    /// The id.
    pub agent_definition_id: String,
    /// A name for people.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// Where it comes from.
    pub source: DefinitionSource,
    /// Free words.
    pub tags: Vec<String>,
    /// Tools it likes, and whether a child can have them.
    pub suggested_tools: Vec<SuggestedTool>,
}

/// A tool that a definition suggests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestedTool {
    /// Canonical name.
    pub name: String,
    /// Whether an agent of this definition can have it.
    pub available: bool,
    /// Why it cannot.
    pub unavailable_reason: Option<UnavailableReason>,
}

stored_enum! {
    /// Why a known tool cannot be had (AGD-3).
    UnavailableReason {
        /// `tools.disabled` names it.
        DisabledByConfig = "disabled_by_config",
        /// `[permissions]` deny every call of it.
        PermissionDenied = "permission_denied",
        /// The mode of the run has no use for it.
        ModeRestricted = "mode_restricted",
        /// No agent of this kind gets it.
        PolicyRestricted = "policy_restricted",
    }
}
