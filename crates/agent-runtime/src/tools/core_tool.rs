//! One of core's own tools as a [`Tool`].

use std::sync::Arc;

use agent_policy::Facts;
use agent_protocol::{ErrorCode, ErrorPayload, Object, ToolClass, ToolDefinition, ToolRequirement, ToolRoles};
use agent_redact::within;
use agent_tool::{CallContext, Prepared, Tool, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;

use super::arguments;

/// A tool that changes nothing outside and asks nobody, but changes what the model knows: its calls keep their order
/// (RUN-11).
pub(super) trait CoreTool: Send + Sync + 'static {
    /// The arguments. Its doc comments are what the model reads, in every request: they are short.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// Canonical name; it begins as core's names do.
    const NAME: &'static str;
    /// What kind of tool it is.
    const TAGS: &'static [&'static str];
    /// Which agents get it (11-agents).
    const ROLES: ToolRoles;
    /// What it needs to be of use.
    const REQUIRES: Option<ToolRequirement> = None;

    /// What a call is about, in one line.
    fn about(&self, input: &Self::Input) -> String;

    /// Does it. Blocking is fine here.
    fn run(&self, input: Self::Input, context: &CallContext) -> Result<ToolOutput, ErrorPayload>;
}

/// Runs such a tool off the runtime's threads.
pub(super) struct Core<T> {
    definition: ToolDefinition,
    tool: Arc<T>,
}

impl<T: CoreTool> Core<T> {
    pub(super) fn shared(tool: T) -> Arc<dyn Tool> {
        Arc::new(Self { definition: arguments::definition::<T::Input>(T::NAME, T::TAGS), tool: Arc::new(tool) })
    }
}

impl<T: CoreTool> Tool for Core<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        ToolClass::Ordered
    }

    fn roles(&self) -> ToolRoles {
        T::ROLES
    }

    fn requires(&self) -> Option<ToolRequirement> {
        T::REQUIRES
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        async move {
            let input: T::Input = arguments::read(T::NAME, arguments)?;
            let facts = Facts { preview: self.tool.about(&input), ..Facts::default() };
            let tool = Arc::clone(&self.tool);
            let call = Box::new(move || async move { run(tool, input, context).await.into() }.boxed());
            Ok(Prepared { facts, call })
        }
        .boxed()
    }
}

async fn run<T: CoreTool>(tool: Arc<T>, input: T::Input, context: CallContext) -> Result<ToolOutput, ErrorPayload> {
    if context.cancel.is_cancelled() {
        return Err(stopped(T::NAME));
    }
    let work = spawn_blocking(move || {
        let mut output = tool.run(input, &context)?;
        // What joins the conversation is stored, and a known secret never is (STO-10).
        for entry in &mut output.context {
            within::in_blocks(&context.secrets, &mut entry.content);
            within::in_object(&context.secrets, &mut entry.metadata);
        }
        Ok(output)
    });
    work.await.unwrap_or_else(|error| match error.is_cancelled() {
        true => Err(stopped(T::NAME)),
        false => Err(ErrorPayload::new(ErrorCode::InternalError, format!("{} panicked", T::NAME))),
    })
}

fn stopped(name: &str) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, format!("{name} did not run: the call was cancelled"))
}
