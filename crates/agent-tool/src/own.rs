//! The tools of an embedding program, gathered before there is a runtime.

use std::sync::Arc;

use agent_protocol::{ErrorPayload, Object, ToolDefinition, ToolOrigin};

use crate::{
    fn_tool::{FnTool, HandlerReply},
    port::{CallContext, Tool},
    registry::{RegisterError, Registry},
};

/// Tools of an embedding program (API-2). Whatever is in here is the program's: no tool in it can pass for one of core's.
#[derive(Default)]
pub struct ToolRegistry {
    tools: Registry<Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool with a plain handler, as [`FnTool::of_permission`] makes it.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub fn register_tool<F, R, T>(&mut self, definition: ToolDefinition, handler: F) -> Result<(), RegisterError>
    where
        F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ErrorPayload>> + Send + 'static,
        T: Into<HandlerReply>,
    {
        self.register(Arc::new(FnTool::of_permission(definition, handler)))
    }

    /// Adds a tool that has both phases itself.
    ///
    /// # Errors
    /// A name that is taken, unusable or reserved (`agent.`, `internal.`, `mcp.`), an input schema outside the subset that every
    /// provider takes (TOL-2).
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.tools.add(ToolOrigin::Program, tool)
    }

    /// The canonical names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.names()
    }

    /// The tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter().map(|tool| tool.binding())
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
