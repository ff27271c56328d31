//! `tools.overrides`.

use std::collections::HashMap;
use std::sync::Arc;

use agent_tool::{Overridden, Tool, ToolOverride};

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
}
