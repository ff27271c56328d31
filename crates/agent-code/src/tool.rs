//! A code tool as a [`Tool`].

use std::sync::Arc;

use agent_protocol::{ErrorCode, ErrorPayload, Object, Permission, ToolClass, ToolDefinition};
use agent_tool::{CallContext, Prepared, PreparedCall, Tool, ToolOutput, input_schema};
use futures::{FutureExt, future::BoxFuture};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::task::{JoinError, spawn_blocking};

use crate::{fail, path_notes::not_the_path};

/// A tool whose first phase blocks on files.
pub(crate) trait CodeTool: Send + Sync + 'static {
    /// The arguments. Its doc comments are what the model reads.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Canonical name.
    const NAME: &'static str;
    /// Whether it may change anything.
    const PERMISSION: Permission;
    /// What kind of tool it is.
    const TAGS: &'static [&'static str];

    /// Puts into the schema what depends on the settings.
    fn adapt(&self, _schema: &mut Value) {}

    /// The first phase; runs where blocking is fine.
    fn prepare(&self, input: Self::Input, context: CallContext) -> Result<Prepared, ErrorPayload>;
}

/// Runs a code tool's first phase off the runtime's threads.
pub(crate) struct Blocking<T> {
    definition: ToolDefinition,
    tool: Arc<T>,
}

impl<T: CodeTool> Blocking<T> {
    pub(crate) fn new(tool: T) -> Self {
        let mut input = input_schema::<T::Input>();
        tool.adapt(&mut input.schema);
        let definition = ToolDefinition {
            name: T::NAME.to_owned(),
            description: input.description,
            input_schema: input.schema,
            permission: T::PERMISSION,
            tags: T::TAGS.iter().map(|tag| (*tag).to_owned()).collect(),
            metadata: Object::new(),
        };
        Self { definition, tool: Arc::new(tool) }
    }
}

impl<T: CodeTool> Tool for Blocking<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        match T::PERMISSION {
            Permission::Readonly => ToolClass::Readonly,
            Permission::Write => ToolClass::Write,
        }
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        async move {
            fail::unless_cancelled(&context.cancel)?;
            let given = || ["path", "cwd"].iter().find_map(|key| arguments.get(*key)?.as_str()).map(str::to_owned);
            let given = given().filter(|_| !context.secrets.is_empty());
            let secrets = context.secrets.clone();
            let input = serde_json::from_value(Value::Object(arguments))
                .map_err(|error| fail::invalid(format!("invalid arguments for {}: {error}", T::NAME)))?;
            let tool = Arc::clone(&self.tool);
            let prepared = spawn_blocking(move || tool.prepare(input, context)).await;
            prepared.unwrap_or_else(|error| Err(broken(&error))).map_err(|mut error| {
                if error.code == ErrorCode::FileNotFound {
                    not_the_path(&mut error.message, given.as_deref(), &secrets);
                }
                error
            })
        }
        .boxed()
    }
}

/// A second phase that blocks.
pub(crate) fn blocking_call(
    run: impl FnOnce() -> Result<ToolOutput, ErrorPayload> + Send + 'static,
) -> Box<dyn PreparedCall> {
    Box::new(move || {
        async move { spawn_blocking(run).await.unwrap_or_else(|error| Err(broken(&error))).into() }.boxed()
    })
}

/// So many of something, for people: `1 match`, `2 matches`, `0 entries`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None if noun.ends_with("ch") => format!("{count} {noun}es"),
        None => format!("{count} {noun}s"),
    }
}

/// A result struct as the output of a call.
pub(crate) fn output(result: &impl Serialize) -> Result<ToolOutput, ErrorPayload> {
    serde_json::to_value(result).map(ToolOutput::value).map_err(|error| {
        ErrorPayload::new(ErrorCode::InternalError, format!("the result cannot be written as JSON: {error}"))
    })
}

/// The blocking task panicked, or the runtime is going down.
pub(crate) fn broken(error: &JoinError) -> ErrorPayload {
    if error.is_cancelled() {
        return fail::cancelled();
    }
    ErrorPayload::new(ErrorCode::InternalError, "the tool panicked").detail("kind", "panic")
}
