//! A model with a part for each agent, played step by step, that counts who is on at the same time; and a tool that sends children.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_core::error::{ErrorCode, ErrorPayload};
use agent_core::id::ToolCallId;
use agent_core::message::{ContentBlock, Object};
use agent_core::model::{
    ModelEvent, ModelFault, ModelRequest, ModelStream, ProviderAdapter, ProviderFactory, Reply, StopKind, StopReason,
    Usage,
};
use agent_core::runtime::AgentRuntimeBuilder;
use agent_core::session::{DefinitionSource, Role};
use agent_core::tool::{CallContext, Facts, Permission, Prepared, Tool, ToolCall, ToolClass, ToolOutput};
use agent_core::{AgentDefinition, ToolDefinition};
use agent_protocol::ModelProfile;
use agent_tool::{ChildDefinition, ChildKind, ChildReport, ChildTask};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::World;

/// Longer than anything takes that is waited for here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that happens once, for whoever waits for it.
#[derive(Clone)]
pub(super) struct Cue(Arc<watch::Sender<bool>>);

impl Cue {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(super) fn give(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn wait(&self) {
        let mut given = self.0.subscribe();
        let waited = tokio::time::timeout(PATIENCE, given.wait_for(|given| *given)).await;
        waited.expect("the cue comes").expect("the cue lives");
    }
}

/// A step of an answer.
#[derive(Clone)]
pub(super) enum Step {
    /// Goes on at the cue, or ends as aborted.
    At(Cue),
    /// Says that the request is made again after so many milliseconds, and then waits for that.
    Retry(u64),
    /// Ends with an answer that used so many tokens of the prompt and the reply.
    End(Vec<ContentBlock>, Option<(u64, u64)>),
    /// Breaks off after these words.
    Break(ModelFault, &'static str, Option<(u64, u64)>),
}

impl Step {
    pub(super) fn text(text: &str) -> Self {
        Self::End(vec![ContentBlock::text(text)], None)
    }

    pub(super) fn calls(calls: &[(&str, Value)]) -> Self {
        let call = |(n, (name, arguments)): (usize, &(&str, Value))| {
            ContentBlock::ToolCall(ToolCall {
                tool_call_id: ToolCallId::parse(&format!("call_{n}")).unwrap(),
                name: (*name).to_owned(),
                arguments: arguments.as_object().unwrap().clone(),
                metadata: Object::new(),
            })
        };
        Self::End(calls.iter().enumerate().map(call).collect(), None)
    }

    /// The same with counts of tokens.
    pub(super) fn used(self, input: u64, output: u64) -> Self {
        match self {
            Self::End(content, _) => Self::End(content, Some((input, output))),
            Self::Break(fault, text, _) => Self::Break(fault, text, Some((input, output))),
            other => other,
        }
    }
}

type Part = Arc<dyn Fn(usize) -> Vec<Step> + Send + Sync>;

#[derive(Default)]
struct Played {
    parts: HashMap<String, Part>,
    /// By part.
    turns: HashMap<String, usize>,
    /// By server: who is on, and the most that were at the same time.
    on: HashMap<String, (usize, usize)>,
    /// What happened, in order.
    log: Vec<String>,
    requests: Vec<(String, ModelRequest)>,
    reports: Vec<Result<ChildReport, ErrorPayload>>,
    /// Tokens of all requests, as they were told.
    charged: (u64, u64),
    /// By task of the child: when it is given up.
    recalled: HashMap<String, Cue>,
}

/// All of it. A part is found by the newest message of the user that has one.
#[derive(Clone)]
pub(super) struct Stage {
    played: Arc<Mutex<Played>>,
    news: Arc<watch::Sender<()>>,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self { played: Arc::default(), news: Arc::new(watch::Sender::new(())) }
    }

    /// Who is asked to do this answers so; `steps` gets the number of the request, from 0.
    pub(super) fn on(&self, task: &str, steps: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) {
        self.played.lock().unwrap().parts.insert(task.to_owned(), Arc::new(steps));
    }

    pub(super) fn builder(&self, world: &World) -> AgentRuntimeBuilder {
        let stage = self.clone();
        let factory: ProviderFactory = Arc::new(move |settings| {
            let server = settings.base_url.clone();
            Ok(Arc::new(Actor { stage: stage.clone(), server }) as Arc<dyn ProviderAdapter>)
        });
        world.builder().register_provider("stage", factory).unwrap().tool(Arc::new(Sender::new(self.clone())))
    }

    /// What happened, in order.
    pub(super) fn log(&self) -> Vec<String> {
        self.played.lock().unwrap().log.clone()
    }

