//! A tool of Tasks as a [`Tool`].

use std::marker::PhantomData;
use std::sync::Arc;

use agent_policy::Facts;
use agent_protocol::{AgentRole, ErrorPayload, Object, ToolClass, ToolDefinition, ToolRoles};
use agent_tool::{CallContext, Prepared, Tool, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::tools::arguments;

/// Who makes, changes and ends Tasks.
pub(super) const ORCHESTRATOR: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator]);
/// Who takes steps.
pub(super) const WORKER: ToolRoles = ToolRoles::only(&[AgentRole::Worker]);
/// Both.
pub(super) const BOTH: ToolRoles = ToolRoles::only(&[AgentRole::Orchestrator, AgentRole::Worker]);

/// One of the tools.
pub(super) trait TaskTool: Send + Sync + 'static {
    /// The arguments. Its doc comments are what the model reads, in every request: they are short.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// Canonical name.
    const NAME: &'static str;
    /// Which agents get it (11-agents).
    const ROLES: ToolRoles;
    /// What changes a Task keeps its place among the calls of a reply; looks may run beside each other.
    const CLASS: ToolClass;

    /// What a call is about, in one line.
    fn about(input: &Self::Input) -> String;

    /// Does it.
    fn run(input: Self::Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>>;
}

/// Such a tool, with its definition.
pub(super) struct TaskCall<T> {
    definition: ToolDefinition,
    tool: PhantomData<fn() -> T>,
}

impl<T: TaskTool> TaskCall<T> {
    pub(super) fn shared() -> Arc<dyn Tool> {
        Arc::new(Self { definition: arguments::definition::<T::Input>(T::NAME, &["agent", "task"]), tool: PhantomData })
    }
}

impl<T: TaskTool> Tool for TaskCall<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        T::CLASS
    }

    fn roles(&self) -> ToolRoles {
        T::ROLES
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        let prepared = arguments::read(T::NAME, arguments).map(|input| {
            let facts = Facts { preview: T::about(&input), ..Facts::default() };
            let call = Box::new(move || async move { T::run(input, context).await.into() }.boxed());
            Prepared { facts, call }
        });
        std::future::ready(prepared).boxed()
    }
}
