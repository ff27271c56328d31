//! The runtime as users see it.

use std::sync::Arc;

use agent_protocol::{ErrorPayload, Object, Permission, ToolClass, ToolDefinition};
use agent_runtime::{RunHandle, Runtime, RuntimeError, StartOptions, UserMessage};
use agent_tools::{CallContext, FnTool, RegisterError, Tool};
use serde_json::Value;

use crate::AgentRuntimeBuilder;
use crate::overrides::Overrides;

/// Runs an agent on one project folder. Dropping it without [`close`](Self::close) leaves no process and loses nothing that
/// was committed (API-7).
pub struct AgentRuntime {
    pub(crate) inner: Runtime,
    pub(crate) overrides: Overrides,
}

impl AgentRuntime {
    /// Begins to build one. Everything is optional.
    #[must_use]
    pub fn builder() -> AgentRuntimeBuilder {
        AgentRuntimeBuilder::default()
    }

    /// Starts a run for a message; a plain string is a message with one text block. Returns at once.
    ///
    /// # Errors
    /// An empty message, a session that does not exist, is in use or belongs to another project, a closed runtime. Then
    /// nothing was created.
    pub async fn start(
        &self,
        message: impl Into<UserMessage> + Send,
        options: StartOptions,
    ) -> Result<RunHandle, RuntimeError> {
        self.inner.start(message, options).await
    }

    /// Adds a tool with a plain handler, for the runs that start from now on. The handler gets checked arguments and
    /// returns any JSON value.
    ///
    /// A readonly tool's calls may run in parallel; those of a write or dangerous tool run alone and ask first.
    ///
    /// # Errors
    /// A name that is taken, unusable or core's (`agent.`, `internal.`, `mcp.`), an input schema outside the subset that every provider takes (TOL-2).
    pub fn register_tool<F, R>(&self, definition: ToolDefinition, handler: F) -> Result<(), RegisterError>
    where
        F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ErrorPayload>> + Send + 'static,
    {
        let class = match definition.permission {
            Permission::Readonly => ToolClass::Readonly,
            Permission::Write => ToolClass::Write,
        };
        self.register(Arc::new(FnTool::new(definition, class, handler)))
    }

    /// Adds a tool that has both phases itself.
    ///
    /// # Errors
    /// As [`register_tool`](Self::register_tool).
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.inner.register_tool(self.overrides.foreign(tool)?)
    }

    /// Stops what runs, then closes provider and store. Calling it again does nothing (API-7).
    pub async fn close(&self) {
        self.inner.close().await;
    }
}
