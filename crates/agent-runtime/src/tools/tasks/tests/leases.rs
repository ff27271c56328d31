//! How long a worker keeps a step.

use agent_protocol::{ErrorCode, EventType};
use serde_json::json;

use super::{LEASE, World, claim, set};

/// TSK-5, WRK-7: while the run that holds a step lives in this process, its lease is renewed whenever somebody looks, however long ago
/// the last sign of life was, in memory only. Once it lives no longer, the step has failed, also where its lease was over by then.
#[tokio::test]
async fn a_living_run_keeps_its_step() {
    let world = World::new("living").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a").await;
    let worker = world.worker("w1", "t", None).await;
    let (lives, ..) = worker.lives("t");
    worker.ok("task_claim_step", claim("t", "a")).await;
    let lines = world.lines("t").len();
    for now in [LEASE * 10, LEASE * 100] {
        world.at(now);
        let shown = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
        assert_eq!(shown["steps"][0]["status"], "claimed");
    }
    world.at(LEASE * 1_000);
    worker.ok("task_update_step", set("t", "a", "running")).await;
    assert_eq!(world.lines("t").len(), lines + 1, "renewing writes nothing");
    world.at(LEASE * 10_000);
    drop(lives);
    let shown = orchestrator.ok("task_query_steps", json!({"task_id": "t", "include_terminal_steps": true})).await;
    assert_eq!(shown["steps"][0]["status"], "failed");
    let last = world.lines("t").pop().unwrap();
    assert_eq!(
        (&last["event_type"], &last["payload"]["reason"], &last["actor_run_id"]),
        (&json!("task_step_failed"), &json!("worker_failed: its run broke off"), &json!(null))
    );
}

/// SUB-06, TSK-13: a lease that is over ends before anybody looks; the step can be claimed by another, and the run that had it is
/// refused.
#[tokio::test]
async fn a_lost_lease_ends_first() {
    let world = World::new("lost").await;
    world.orchestrator().await.create("t", "a").await;
    let (dead, next) = (world.worker("w1", "t", None).await, world.worker("w2", "t", None).await);
    dead.ok("task_claim_step", claim("t", "a")).await;
    dead.ok("task_update_step", set("t", "a", "running")).await;
    world.at(LEASE);
    next.ok("task_claim_step", claim("t", "a")).await;
    assert_eq!(world.count(EventType::TaskStepLeaseExpired).await, 1);
    let error = dead.refused("task_update_step", set("t", "a", "completed")).await;
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert!(error.message.contains("holds step a no longer"), "{error}");
    let types: Vec<String> =
        world.lines("t").iter().skip(3).map(|line| line["event_type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        types,
        ["task_step_claimed", "task_step_started", "task_step_lease_expired", "task_step_ready", "task_step_claimed"]
    );
}

/// TSK-5: a sign of life of the holder renews the lease that is written.
#[tokio::test]
async fn writing_back_renews_the_lease() {
    let world = World::new("renewed").await;
    world.orchestrator().await.create("t", "a").await;
    let worker = world.worker("w1", "t", None).await;
    let claimed = worker.ok("task_claim_step", claim("t", "a")).await;
    assert_eq!(claimed["step"]["lease_expires_at"], "1970-01-01T00:00:01.000Z");
    world.at(LEASE - 1);
    let half = json!({"task_id": "t", "step_id": "a", "result_summary": "half"});
    let written = worker.ok("task_update_step", half).await;
    assert_eq!(written["step"]["lease_expires_at"], "1970-01-01T00:00:01.999Z");
    assert_eq!(world.lines("t").last().unwrap()["payload"]["lease_expires_at"], "1970-01-01T00:00:01.999Z");
}
