//! Workers of an Orchestrator, end to end: chosen, sent, and what becomes of their steps (WRK-*).

mod ends;
mod killed;
mod late;
mod refused;
mod sent;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_core::error::ErrorPayload;
use agent_core::id::SessionId;
use agent_core::message::ContentBlock;
use agent_core::runtime::RunMode;
use agent_core::tool::{CallContext, FnTool, Permission, ToolClass};
use agent_core::{AgentRuntime, EventType, RunHandle, RuntimeEvent, StartOptions};
use agent_store::SessionStore;
use agent_testkit::Protocol;
use serde_json::{Value, json};

use crate::children::actors::{Actors, Say, text_of};
use crate::stored::Stored;
use crate::support::{Ran, World, definition, watch};

/// Two workers of one pool, and one of another.
const POOLS: &str = "model.provider = \"actors\"\nagents.worker_pools = [{ pool_id = \"a\", workers = [{ worker_id = \"a1\", \
    agent_definition_id = \"default_worker_agent\" }, { worker_id = \"a2\", agent_definition_id = \"default_worker_agent\" }] }, \
    { pool_id = \"b\", workers = [{ worker_id = \"b1\", agent_definition_id = \"default_worker_agent\" }] }]";

async fn world(name: &str, extra: &str) -> World {
    World::with(name, Protocol::OpenAi, &format!("{POOLS}\n{extra}")).await
}

async fn start(runtime: &AgentRuntime, session: Option<&SessionId>, message: &str) -> RunHandle {
    let options = StartOptions { session_id: session.cloned(), mode: Some(RunMode::Orchestrator) };
    runtime.start(message, options).await.unwrap()
}

async fn orchestrate(runtime: &AgentRuntime, session: Option<&SessionId>, message: &str) -> Ran {
    let ran = watch(&start(runtime, session, message).await).await;
    ran.assert_completed();
    ran
}

/// A call that makes the Task `t`. Steps are written `a b<a c@pool`.
fn create(steps: &str) -> (&'static str, Value) {
    let step = |text: &str| {
        let (text, pool) = text.split_once('@').map_or((text, None), |(text, pool)| (text, Some(pool)));
        let (id, on) = text.split_once('<').unwrap_or((text, ""));
        let on: Vec<_> = on.split(',').filter(|id| !id.is_empty()).collect();
        json!({"step_id": id, "title": format!("Step {id}"), "summary": "Do it.", "depends_on_step_ids": on, "worker_pool_id": pool})
    };
    let steps: Vec<_> = steps.split_whitespace().map(step).collect();
    ("agent.task_create", json!({"task_id": "t", "wal_name": "t", "title": "The task", "summary": "s", "steps": steps}))
}

/// A call that sends a worker; `more` lies over the arguments.
fn dispatch(instruction: &str, more: Value) -> (&'static str, Value) {
    let mut arguments = json!({"task_id": "t", "instruction": instruction});
    let Value::Object(more) = more else { unreachable!() };
    arguments.as_object_mut().unwrap().extend(more);
    ("agent.dispatch_worker", arguments)
}

fn claim(step: &str) -> (&'static str, Value) {
    ("agent.task_claim_step", json!({"task_id": "t", "step_id": step}))
}

fn set(step: &str, status: &str, summary: &str) -> (&'static str, Value) {
    ("agent.task_update_step", json!({"task_id": "t", "step_id": step, "status": status, "result_summary": summary}))
}

/// The Orchestrator says this, reply by reply, and then that it is done.
fn orchestrator(actors: &Actors, message: &str, replies: Vec<Vec<(&'static str, Value)>>) {
    // What it was asked before this message does not count.
    actors.on(message, move |turn, _| match replies.get(turn) {
        Some(calls) => Say::calls(calls),
        None => Say::text("Done."),
    });
}

/// A worker that claims a step, completes it and says so.
fn works(actors: &Actors, instruction: &str, step: &'static str) {
    actors.on(instruction, move |turn, _| match turn {
        0 => Say::calls(&[claim(step)]),
        1 => Say::calls(&[set(step, "completed", &format!("{step} is done"))]),
        _ => Say::text(&format!("I did {step}.")),
    });
}

/// The same, but it begins once the gate is open.
fn works_behind(actors: &Actors, gate: &Gate, instruction: &str, step: &'static str) {
    let gate = gate.clone();
    actors.on(instruction, move |turn, _| match turn {
        0 if !gate.is_open() => Say::Again,
        0 => Say::calls(&[claim(step)]),
        1 => Say::calls(&[set(step, "completed", &format!("{step} is done"))]),
        _ => Say::text(&format!("I did {step}.")),
    });
}

/// A tool of the program that does something beside the calls of its reply.
fn beside<F, Fut>(name: &str, work: F) -> Arc<FnTool>
where
    F: Fn(CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, ErrorPayload>> + Send + 'static,
{
    Arc::new(FnTool::new(definition(name, Permission::Readonly), ToolClass::Agent, move |_, context| work(context)))
}

/// Holds actors back.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn open(&self, actors: &Actors) {
        self.0.store(true, Ordering::SeqCst);
        actors.happened();
    }
}

/// Watches a run, and opens the gate once an event of this type has come.
async fn watch_and_open(run: &RunHandle, event_type: EventType, gate: &Gate, actors: &Actors) -> Ran {
    let mut stream = run.events(true).unwrap();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await.unwrap() {
        if event.event_type == event_type {
            gate.open(actors);
        }
        events.push(event);
    }
    Ran { result: run.wait().await, events, session_id: run.session_id().clone() }
}

/// The results of a tool, in the order of the calls, as the model sees them.
fn results(actors: &Actors, message: &str, tool: &str) -> Vec<Value> {
    let requests = actors.asked(message);
    let mut calls = Vec::new();
    let mut found = Vec::new();
    for block in requests.last().unwrap().messages.iter().flat_map(|message| message.content.iter()) {
        match block {
            ContentBlock::ToolCall(call) if call.name == tool => calls.push(call.tool_call_id.clone()),
            ContentBlock::ToolResult(result) if calls.contains(&result.tool_call_id) => {
                let json = result.content.iter().find_map(|block| match block {
                    ContentBlock::Json(json) => json.data.clone(),
                    _ => None,
                });
                found.push(json.unwrap_or_else(|| text_of(&result.content).into()));
            }
            _ => {}
        }
    }
    found
}

/// The error codes of failed calls, in the order in which they failed.
fn codes(ran: &Ran) -> Vec<String> {
    let failed = ran.of_type(EventType::ToolFailed).into_iter();
    failed.map(|event| event.payload["error"]["code"].as_str().unwrap().to_owned()).collect()
}

fn log(world: &World, session_id: &SessionId) -> PathBuf {
    world.home.project.join(".soong-agent/tasks").join(session_id.as_str()).join("t.wal.jsonl")
}

/// The lines of the Task's log that are about one step: what happened, and why.
fn lines(world: &World, session_id: &SessionId, step: &str) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(log(world, session_id)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["step_id"] == step)
        .map(|line| (line["event_type"].as_str().unwrap().to_owned(), line["payload"]["reason"].clone()))
        .collect()
}

fn last_line(world: &World, session_id: &SessionId, step: &str) -> (String, Value) {
    lines(world, session_id, step).pop().unwrap()
}

/// All events of a session.
async fn events(world: &World, session_id: &SessionId) -> Vec<RuntimeEvent> {
    let store = Stored::open(&world.home.home).await.store;
    let events = store.events(session_id, 0, 10_000).await.unwrap();
    store.close().await;
    events
}
