//! What definitions refer to.

use agent_protocol::ModelProfile;

/// What a definition may name.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// Knows the tools there are. Those of MCP servers are not known before their servers answer, and are not asked for (TOL-8).
    pub is_tool: &'a dyn Fn(&str) -> bool,
    /// Says what is wrong with a model profile, to be read behind the field's name.
    pub model_profile: &'a dyn Fn(&ModelProfile) -> Result<(), String>,
}
