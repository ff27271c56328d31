//! A plain function as a tool.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use agent_policy::Facts;
use agent_protocol::{ContentBlock, ErrorCode, ErrorPayload, JsonBlock, Object, ToolClass, ToolDefinition};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;

use crate::{
    port::{CallContext, Prepared, Tool, ToolOutput},
    results::store_result,
};

type Handler = dyn Fn(Object, CallContext) -> BoxFuture<'static, Result<Value, ErrorPayload>> + Send + Sync;
type HostOf = dyn Fn(&Object) -> Option<String> + Send + Sync;

/// A handler of an embedding program as a tool, with the default first phase: nothing is looked at, and a person is
/// shown the arguments.
///
/// What the handler returns is wrapped (TYP-3): a string becomes text, anything else JSON. A handler that panics has
/// failed with `internal_error`; it takes nothing else with it.
#[derive(Clone)]
pub struct FnTool {
    definition: ToolDefinition,
    class: ToolClass,
    handler: Arc<Handler>,
    host: Option<Arc<HostOf>>,
}

impl FnTool {
    /// A tool that calls `handler` with the checked arguments.
    pub fn new<F, R>(definition: ToolDefinition, class: ToolClass, handler: F) -> Self
    where
        F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ErrorPayload>> + Send + 'static,
    {
        let handler = Arc::new(move |arguments, context| handler(arguments, context).boxed());
        Self { definition, class, handler, host: None }
    }

    /// Tells from the arguments which host a call will talk to, so that network policies and a grant for the session can be
    /// about that host (PRM-4, PRM-12). The handler must talk to no other: following a redirect elsewhere would go past the
    /// decision.
    #[must_use]
    pub fn with_host(mut self, host: impl Fn(&Object) -> Option<String> + Send + Sync + 'static) -> Self {
        self.host = Some(Arc::new(host));
        self
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool")
            .field("definition", &self.definition)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

impl Tool for FnTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        self.class
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        let facts = Facts {
            network_host: self.host.as_ref().and_then(|host| host(&arguments)),
            preview: Value::Object(arguments.clone()).to_string(),
            ..Facts::default()
        };
        let handler = Arc::clone(&self.handler);
        let name = self.definition.name.clone();
        let call = Box::new(move || async move { call(&*handler, &name, arguments, context).await.into() }.boxed());
        async move { Ok(Prepared { facts, call }) }.boxed()
    }
}

/// What a handler does is not known, so all of it counts as one side effect.
async fn call(
    handler: &Handler,
    name: &str,
    arguments: Object,
    context: CallContext,
) -> Result<ToolOutput, ErrorPayload> {
    let _effect = context
        .fence
        .enter()
        .map_err(|closed| ErrorPayload::new(ErrorCode::Cancelled, format!("{name} did not run: {closed}")))?;
    // The handler is not used again by this call, and a poisoned state inside it is its own matter.
    let asked = context.clone();
    let outcome = AssertUnwindSafe(async { handler(arguments, asked).await }).catch_unwind().await;
    match outcome {
        Ok(result) => Ok(fitted(result?, name, context).await),
        Err(_) => Err(ErrorPayload::new(ErrorCode::InternalError, format!("{name} panicked"))),
    }
}

/// How much of a big result stays in it, in bytes.
const HEAD: usize = 2048;
/// Most of a result that an artifact takes, in bytes.
const ARTIFACT_MAX: u64 = 64 << 20;

/// The value as it is, or its head and a reference to the whole where it is too big for a context (TYP-2, ART-2).
async fn fitted(value: Value, name: &str, context: CallContext) -> ToolOutput {
    let whole = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if whole.len() <= context.result_bytes {
        return ToolOutput::value(value);
    }
    let (size, head) = (whole.len(), whole[..whole.floor_char_boundary(HEAD.min(context.result_bytes))].to_owned());
    let stored = tokio::task::spawn_blocking(move || store_result(&whole, "result.json", ARTIFACT_MAX, &context)).await;
    let (artifact_id, summary) = match stored {
        Ok(Ok(id)) => (Some(id), format!("{size} bytes, stored whole as an artifact; it begins: {head}")),
        Ok(Err(error)) => (None, format!("{size} bytes, of which only the head could be kept ({error}): {head}")),
        Err(_) => (None, format!("{size} bytes, of which only the head could be kept: {head}")),
    };
    let block = ContentBlock::Json(JsonBlock { data: None, summary: Some(summary), artifact_id });
    ToolOutput { content: vec![block], ..ToolOutput::default() }.summary(format!("{name}: {size} bytes"))
}

#[cfg(test)]
mod tests;
