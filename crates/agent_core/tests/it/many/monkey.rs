//! A model that does what comes to its mind: whoever asks, it picks one of the tools that are offered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_core::ToolDefinition;
use agent_core::error::{ErrorCode, ErrorPayload};
use agent_core::id::ToolCallId;
use agent_core::message::{ContentBlock, Object};
use agent_core::model::{
    ModelEvent, ModelFault, ModelRequest, ModelStream, ProviderAdapter, Reply, StopKind, StopReason, Usage,
};
use agent_core::session::Role;
use agent_core::tool::ToolCall;
use futures::StreamExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::dice::Dice;

/// Tasks and steps that it knows of: few, so that its calls meet.
const TASKS: [&str; 2] = ["one", "two"];
const STEPS: [&str; 4] = ["a", "b", "c", "d"];

/// The model of a world.
pub(super) struct Monkey {
    dice: Mutex<Dice>,
    /// How long commands run: a number that no other world has, so that they are found by it.
    pub(super) nap: String,
    /// It says one thing from now on, and calls nothing.
    calm: AtomicBool,
    logs: Mutex<u64>,
}

impl Monkey {
    /// A time to sleep that nobody else sleeps.
    pub(super) fn nap_of(seed: u64) -> String {
        format!("60.{:012}", seed % 1_000_000_000_000)
    }

    pub(super) fn new(seed: u64, nap: String) -> Arc<Self> {
        Arc::new(Self { dice: Mutex::new(Dice::new(seed)), nap, calm: AtomicBool::new(false), logs: Mutex::new(0) })
    }

    pub(super) fn calms_down(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    fn roll<T>(&self, roll: impl FnOnce(&mut Dice) -> T) -> T {
        roll(&mut self.dice.lock().unwrap())
    }

    async fn say(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvent {
        if self.calm.load(Ordering::SeqCst) {
            return said("Nothing more.");
        }
        let (delay, fate) = self.roll(|dice| (dice.below(25), dice.below(40)));
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay)) => {}
            () = cancel.cancelled() => return failed(ModelFault::Aborted),
        }
        let turns = request.messages.iter().rev().take_while(|message| !is_message(message)).count() as u64;
        match fate {
            0 => failed(ModelFault::Fatal),
            1 => {
                cancel.cancelled().await;
                failed(ModelFault::Aborted)
            }
            _ if request.tools.tools.is_empty() => said("A summary of what was said."),
            _ if self.roll(|dice| dice.below(9) < turns) => said("It is done."),
            _ => self.roll(|dice| self.calls(dice, &request.tools.tools, turns)),
        }
    }

    fn calls(&self, dice: &mut Dice, tools: &[ToolDefinition], turns: u64) -> ModelEvent {
        let offers = |name: &str| tools.iter().any(|tool| tool.name == name);
        let mut known: Vec<&str> = CALLS.iter().copied().filter(|name| offers(name)).collect();
        // Without a Task nobody is sent, and without a claim nothing comes of it.
        let first = ["agent.task_create", "agent.task_claim_step"].into_iter().find(|name| offers(name));
        match first {
            Some(first) if turns < 2 && !dice.one_in(4) => known = vec![first],
            Some("agent.task_create") if dice.one_in(2) => known.retain(|name| name.contains("dispatch")),
            _ => {}
        }
        if known.is_empty() {
            return said("There is nothing to be done.");
        }
        let count = 1 + dice.below(3);
        let call = |_| {
            let name = *dice.pick(&known);
            let Value::Object(arguments) = self.arguments(dice, name) else { unreachable!() };
            let tool_call_id = ToolCallId::parse(&format!("call_{:016x}", dice.next())).unwrap();
            ContentBlock::ToolCall(ToolCall { tool_call_id, name: name.to_owned(), arguments, metadata: Object::new() })
        };
        completed((0..count).map(call).collect())
    }

    fn arguments(&self, dice: &mut Dice, name: &str) -> Value {
        let (task, step) = (*dice.pick(&TASKS), *dice.pick(&STEPS));
        match name {
            "agent.create_sub_agent" if dice.one_in(4) => json!({"task": "Look.", "timeout_ms": 1 + dice.below(200)}),
            "agent.create_sub_agent" if dice.one_in(2) => {
                json!({"task": "Do.", "allowed_tools": ["code.run_command", "code.write_file", "code.read_file"]})
            }
            "agent.create_sub_agent" => json!({"task": "Look around."}),
            "test.sub" | "test.fork" => json!({"timeout_ms": 1 + dice.below(900)}),
            "test.dispatch" => json!({"task_id": task, "timeout_ms": 100 + dice.below(900)}),
            "agent.fork_agent" => json!({"task": "Try the other way."}),
            "agent.dispatch_worker" if dice.one_in(4) => {
                json!({"task_id": task, "instruction": "Take one.", "allowed_step_ids": [step], "timeout_ms": 1 + dice.below(400)})
            }
            "agent.dispatch_worker" => json!({"task_id": task, "instruction": "Take a step and do it."}),
            "agent.task_create" => {
                let mut logs = self.logs.lock().unwrap();
                *logs += 1;
                json!({"task_id": task, "wal_name": format!("{task}-{logs}-{:06x}", dice.below(1 << 24)), "title": "T", "summary": "",
                    "steps": [{"step_id": "a", "title": "A"}, {"step_id": "b", "title": "B", "depends_on_step_ids": ["a"]},
                        {"step_id": "c", "title": "C"}, {"step_id": "d", "title": "D", "required": false}]})
            }
            "agent.task_update" => {
                let op = if dice.one_in(2) {
                    json!({"op": "reopen_step", "step_id": step})
                } else {
                    json!({"op": "update_step", "step_id": step, "fields": {"title": "Another"}})
                };
                json!({"task_id": task, "operations": [op]})
            }
            "agent.task_update_step" => {
                let status = *dice.pick(&["running", "completed", "failed", "blocked"]);
                json!({"task_id": task, "step_id": step, "status": status})
            }
            "agent.task_claim_step" => json!({"task_id": task, "step_id": step}),
            "agent.list_workers" | "agent.task_list" => json!({}),
            name if name.starts_with("agent.task_") => json!({"task_id": task}),
            "code.run_command" => {
                let script = format!("sleep {} & sleep {}", self.nap, if dice.one_in(2) { "0.05" } else { &self.nap });
                json!({"argv": ["sh", "-c", script]})
            }
            "code.write_file" => {
                json!({"path": format!("{step}.txt"), "content": format!("{}\n", dice.below(100)), "overwrite": dice.one_in(2)})
            }
            _ => json!({"path": format!("{step}.txt")}),
        }
    }
}

