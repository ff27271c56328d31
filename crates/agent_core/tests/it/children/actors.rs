//! A model with a part for each agent, told apart by what it was asked to do, and a tool that starts children.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_core::error::{ErrorCode, ErrorPayload};
use agent_core::id::ToolCallId;
use agent_core::message::{ContentBlock, Object};
use agent_core::model::{
    ModelEvent, ModelFault, ModelRequest, ModelStream, ProviderAdapter, ProviderFactory, Reply, StopKind, StopReason,
    Usage,
};
use agent_core::runtime::{AgentRuntimeBuilder, RunStatus};
use agent_core::session::Role;
use agent_core::tool::{CallContext, Permission, Prepared, Tool, ToolCall, ToolClass, ToolOutput};
use agent_core::{AgentRuntime, ToolDefinition};
use agent_policy::Facts;
use agent_tool::{ChildKind, ChildTask};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::World;

/// What a part says.
#[derive(Clone)]
pub(crate) enum Say {
    Reply(Vec<ContentBlock>),
    /// Nothing, until the request is cancelled.
    Nothing,
    /// The part is asked again once something has happened elsewhere.
    Again,
    Fault,
    /// The stream ends so.
    Ends(Arc<dyn Fn() -> ModelEvent + Send + Sync>),
}

impl Say {
    pub(crate) fn text(text: &str) -> Self {
        Self::Reply(vec![ContentBlock::text(text)])
    }

    /// The server fails, after it has said this.
    pub(crate) fn fails(fault: ModelFault, error: ErrorPayload, said: &str) -> Self {
        let partial = (!said.is_empty()).then(|| reply(vec![ContentBlock::text(said)]));
        Self::Ends(Arc::new(move || ModelEvent::Failed { fault, error: error.clone(), partial: partial.clone() }))
    }

    /// A reply that ends for this reason and takes so many tokens.
    pub(crate) fn stops(stop: StopKind, content: Vec<ContentBlock>, output_tokens: u64) -> Self {
        let usage = Usage { input_tokens: Some(10), output_tokens: Some(output_tokens), ..Usage::default() };
        let reply = Reply { stop: StopReason::new(stop), usage, ..reply(content) };
        Self::Ends(Arc::new(move || ModelEvent::Completed(reply.clone())))
    }

    pub(crate) fn calls(calls: &[(&str, Value)]) -> Self {
        let call = |(n, (name, arguments)): (usize, &(&str, Value))| {
            let Value::Object(arguments) = arguments.clone() else { unreachable!() };
            let tool_call_id = ToolCallId::parse(&format!("call_{n}")).unwrap();
            ContentBlock::ToolCall(ToolCall {
                tool_call_id,
                name: (*name).to_owned(),
                arguments,
                metadata: Object::new(),
            })
        };
        Self::Reply(calls.iter().enumerate().map(call).collect())
    }
}

type Part = Arc<dyn Fn(usize, &Actors) -> Say + Send + Sync>;

#[derive(Default)]
struct Inner {
    parts: Mutex<HashMap<String, Part>>,
    asked: Mutex<Vec<(String, ModelRequest)>>,
    refused: AtomicUsize,
    something_happened: Notify,
}

/// All parts, and everything that was asked. A part is found by the newest message of the user that has one.
#[derive(Clone, Default)]
pub(crate) struct Actors(Arc<Inner>);

impl Actors {
    /// Who was asked to do this answers so: `answer` gets the number of the request, from 0.
    pub(crate) fn on(&self, task: &str, answer: impl Fn(usize, &Self) -> Say + Send + Sync + 'static) {
        self.0.parts.lock().unwrap().insert(task.to_owned(), Arc::new(answer));
    }

    pub(crate) fn builder(&self, world: &World) -> AgentRuntimeBuilder {
        self.builder_at(&world.home.home, &world.home.project)
    }

    pub(crate) fn builder_at(&self, home: &Path, project: &Path) -> AgentRuntimeBuilder {
        let actors = self.clone();
        let factory: ProviderFactory = Arc::new(move |_| Ok(Arc::new(actors.clone()) as Arc<dyn ProviderAdapter>));
        let builder = AgentRuntime::builder().home_dir(home).project_dir(project);
        builder.register_provider("actors", factory).unwrap()
    }

    /// What the part was asked so far.
    pub(crate) fn asked(&self, task: &str) -> Vec<ModelRequest> {
        let asked = self.0.asked.lock().unwrap();
        asked.iter().filter(|(of, _)| of == task).map(|(_, request)| request.clone()).collect()
    }

    /// Waits until the part has been asked.
    pub(crate) async fn wait_for(&self, task: &str) {
        self.wait_for_turn(task, 1).await;
    }

    /// Waits until the part has been asked so often.
    pub(crate) async fn wait_for_turn(&self, task: &str, turns: usize) {
        loop {
            let news = self.0.something_happened.notified();
            if self.asked(task).len() >= turns {
                return;
            }
            news.await;
        }
    }

