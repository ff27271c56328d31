//! A plain function as a tool.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use agent_policy::Facts;
use agent_protocol::{
    ContentBlock, ErrorCode, ErrorPayload, JsonBlock, Object, Permission, ToolClass, ToolDefinition, ToolResult,
};
use agent_redact::within::in_text;
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;

use crate::{
    port::{CallContext, Prepared, Tool, ToolOutput},
    results::store_result,
};

type Handler = dyn Fn(Object, CallContext) -> BoxFuture<'static, Result<HandlerReply, ErrorPayload>> + Send + Sync;
type HostOf = dyn Fn(&Object) -> Option<String> + Send + Sync;

/// A handler of an embedding program as a tool, with the default first phase: nothing is looked at, and a person is
/// shown the arguments.
///
/// A plain value that the handler returns is wrapped (TYP-3): a string becomes text, anything else JSON. A [`ToolResult`] is
/// taken as it is. A handler that panics has failed with `internal_error`; it takes nothing else with it.
#[derive(Clone)]
pub struct FnTool {
    definition: ToolDefinition,
    class: ToolClass,
    handler: Arc<Handler>,
    host: Option<Arc<HostOf>>,
}

impl FnTool {
    /// A tool that calls `handler` with the checked arguments, which returns a JSON value or a [`ToolResult`].
    pub fn new<F, R, T>(definition: ToolDefinition, class: ToolClass, handler: F) -> Self
    where
        F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ErrorPayload>> + Send + 'static,
        T: Into<HandlerReply>,
    {
        let handler = Arc::new(move |arguments, context| {
            handler(arguments, context).map(|reply: Result<T, ErrorPayload>| reply.map(Into::into)).boxed()
        });
        Self { definition, class, handler, host: None }
    }

    /// The same, scheduled as its permission says: calls of a readonly tool may run beside others, those of a write tool run
    /// alone.
    pub fn of_permission<F, R, T>(definition: ToolDefinition, handler: F) -> Self
    where
        F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ErrorPayload>> + Send + 'static,
        T: Into<HandlerReply>,
    {
        let class = match definition.permission {
            Permission::Readonly => ToolClass::Readonly,
            Permission::Write => ToolClass::Write,
        };
        Self::new(definition, class, handler)
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

/// What a plain handler returns.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerReply {
    /// A value, to be wrapped (TYP-3).
    Value(Value),
    /// The contract's form, for content of several blocks, or a failure with content.
    Result(ToolResult),
}

impl From<Value> for HandlerReply {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<ToolResult> for HandlerReply {
    fn from(result: ToolResult) -> Self {
        Self::Result(result)
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
        Ok(reply) => match reply? {
            HandlerReply::Value(value) => Ok(fitted(value, name, context).await),
            HandlerReply::Result(result) => of_result(result, name, context).await,
        },
        Err(_) => Err(ErrorPayload::new(ErrorCode::InternalError, format!("{name} panicked"))),
    }
}

/// How much of a big result stays in it, in bytes.
const HEAD: usize = 2048;
/// Most of a result that an artifact takes, in bytes.
const ARTIFACT_MAX: u64 = 64 << 20;

/// A result in the contract's form, as the answer to this very call. What is too big for a context becomes an artifact, block by
/// block.
async fn of_result(result: ToolResult, name: &str, context: CallContext) -> Result<ToolOutput, ErrorPayload> {
    if result.tool_call_id != context.tool_call_id || result.tool_name != name {
        let message = format!("{name} answered another call: its result must have the call's id and the tool's name");
        return Err(ErrorPayload::new(ErrorCode::SchemaError, message));
    }
    let mut room = context.result_bytes;
    let mut content = Vec::with_capacity(result.content.len());
    for block in result.content {
        let value = match &block {
            ContentBlock::Text(text) => Value::from(text.text.as_str()),
            ContentBlock::Json(json) => json.data.clone().unwrap_or_default(),
            ContentBlock::ArtifactRef(_) => Value::Null,
            ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) => {
                let message =
                    format!("the result of {name} holds a call or a result: only text, json and artifact_ref fit");
                return Err(ErrorPayload::new(ErrorCode::SchemaError, message));
            }
        };
        match room.checked_sub(length(&value)) {
            Some(left) => {
                room = left;
                content.push(block);
            }
            None => content.extend(stored(value, name, context.clone()).await.content),
        }
    }
    // A failure needs its reason: whoever reads events looks there.
    let failed = || ErrorPayload::new(ErrorCode::InternalError, format!("{name} failed and did not say why"));
    let error = result.error.or_else(|| result.is_error.then(failed));
    Ok(ToolOutput { content, error, metadata: result.metadata, context: Vec::new() })
}

/// Bytes of a value as the model gets it.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
}

/// The value as it is, or its head and a reference to the whole where it is too big for a context (TYP-2, ART-2).
async fn fitted(value: Value, name: &str, context: CallContext) -> ToolOutput {
    if length(&value) <= context.result_bytes {
        return ToolOutput::value(value);
    }
    stored(value, name, context).await
}

async fn stored(value: Value, name: &str, context: CallContext) -> ToolOutput {
    let mut whole = match value {
        Value::String(text) => text,
        // By lines, as it is read on by lines.
        other => format!("{other:#}"),
    };
    // The cut may go through a secret: it goes first.
    let redacted = in_text(&context.secrets, &mut whole);
    let (size, head) = (whole.len(), whole[..whole.floor_char_boundary(HEAD.min(context.result_bytes))].to_owned());
    let kept = tokio::task::spawn_blocking(move || store_result(&whole, "result.json", ARTIFACT_MAX, &context)).await;
    let (artifact_id, summary) = match kept {
        Ok(Ok(id)) => {
            let read_on = format!("a tool that reads files takes the artifact's id {id} as a path");
            (Some(id), format!("{size} bytes, stored whole as an artifact; {read_on}; it begins: {head}"))
        }
        Ok(Err(error)) => (None, format!("{size} bytes, of which only the head could be kept ({error}): {head}")),
        Err(_) => (None, format!("{size} bytes, of which only the head could be kept: {head}")),
    };
    let block = ContentBlock::Json(JsonBlock { data: None, summary: Some(summary), artifact_id });
    let output = ToolOutput { content: vec![block], ..ToolOutput::default() }.summary(format!("{name}: {size} bytes"));
    if redacted { output.with(ToolOutput::REDACTED, true) } else { output }
}

#[cfg(test)]
mod tests;
