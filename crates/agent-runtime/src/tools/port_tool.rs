//! A tool that does its work through a port of its call, as a [`Tool`]: those of agents and of Tasks.

use std::marker::PhantomData;
use std::sync::Arc;

use agent_policy::Facts;
use agent_protocol::{ErrorPayload, Object, ToolClass, ToolDefinition, ToolRoles};
use agent_tool::{CallContext, Prepared, Tool, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::arguments;

/// Such a tool. It changes nothing outside the session, and nobody is asked.
pub(super) trait PortTool: Send + Sync + 'static {
    /// The arguments. Its doc comments are what the model reads, in every request: they are short.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// Canonical name.
    const NAME: &'static str;
    /// What kind of tool it is.
    const TAGS: &'static [&'static str];
    /// Which agents get it (11-agents).
    const ROLES: ToolRoles;
    /// How its calls are scheduled.
    const CLASS: ToolClass;

    /// What a call is about, in one line.
    fn about(input: &Self::Input) -> String;

    /// Does it.
    fn run(input: Self::Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>>;
}

/// One of them, with its definition.
pub(super) struct PortCall<T> {
    definition: ToolDefinition,
    tool: PhantomData<fn() -> T>,
}

impl<T: PortTool> PortCall<T> {
    pub(super) fn shared() -> Arc<dyn Tool> {
        Arc::new(Self { definition: arguments::definition::<T::Input>(T::NAME, T::TAGS), tool: PhantomData })
    }
}

impl<T: PortTool> Tool for PortCall<T> {
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