    /// The most requests that were on at the same time, by server.
    pub(super) fn most(&self) -> HashMap<String, usize> {
        let played = self.played.lock().unwrap();
        played.on.iter().map(|(server, (_, most))| (server.clone(), *most)).collect()
    }

    /// Tokens in and out of all requests, as they were told.
    pub(super) fn charged(&self) -> (u64, u64) {
        self.played.lock().unwrap().charged
    }

    fn charge(&self, counts: Option<(u64, u64)>) {
        let (input, output) = counts.unwrap_or_default();
        let charged = &mut self.played.lock().unwrap().charged;
        *charged = (charged.0 + input, charged.1 + output);
    }

    pub(super) fn requests(&self, task: &str) -> Vec<ModelRequest> {
        let played = self.played.lock().unwrap();
        played.requests.iter().filter(|(of, _)| of == task).map(|(_, request)| request.clone()).collect()
    }

    /// What came of children, in the order of their ends.
    pub(super) fn reports(&self) -> Vec<Result<ChildReport, ErrorPayload>> {
        self.played.lock().unwrap().reports.clone()
    }

    /// Waits until this has happened.
    pub(super) async fn until(&self, what: impl Fn(&Self) -> bool) {
        let mut news = self.news.subscribe();
        let waiting = async {
            while !what(self) {
                news.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("it happens: {:?}", self.log()));
    }

    pub(super) fn note(&self, line: String) {
        self.played.lock().unwrap().log.push(line);
        self.news.send_replace(());
    }

    /// Given, the call that sent a child for this task gives it up.
    pub(super) fn recalled(&self, task: &str) -> Cue {
        self.played.lock().unwrap().recalled.entry(task.to_owned()).or_insert_with(Cue::new).clone()
    }

    fn part_of(&self, request: &ModelRequest) -> (String, Vec<Step>) {
        let mut played = self.played.lock().unwrap();
        let users = request.messages.iter().rev().filter(|message| message.role == Role::User);
        let mut said = users.map(|message| {
            let dates = usize::from(message.metadata.contains_key("today"));
            let texts = message.content[..message.content.len() - dates].iter().filter_map(ContentBlock::as_text);
            texts.collect::<Vec<_>>().join("\n")
        });
        let task = said.find(|text| played.parts.contains_key(text)).unwrap_or_else(|| "any".to_owned());
        let part = played.parts.get(&task).unwrap_or_else(|| panic!("no part for {:?}", request.messages)).clone();
        let turn = played.turns.entry(task.clone()).or_default();
        let steps = part(*turn);
        *turn += 1;
        played.requests.push((task.clone(), request.clone()));
        (task, steps)
    }

    fn enters(&self, server: &str) {
        let mut played = self.played.lock().unwrap();
        let (now, most) = played.on.entry(server.to_owned()).or_default();
        *now += 1;
        *most = (*most).max(*now);
    }

    fn leaves(&self, server: &str) {
        self.played.lock().unwrap().on.get_mut(server).unwrap().0 -= 1;
    }
}

struct Actor {
    stage: Stage,
    server: String,
}

/// On stage at its server.
struct On {
    stage: Stage,
    server: String,
}

impl On {
    fn stage(stage: &Stage, server: &str) -> Self {
        stage.enters(server);
        Self { stage: stage.clone(), server: server.to_owned() }
    }
}

impl Drop for On {
    fn drop(&mut self) {
        self.stage.leaves(&self.server);
    }
}

impl ProviderAdapter for Actor {
    fn key(&self) -> &str {
        "stage"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let (stage, server) = (self.stage.clone(), self.server.clone());
        let begin = async move {
            let (task, steps) = stage.part_of(&request);
            let on = Some(On::stage(&stage, &server));
            stage.note(format!("{task} asks"));
            futures::stream::unfold(Some((steps.into_iter(), on)), move |state| {
                let (stage, server, task, cancel) = (stage.clone(), server.clone(), task.clone(), cancel.clone());
                async move {
                    let (mut steps, mut on) = state?;
                    let event = loop {
                        if on.is_none() {
                            on = Some(On::stage(&stage, &server));
                            stage.note(format!("{task} asks again"));
                        }
                        match steps.next().unwrap_or_else(|| panic!("{task} has no more steps")) {
                            Step::At(cue) => tokio::select! {
                                biased;
                                () = cancel.cancelled() => break failed(ModelFault::Aborted, None),
                                () = cue.wait() => {}
                            },
                            Step::Retry(wait_ms) => {
                                let error = ErrorPayload::new(ErrorCode::ProviderRateLimited, "not so fast");
                                let retry = ModelEvent::Retry { attempt: 1, wait_ms, error };
                                return Some((retry, Some((steps, None))));
                            }
                            Step::End(content, counts) => {
                                stage.charge(counts);
                                break ModelEvent::Completed(reply(content, counts));
                            }
                            Step::Break(fault, text, counts) => {
                                stage.charge(counts);
                                break failed(fault, Some(reply(vec![ContentBlock::text(text)], counts)));
                            }
                        }
                    };
                    stage.note(format!("{task} ends"));
                    Some((event, None))
                }
            })
        };
        begin.flatten_stream().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

fn reply(content: Vec<ContentBlock>, counts: Option<(u64, u64)>) -> Reply {
    let usage = Usage {
        input_tokens: counts.map(|(input, _)| input),
        output_tokens: counts.map(|(_, output)| output),
        ..Usage::default()
    };
    Reply { content, usage, stop: StopReason::new(StopKind::EndTurn), metadata: Object::new() }
}

fn failed(fault: ModelFault, partial: Option<Reply>) -> ModelEvent {
    let code = if fault == ModelFault::Aborted { ErrorCode::Cancelled } else { ErrorCode::ProviderError };
    ModelEvent::Failed { fault, error: ErrorPayload::new(code, "broke off"), partial }
}

/// `test.send`: sends a child and tells how it ended.
struct Sender {
    definition: ToolDefinition,
    stage: Stage,
}

/// A definition that asks a model of its own, if `profile` is an object or a name.
pub(super) fn definition(profile: Option<&Value>) -> AgentDefinition {
    AgentDefinition {
        agent_definition_id: "helper".to_owned(),
        name: "The helper".to_owned(),
        description: "For a test.".to_owned(),
        body: "Help.".to_owned(),
        model_profile: profile.map(|profile| match profile {
            Value::String(name) => ModelProfile::Named(name.clone()),
            keys => ModelProfile::Inline(keys.as_object().unwrap().clone()),
        }),
        suggested_tools: Vec::new(),
        tags: Vec::new(),
        overrides: None,
        source: DefinitionSource::Code,
        metadata: Object::new(),
    }
}

impl Sender {
    fn new(stage: Stage) -> Self {
        let definition = ToolDefinition {
            name: "test.send".to_owned(),
            description: "Sends a child.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "task": { "type": "string" },
                    // As JSON: a name, or a table.
                    "profile": { "type": "string" },
                    "fork": { "type": "boolean" },
                    "timeout_ms": { "type": "integer" },
                    "tools": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["task"],
                "additionalProperties": false,
            }),
            permission: Permission::Readonly,
            tags: Vec::new(),
            metadata: Object::new(),
        };
        Self { definition, stage }
    }
}

impl Tool for Sender {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        ToolClass::Agent
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        let told = arguments["task"].as_str().unwrap().to_owned();
        let tools = arguments.get("tools").and_then(Value::as_array);
        let profile = arguments.get("profile").map(|json| serde_json::from_str(json.as_str().unwrap()).unwrap());
        let is_fork = arguments.get("fork").is_some_and(|fork| fork == true);
        let task = ChildTask {
            kind: if is_fork { ChildKind::Fork } else { ChildKind::Sub },
            task: vec![ContentBlock::text(told.clone())],
            definition: Some(ChildDefinition::Given(Arc::new(definition(profile.as_ref())))),
            allowed_tools: tools.map(|tools| tools.iter().map(|name| name.as_str().unwrap().to_owned()).collect()),
            output_schema: None,
            timeout: arguments.get("timeout_ms").and_then(Value::as_u64).map(Duration::from_millis),
        };
        let stage = self.stage.clone();
        let call = move || {
            async move {
                let recalled = stage.recalled(&told);
                let report = tokio::select! {
                    report = context.children.run(task) => report,
                    () = recalled.wait() => return ToolOutput::value(json!("recalled")),
                };
                let shown = match &report {
                    Ok(report) => json!({
                        "status": report.status.as_str(),
                        "answer": report.answer,
                        "error": report.error.as_ref().map(|error| error.message.clone()),
                    }),
                    Err(error) => json!({ "refused": error.message }),
                };
                stage.played.lock().unwrap().reports.push(report);
                stage.note(format!("{told} is over"));
                ToolOutput::value(shown)
            }
            .boxed()
        };
        let facts = Facts { preview: "send".to_owned(), ..Facts::default() };
        std::future::ready(Ok(Prepared { facts, call: Box::new(call) })).boxed()
    }
}