/// The calls that it knows to make.
const CALLS: [&str; 24] = [
    "test.sub",
    "test.fork",
    "test.dispatch",
    "test.dispatch",
    "test.dispatch",
    "agent.create_sub_agent",
    "agent.create_sub_agent",
    "agent.fork_agent",
    "agent.dispatch_worker",
    "agent.dispatch_worker",
    "agent.dispatch_worker",
    "agent.task_create",
    "agent.task_update",
    "agent.task_update_step",
    "agent.task_claim_step",
    "agent.task_claim_step",
    "agent.task_query_steps",
    "agent.task_complete",
    "agent.task_fail",
    "agent.task_cancel",
    "agent.list_workers",
    "code.run_command",
    "code.write_file",
    "code.read_file",
];

fn is_message(message: &agent_protocol::ModelMessage) -> bool {
    message.role == Role::User && !message.metadata.contains_key("synthetic")
}

fn said(text: &str) -> ModelEvent {
    completed(vec![ContentBlock::text(text)])
}

fn completed(content: Vec<ContentBlock>) -> ModelEvent {
    let stop = StopReason::new(StopKind::EndTurn);
    ModelEvent::Completed(Reply { content, usage: Usage::default(), stop, metadata: Object::new() })
}

fn failed(fault: ModelFault) -> ModelEvent {
    ModelEvent::Failed {
        fault,
        error: ErrorPayload::new(ErrorCode::ProviderError, "the server is gone"),
        partial: None,
    }
}

/// The monkey, as a provider that outlives the call.
pub(super) struct Model(pub(super) Arc<Monkey>);

impl ProviderAdapter for Model {
    fn key(&self) -> &str {
        "monkey"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let monkey = Arc::clone(&self.0);
        futures::stream::once(async move { monkey.say(request, cancel).await }).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