    /// Something happened elsewhere: parts that wait for it are asked again.
    pub(crate) fn happened(&self) {
        self.0.something_happened.notify_waiters();
    }

    /// Children that were refused.
    pub(crate) fn refused(&self) -> usize {
        self.0.refused.load(Ordering::SeqCst)
    }

    /// `test.helper`: starts a child and tells what came of it.
    pub(crate) fn helper(&self) -> Arc<dyn Tool> {
        let definition = ToolDefinition {
            name: "test.helper".to_owned(),
            description: "Starts a child.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "task": { "type": "string" },
                    "kind": { "type": "string" },
                    "tools": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["task", "kind"],
                "additionalProperties": false,
            }),
            permission: Permission::Readonly,
            tags: Vec::new(),
            metadata: Object::new(),
        };
        Arc::new(Helper { definition, actors: self.clone() })
    }

    /// What the part for this request says.
    async fn say(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvent {
        let (task, part) = self.part_of(&request);
        let turn = self.asked(&task).len();
        self.0.asked.lock().unwrap().push((task, request));
        self.0.something_happened.notify_waiters();
        loop {
            let news = self.0.something_happened.notified();
            match part(turn, self) {
                Say::Reply(content) => return ModelEvent::Completed(reply(content)),
                Say::Ends(event) => return event(),
                Say::Fault => return failed(ModelFault::Fatal, "the server is gone"),
                Say::Nothing => {
                    cancel.cancelled().await;
                    return failed(ModelFault::Aborted, "cancelled");
                }
                Say::Again => news.await,
            }
        }
    }

    fn part_of(&self, request: &ModelRequest) -> (String, Part) {
        let parts = self.0.parts.lock().unwrap();
        let users = request.messages.iter().rev().filter(|message| message.role == Role::User);
        // The date behind what was said is core's.
        let mut said = users.map(|message| {
            let dates = usize::from(message.metadata.contains_key("today"));
            let content = &message.content[..message.content.len() - dates];
            std::iter::once(text_of(content))
                .chain(content.iter().map(|block| text_of(std::slice::from_ref(block))))
                .collect::<Vec<_>>()
        });
        // What is said around a task stands in blocks of its own.
        let found = said.find_map(|said| {
            let (text, part) = said.iter().find_map(|text| Some((text, parts.get(text)?)))?;
            Some((text.clone(), Arc::clone(part)))
        });
        found.unwrap_or_else(|| panic!("no part for {:?}", request.messages))
    }
}

impl ProviderAdapter for Actors {
    fn key(&self) -> &str {
        "actors"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let actors = self.clone();
        futures::stream::once(async move { actors.say(request, cancel).await }).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

fn reply(content: Vec<ContentBlock>) -> Reply {
    let stop = StopReason::new(StopKind::EndTurn);
    Reply { content, usage: Usage::default(), stop, metadata: Object::new() }
}

fn failed(fault: ModelFault, message: &str) -> ModelEvent {
    ModelEvent::Failed { fault, error: ErrorPayload::new(ErrorCode::ProviderError, message), partial: None }
}

/// All text of a message, results included.
pub(crate) fn text_of(content: &[ContentBlock]) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::ToolResult(result) => Some(text_of(&result.content)),
        other => other.to_model_text(),
    };
    content.iter().filter_map(text).collect::<Vec<String>>().join("\n")
}

struct Helper {
    definition: ToolDefinition,
    actors: Actors,
}

impl Tool for Helper {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        ToolClass::Agent
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        let task = arguments["task"].as_str().unwrap().to_owned();
        let kind = if arguments["kind"] == "fork" { ChildKind::Fork } else { ChildKind::Sub };
        let names =
            |tools: &Value| tools.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        let tools = arguments.get("tools").map(names);
        let facts = Facts { preview: task.clone(), ..Facts::default() };
        let actors = self.actors.clone();
        let task = ChildTask {
            kind,
            task: vec![ContentBlock::text(task)],
            definition: None,
            allowed_tools: tools,
            output_schema: None,
            timeout: None,
        };
        let call = Box::new(move || async move { help(&actors, task, context).await }.boxed());
        std::future::ready(Ok(Prepared { facts, call })).boxed()
    }
}

async fn help(actors: &Actors, task: ChildTask, context: CallContext) -> ToolOutput {
    let report = match context.children.run(task).await {
        Ok(report) => report,
        Err(error) => {
            actors.0.refused.fetch_add(1, Ordering::SeqCst);
            actors.0.something_happened.notify_waiters();
            return ToolOutput::failed(error);
        }
    };
    match report.status {
        RunStatus::Completed => ToolOutput::value(report.answer.unwrap_or_default()),
        _ => {
            let error = report.error.map(|error| error.message).unwrap_or_default();
            ToolOutput::failed(ErrorPayload::new(ErrorCode::InternalError, format!("the child failed: {error}")))
        }
    }
}
