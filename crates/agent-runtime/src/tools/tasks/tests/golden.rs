//! What the tools write: every event type of the contract, line by line and event by event.

use std::collections::BTreeSet;
use std::path::Path;

use agent_protocol::{Object, RuntimeEvent};
use serde_json::{Value, json};

use super::{World, claim, set, update};

/// Everything that can happen to Tasks, by the tools alone.
async fn everything(world: &World) {
    let orchestrator = world.orchestrator().await;
    orchestrator.create("all", "a b<a c d e? f").await;
    let (one, two, three, four) = (
        world.worker("w1", "all", None).await,
        world.worker("w2", "all", None).await,
        world.worker("w3", "all", None).await,
        world.worker("w4", "all", None).await,
    );
    for (worker, step) in [(&one, "a"), (&two, "c"), (&three, "d"), (&four, "e")] {
        worker.ok("task_claim_step", claim("all", step)).await;
    }
    one.ok("task_update_step", set("all", "a", "running")).await;
    let half = json!({"task_id": "all", "step_id": "a", "result_summary": "half", "artifact_ids": ["art_1"]});
    one.ok("task_update_step", half).await;
    one.ok("task_update_step", set("all", "a", "completed")).await;
    let why = json!({"task_id": "all", "step_id": "c", "status": "failed", "reason": "no network"});
    two.ok("task_update_step", why).await;
    three.ok("task_update_step", set("all", "d", "cancelled")).await;
    orchestrator.ok("task_update_step", set("all", "f", "blocked")).await;
    world.at(super::LEASE + 1);
    orchestrator.ok("task_get", json!({"task_id": "all"})).await;
    let stop = json!([{"op": "update_task", "status": "blocked"}, {"op": "reopen_step", "step_id": "c"}]);
    orchestrator.ok("task_update", update("all", stop)).await;
    orchestrator.ok("task_update", update("all", json!([{"op": "update_task", "status": "pending"}]))).await;
    orchestrator.ok("task_fail", json!({"task_id": "all", "reason": "out of time"})).await;
    orchestrator.create("given-up", "a").await;
    orchestrator.ok("task_cancel", json!({"task_id": "given-up"})).await;
    orchestrator.create("done", "a b?").await;
    orchestrator.ok("task_update_step", set("done", "a", "completed")).await;
    orchestrator.ok("task_complete", json!({"task_id": "done", "result_summary": "It works."})).await;
}

const LOGS: [&str; 3] = ["all", "given-up", "done"];

/// WAL-1, WAL-2, WAL-7: what the tools write is what `golden.jsonl` says, to the byte: all 17 event types, the ten fields
/// of each line, the keys of each payload. `UPDATE_DOCS=1` writes the file anew.
#[tokio::test]
async fn the_tools_write_these_lines() {
    let world = World::new("golden").await;
    everything(&world).await;
    let written: String = LOGS.iter().map(|name| std::fs::read_to_string(world.log(name)).unwrap()).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools/tasks/tests/golden.jsonl");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    for (at, (is, should)) in written.lines().zip(golden.lines()).enumerate() {
        assert_eq!(is, should, "line {}", at + 1);
    }
    assert_eq!(written.lines().count(), golden.lines().count());
    let lines: Vec<Value> = golden.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: BTreeSet<&str> = lines.iter().map(|line| line["event_type"].as_str().unwrap()).collect();
    let all: BTreeSet<&str> = agent_tasks::Payload::EVENT_TYPES.iter().map(|event_type| event_type.as_str()).collect();
    assert_eq!(types, all);
    let fields =
        "wal_seq session_id event_id event_type actor_agent_id actor_run_id task_id step_id payload created_at";
    for line in &lines {
        let keys: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.join(" "), fields);
    }
}

/// WAL-2, EVT-1: each line has its event for programs, in the order of the log: the payload of the line with its ids beside it. They
/// are for debugging only.
#[tokio::test]
async fn each_line_has_its_event() {
    let world = World::new("events").await;
    everything(&world).await;
    let told = world.told().await;
    for name in LOGS {
        let of_task = |event: &&RuntimeEvent| event.payload["task_id"] == name && event.payload.contains_key("wal_seq");
        let events: Vec<&RuntimeEvent> = told.iter().filter(of_task).collect();
        let lines = world.lines(name);
        assert_eq!(events.len(), lines.len(), "{name}");
        for (event, line) in events.iter().zip(&lines) {
            let mut expected: Object = line["payload"].as_object().unwrap().clone();
            for key in ["task_id", "step_id", "wal_seq"] {
                expected.insert(key.to_owned(), line[key].clone());
            }
            assert_eq!(Value::from(event.payload.clone()), Value::from(expected));
            assert_eq!(event.event_type.as_str(), line["event_type"]);
            assert!(event.event_type.is_debug_only());
            assert_eq!(event.tool_call_id.as_ref().unwrap().as_str(), "call_1");
        }
    }
}

/// WAL-5: what the logs say is what was in memory, read by whoever comes later.
#[tokio::test]
async fn ended_tasks_are_read_again() {
    let world = World::new("again").await;
    everything(&world).await;
    let orchestrator = world.root_run(agent_protocol::AgentRole::Orchestrator, "run_later").await;
    for (name, status, counts) in [
        ("all", "failed", json!({"completed": 1, "failed": 4, "cancelled": 1})),
        ("given-up", "cancelled", json!({"cancelled": 1})),
        ("done", "completed", json!({"completed": 1, "cancelled": 1})),
    ] {
        let shown = orchestrator.ok("task_get", json!({"task_id": name, "include_terminal_steps": true})).await;
        assert_eq!((&shown["task"]["status"], &shown["task"]["steps"]), (&json!(status), &counts));
    }
}
