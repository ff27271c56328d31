//! How Tasks end.

use std::time::Duration;

use agent_protocol::{ChildAgentCancelRequested, ChildCancelReason, ErrorCode, EventType};
use agent_store::SessionStore;
use serde_json::json;

use super::{World, claim, ended, set};

/// TSK-7, TSK-21: before a Task fails or is cancelled its workers are cancelled and waited for; those of other Tasks are left alone. The
/// unfinished steps end with the Task.
#[tokio::test]
async fn workers_are_stopped_first() {
    for (tool, status, key) in
        [("task_fail", "failed", "failed_step_ids"), ("task_cancel", "cancelled", "cancelled_step_ids")]
    {
        let world = World::new(tool).await;
        let mut orchestrator = world.orchestrator().await;
        orchestrator.patience = Duration::from_secs(600);
        orchestrator.create("t", "a b<a c").await;
        orchestrator.create("other", "x").await;
        let (worker, other) = (world.worker("w1", "t", None).await, world.worker("w2", "other", None).await);
        worker.ok("task_claim_step", claim("t", "a")).await;
        orchestrator.ok("task_update_step", set("t", "c", "completed")).await;
        let (lives, cancel, state) = worker.lives("t");
        let (_other_lives, other_cancel, _other_state) = other.lives("other");
        let stops = async {
            cancel.cancelled().await;
            // Whoever asks meanwhile finds the Task as it was, but nothing of it to claim.
            let late = world.worker("late", "t", None).await;
            let error = late.refused("task_claim_step", claim("t", "a")).await;
            assert_eq!(error.code, ErrorCode::TaskNotDispatchable);
            assert!(error.message.contains("is being ended"), "{error}");
            state.send_replace(ended());
            drop(lives);
        };
        let (written, ()) = tokio::join!(orchestrator.ok(tool, json!({"task_id": "t", "reason": "enough"})), stops);
        assert_eq!((&written["task"]["status"], &written[key]), (&json!(status), &json!(["a", "b"])));
        assert_eq!(written.get("workers_not_stopped"), None);
        assert!(!other_cancel.is_cancelled());
        let events = world.store.events(world.session.id(), 0, 1000).await.unwrap();
        let requested: Vec<ChildAgentCancelRequested> = events
            .iter()
            .filter(|event| event.event_type == EventType::ChildAgentCancelRequested)
            .map(|event| event.read().unwrap())
            .collect();
        assert_eq!(requested.len(), 1);
        assert_eq!(
            (&requested[0].child_run_id, requested[0].reason),
            (&worker.run.run_id, ChildCancelReason::TaskEnded)
        );
        let last = world.lines("t").pop().unwrap();
        assert_eq!(
            (&last["event_type"], &last["payload"]["reason"]),
            (&json!(format!("task_{status}")), &json!("enough"))
        );
    }
}

/// TSK-7: a worker that does not stop in time is told and does not keep the Task from ending; what it still does changes nothing.
#[tokio::test]
async fn a_worker_that_does_not_stop() {
    let world = World::new("stuck").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a").await;
    let worker = world.worker("w1", "t", None).await;
    worker.ok("task_claim_step", claim("t", "a")).await;
    let (_lives, _cancel, _state) = worker.lives("t");
    let written = orchestrator.ok("task_cancel", json!({"task_id": "t"})).await;
    assert_eq!(written["workers_not_stopped"], json!(["agent_w1"]));
    let events = world.store.events(world.session.id(), 0, 1000).await.unwrap();
    assert!(events.iter().any(|event| event.event_type == EventType::ChildAgentCancelTimeout));
    let before = world.lines("t");
    assert_eq!(worker.refused("task_update_step", set("t", "a", "completed")).await.code, ErrorCode::TaskTerminal);
    assert_eq!(world.lines("t"), before);
}

/// TSK-7, RUN-17, WRK-7: a call that is cancelled while it waits for workers leaves the Task as it was, open for claims; a step of a
/// worker that was stopped for it ends with the worker's run and not with the Task.
#[tokio::test]
async fn a_cancelled_call_ends_nothing() {
    let world = World::new("cancelled").await;
    let mut orchestrator = world.orchestrator().await;
    orchestrator.patience = Duration::from_secs(600);
    orchestrator.create("t", "a b").await;
    let worker = world.worker("w1", "t", None).await;
    let (lives, cancel, state) = worker.lives("t");
    worker.ok("task_claim_step", claim("t", "b")).await;
    let stuck = world.worker("w3", "t", None).await;
    let _stuck = stuck.lives("t");
    let stops = async {
        cancel.cancelled().await;
        state.send_replace(ended());
        let shown = world.root_run(agent_protocol::AgentRole::Orchestrator, "run_o2").await;
        let shown = shown.ok("task_get", json!({"task_id": "t"})).await;
        assert_eq!(shown["steps"][1]["status"], "claimed", "TSK-21: it would end with the Task");
        orchestrator.cancel.cancel();
    };
    let (error, ()) = tokio::join!(orchestrator.refused("task_fail", json!({"task_id": "t"})), stops);
    assert_eq!(error.code, ErrorCode::Cancelled);
    assert!(error.message.contains("task t is as it was"), "{error}");
    let last = world.lines("t").pop().unwrap();
    assert_eq!(
        (&last["event_type"], &last["step_id"], &last["payload"]["reason"]),
        (&json!("task_step_failed"), &json!("b"), &json!("worker_cancelled")),
        "whoever looks or not: {:?}",
        world.told().await.last()
    );
    drop(lives);
    world.worker("w2", "t", None).await.ok("task_claim_step", claim("t", "a")).await;
}

/// TSK-7, TSK-22: what `task_complete` needs is told with the steps; optional steps that nobody began are cancelled and listed.
#[tokio::test]
async fn completing_lists_what_is_open_or_given_up() {
    let world = World::new("completing").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b? c<b? d?").await;
    let worker = world.worker("w1", "t", None).await;
    worker.ok("task_claim_step", claim("t", "d")).await;
    let error = orchestrator.refused("task_complete", json!({"task_id": "t"})).await;
    assert_eq!(error.code, ErrorCode::TaskNotDispatchable);
    assert!(error.message.contains("a, d"), "{error}");
    for step in ["a", "d"] {
        let set = set("t", step, "completed");
        let caller = if step == "d" { &worker } else { &orchestrator };
        let written = caller.ok("task_update_step", set).await;
        assert_eq!(written["task"]["completeable"], step == "d");
    }
    let written = orchestrator.ok("task_complete", json!({"task_id": "t", "result_summary": "Done."})).await;
    assert_eq!(written["cancelled_optional_step_ids"], json!(["b", "c"]));
    assert_eq!(written["task"]["status"], "completed");
}
