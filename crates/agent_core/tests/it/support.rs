//! What the tests share: a world with a home, a project and a scripted server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_core::error::ErrorPayload;
use agent_core::id::SessionId;
use agent_core::message::Object;
use agent_core::permission::{CallbackError, DecisionKind, PermissionCallback};
use agent_core::runtime::{AgentRuntimeBuilder, RunResult};
use agent_core::tool::{CallContext, FnTool, Permission, ToolClass};
use agent_core::{
    AgentRuntime, EventType, PermissionDecision, PermissionRequest, RunHandle, RuntimeEvent, StartOptions,
    ToolDefinition,
};
use agent_testkit::{Protocol, ScriptedServer, TestHome};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

/// A home, a project and a server.
pub(crate) struct World {
    pub(crate) home: TestHome,
    pub(crate) server: ScriptedServer,
    protocol: Protocol,
}

impl World {
    pub(crate) async fn new(name: &str, protocol: Protocol) -> Self {
        Self::with(name, protocol, "").await
    }

    /// `extra` is laid over the configuration key by key.
    pub(crate) async fn with(name: &str, protocol: Protocol, extra: &str) -> Self {
        let world = Self { home: TestHome::new(name), server: ScriptedServer::start().await, protocol };
        world.configure(extra);
        world
    }

    pub(crate) fn configure(&self, extra: &str) {
        // Actors wait for one another in the middle of their answers: the one place of a server on this machine would not do.
        let places = if extra.contains("\"actors\"") && !extra.contains("parallel_requests") {
            "model.parallel_requests = 16\n"
        } else {
            ""
        };
        let extra = format!("{places}{extra}");
        self.home.write_config(&self.server.base_url(self.protocol), self.protocol.provider(), &extra);
    }

    pub(crate) fn builder(&self) -> AgentRuntimeBuilder {
        AgentRuntime::builder().home_dir(&self.home.home).project_dir(&self.home.project)
    }

    pub(crate) async fn runtime(&self) -> AgentRuntime {
        self.builder().build().await.expect("the runtime builds")
    }

    /// A runtime whose person always gives this answer.
    pub(crate) async fn answering(&self, decision: DecisionKind) -> (AgentRuntime, Arc<Person>) {
        let person = self.answering_with(decision);
        let builder = self.builder().permission_callback(person.clone());
        (builder.build().await.expect("the runtime builds"), person)
    }

    pub(crate) fn answering_with(&self, decision: DecisionKind) -> Arc<Person> {
        Arc::new(Person::new(decision))
    }

    /// A file of the project.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.home.project.join(path)).ok()
    }
}

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) result: RunResult,
    pub(crate) events: Vec<RuntimeEvent>,
    pub(crate) session_id: SessionId,
}

impl Ran {
    pub(crate) fn types(&self) -> Vec<&'static str> {
        self.events.iter().filter(|event| event.seq.is_some()).map(|event| event.event_type.as_str()).collect()
    }

    pub(crate) fn of_type(&self, event_type: EventType) -> Vec<&RuntimeEvent> {
        self.events.iter().filter(|event| event.event_type == event_type).collect()
    }

    /// All text of the stream, as it came.
    pub(crate) fn text(&self) -> String {
        self.of_type(EventType::MessageDelta).iter().map(|event| event.payload["text"].as_str().unwrap()).collect()
    }

    #[track_caller]
    pub(crate) fn assert_completed(&self) {
        assert_eq!(self.result.status.as_str(), "completed", "{:?}", self.result.error);
    }
}

/// Starts a message in a new session and watches it to its end.
pub(crate) async fn run(runtime: &AgentRuntime, message: &str) -> Ran {
    let handle = runtime.start(message, StartOptions::default()).await.expect("the run starts");
    watch(&handle).await
}

/// The same in a session.
pub(crate) async fn run_in(runtime: &AgentRuntime, session_id: &SessionId, message: &str) -> Ran {
    let options = StartOptions { session_id: Some(session_id.clone()), mode: None };
    let handle = runtime.start(message, options).await.expect("the run starts");
    watch(&handle).await
}

pub(crate) async fn watch(handle: &RunHandle) -> Ran {
    let mut stream = handle.events(true).expect("nobody watches yet");
    let mut events = Vec::new();
    while let Some(event) = stream.next().await.expect("the log can be read") {
        events.push(event);
    }
    Ran { result: handle.wait().await, events, session_id: handle.session_id().clone() }
}

/// A person who always gives the same answer, and remembers what was asked.
pub(crate) struct Person {
    decision: DecisionKind,
    pub(crate) asked: Mutex<Vec<PermissionRequest>>,
}

impl Person {
    fn new(decision: DecisionKind) -> Self {
        Self { decision, asked: Mutex::default() }
    }

    pub(crate) fn asked(&self) -> Vec<PermissionRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl PermissionCallback for Person {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        self.asked.lock().unwrap().push(request);
        async { Ok(PermissionDecision::new(self.decision)) }.boxed()
    }
}

/// A tool of the embedding program that counts its calls.
pub(crate) fn counting(name: &str, permission: Permission) -> (Arc<FnTool>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let class = match permission {
        Permission::Readonly => ToolClass::Readonly,
        Permission::Write => ToolClass::Write,
    };
    let tool = FnTool::new(definition(name, permission), class, move |arguments: Object, _: CallContext| {
        let n = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok::<Value, ErrorPayload>(json!({ "call": n, "got": arguments })) }
    });
    (Arc::new(tool), count)
}

pub(crate) fn definition(name: &str, permission: Permission) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: "For a test.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": { "n": { "type": "integer", "description": "Some number." } },
            "additionalProperties": false,
        }),
        permission,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

/// What could be read of a list, all of it.
pub(crate) fn whole<T, E: std::fmt::Debug>(list: Vec<Result<T, E>>) -> Vec<T> {
    list.into_iter().map(Result::unwrap).collect()
}
