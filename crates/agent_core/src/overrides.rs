//! `tools.overrides`, and which names are not for everybody.

use std::collections::HashMap;
use std::sync::Arc;

use agent_tool::{Overridden, RegisterError, Tool, ToolOverride};

/// What the configuration changes about tools, by their names.
#[derive(Debug, Default)]
pub(crate) struct Overrides(HashMap<String, ToolOverride>);

impl Overrides {
    pub(crate) fn new(changes: impl IntoIterator<Item = (String, ToolOverride)>) -> Self {
        Self(changes.into_iter().collect())
    }

    /// The tool as the configuration has it.
    pub(crate) fn apply(&self, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        match self.0.get(&tool.definition().name) {
            Some(change) => Arc::new(Overridden::new(tool, change.clone())),
            None => tool,
        }
    }

    /// A tool that is not core's: what core's names promise, above all not to need asking, is not for it.
    pub(crate) fn foreign(&self, tool: Arc<dyn Tool>) -> Result<Arc<dyn Tool>, RegisterError> {
        let definition = tool.definition();
        if definition.is_of_core() || definition.name.starts_with("mcp.") {
            return Err(RegisterError::Name {
                name: definition.name.clone(),
                reason: "agent., internal. and mcp. are for core\'s own tools and those of MCP servers",
            });
        }
        Ok(self.apply(tool))
    }
}
