//! Claims, leases and what is written back, case by case.

use std::collections::BTreeSet;

use agent_protocol::{ArtifactId, ErrorCode};
use serde_json::json;

use super::world::{LEASE, World, by_orchestrator, by_worker, claim, run_id, spec, step_id, update, worker};
use crate::StepStatus::{Blocked, Cancelled, Claimed, Completed, Failed, Ready, Running};
use crate::{Actor, Command, MAX_TEXT_BYTES, Moment, PoolId, StepSpec, StepUpdate, Task, TaskStatus};

/// TSK-16, TSK-6: a new Task is pending; its first ready step lets it run, and no Task runs without one.
#[test]
fn a_new_task_has_its_roots_ready() {
    let world = World::new("a b<a c");
    assert_eq!(world.steps(), "a:ready b:pending c:ready");
    assert_eq!(world.task.status(), TaskStatus::Running);
    let types: Vec<&str> = world.log.iter().map(|event| event.payload.event_type().as_str()).collect();
    assert_eq!(types, ["task_created", "task_step_ready", "task_step_ready", "task_running"]);
    assert_eq!(World::new("").task.status(), TaskStatus::Pending);
}

/// TSK-3, TSK-6: the way of a step, with the events that it leaves.
#[test]
fn from_ready_to_completed() {
    let mut world = World::new("a b<a");
    assert_eq!(world.ok(&claim(1, "a")), ["task_step_claimed"]);
    assert_eq!(world.task.step(&step_id("a")).unwrap().lease(), Some(Moment::from_millis(LEASE)));
    assert_eq!(world.ok(&by_worker(1, "a", Running)), ["task_step_started"]);
    assert_eq!(world.ok(&by_worker(1, "a", Completed)), ["task_step_completed", "task_step_ready"]);
    assert_eq!(world.steps(), "a:completed b:ready");
    // Running is no condition.
    world.ok(&claim(2, "b"));
    assert_eq!(world.ok(&by_worker(2, "b", Failed)), ["task_step_failed"]);
    assert!(world.task.is_stalled() && !world.task.is_completeable(), "TSK-8");
}

/// TSK-18: why a claim is refused, in the order of the rule.
#[test]
fn claims_that_are_refused() {
    let mut world = World::new("a b<a c d");
    world.ok(&claim(1, "a"));
    for (command, code, words) in [
        (claim(2, "a"), ErrorCode::StepAlreadyClaimed, "claimed by worker agent_w1"),
        (claim(2, "b"), ErrorCode::StepNotReady, "step b is pending; it waits for a"),
        (claim(2, "x"), ErrorCode::StepNotFound, "no step x in task t1"),
        (claim(1, "c"), ErrorCode::StepAlreadyClaimedByRun, "claimed step a"),
        (claim(1, "a"), ErrorCode::StepAlreadyClaimedByRun, "claimed step a"),
    ] {
        let (found, message) = world.refused(&command);
        assert!(found == code && message.contains(words), "{command:?}: {message}");
    }
    // Held and unready come before the scope.
    let scoped = |id: &str| {
        let mut by = worker(3, 3);
        by.allowed_step_ids = Some(BTreeSet::from([step_id("d")]));
        Command::Claim { worker: by, step_id: step_id(id) }
    };
    assert_eq!(world.refused(&scoped("a")).0, ErrorCode::StepAlreadyClaimed);
    assert_eq!(world.refused(&scoped("b")).0, ErrorCode::StepNotReady);
    let (code, message) = world.refused(&scoped("c"));
    assert!(code == ErrorCode::PermissionDenied && message.contains("not among the steps"), "{message}");
    world.ok(&scoped("d"));
}

/// TSK-18, WRK-10: a step of another pool is out of scope; one without a pool suits every pool.
#[test]
fn pools_keep_their_steps() {
    let other = StepSpec { worker_pool_id: Some(PoolId::parse("other").unwrap()), ..spec("a") };
    let (task, log) = Task::create(&super::world::new_task(&[other, spec("b")]), Moment::from_millis(0)).unwrap();
    let mut world = World { task, log, now: 0 };
    let (code, message) = world.refused(&claim(1, "a"));
    assert!(code == ErrorCode::PermissionDenied && message.contains("worker pool other"), "{message}");
    world.ok(&claim(1, "b"));
}

/// TSK-20: in a blocked Task nothing is claimed or begun, and what is held is written back.
#[test]
fn a_blocked_task_takes_results_and_gives_no_work() {
    let mut world = World::new("a b<a c d");
    world.ok(&claim(1, "a"));
    assert_eq!(world.ok(&update(json!([{ "op": "update_task", "status": "blocked" }]))), ["task_updated"]);
    assert_eq!(world.refused(&claim(2, "c")).0, ErrorCode::TaskNotDispatchable);
    assert_eq!(world.refused(&by_orchestrator("c", Running)).0, ErrorCode::TaskNotDispatchable);
    assert_eq!(world.ok(&by_worker(1, "a", Completed)), ["task_step_completed", "task_step_ready"]);
    assert_eq!((world.task.status(), world.status("b")), (TaskStatus::Blocked, Ready));
    let types = world.ok(&update(json!([{ "op": "update_task", "status": "pending" }])));
    assert_eq!(types, ["task_updated", "task_reopened", "task_running"]);
    world.ok(&claim(2, "c"));
}

/// TSK-5: what its holder writes renews a lease, never shortens it; a lease that was renewed in memory is told by no event.
#[test]
fn leases_are_renewed_by_signs_of_life() {
    let lease = |world: &World| world.task.step(&step_id("a")).unwrap().lease().unwrap().millis();
    let mut world = World::new("a");
    world.ok(&claim(1, "a"));
    world.now = 600;
    world.ok(&by_worker(1, "a", Running));
    assert_eq!(lease(&world), 1_600);
    assert!(world.task.renew_lease(&run_id(1), Moment::from_millis(5_000)));
    assert!(world.task.renew_lease(&run_id(1), Moment::from_millis(4_000)));
    assert!(!world.task.renew_lease(&run_id(2), Moment::from_millis(9_000)));
    assert_eq!(lease(&world), 5_000);
    world.now = 700;
    let update = StepUpdate { result_summary: Some("half".to_owned()), ..StepUpdate::default() };
    let half = Command::UpdateStep { by: Actor::Worker(run_id(1)), step_id: step_id("a"), update };
    assert_eq!(world.ok(&half), ["task_step_updated"]);
    assert_eq!(lease(&world), 5_000);
    assert_eq!(world.task.next_lease(), Some(Moment::from_millis(5_000)));
}

/// TSK-5, SUB-06: a lease that is over gives the step back; the old run's late result is refused, and so is a second claim of it.
#[test]
fn a_lease_that_is_over_gives_the_step_back() {
    let mut world = World::new("a");
    world.ok(&claim(1, "a"));
    world.now = LEASE - 1;
    assert_eq!(world.ok(&Command::Settle), [""; 0]);
    world.now = LEASE;
    assert_eq!(world.ok(&Command::Settle), ["task_step_lease_expired", "task_step_ready"]);
    assert_eq!(world.task.step(&step_id("a")).unwrap().claim, None);
    let (code, message) = world.refused(&by_worker(1, "a", Completed));
    assert!(code == ErrorCode::PermissionDenied && message.contains("holds step a no longer"), "{message}");
    assert_eq!(world.refused(&claim(1, "a")).0, ErrorCode::StepAlreadyClaimedByRun);
    world.ok(&claim(2, "a"));
    assert_eq!(world.replayed(), world.task);
}

/// TSK-19: who may write what about a step in which state.
#[test]
fn writes_about_steps_that_are_refused() {
    let mut world = World::new("a b<a c d");
    world.ok(&claim(1, "a"));
    world.ok(&claim(2, "c"));
    world.ok(&by_worker(2, "c", Completed));
    for (command, code, words) in [
        (by_worker(2, "a", Completed), ErrorCode::PermissionDenied, "has not claimed step a"),
        (by_worker(2, "c", Running), ErrorCode::PermissionDenied, "holds step c no longer"),
        (by_orchestrator("b", Running), ErrorCode::StepNotReady, "waits for a"),
        (by_orchestrator("c", Failed), ErrorCode::TaskNotDispatchable, "c is completed; that is final"),
        (by_orchestrator("a", Cancelled), ErrorCode::TaskNotDispatchable, "its holder ends it"),
        (by_orchestrator("d", Cancelled), ErrorCode::TaskNotDispatchable, "use cancel_step"),
        (by_worker(1, "a", Claimed), ErrorCode::ValidationError, "cannot be set to claimed"),
        (by_worker(1, "x", Running), ErrorCode::StepNotFound, "no step x"),
    ] {
        let (found, message) = world.refused(&command);
        assert!(found == code && message.contains(words), "{command:?}: {message}");
    }
    let wrong =
        |update: StepUpdate| Command::UpdateStep { by: Actor::Worker(run_id(1)), step_id: step_id("a"), update };
    for (update, words) in [
        (StepUpdate::default(), "nothing to update"),
        (StepUpdate { reason: Some("why".to_owned()), ..StepUpdate::default() }, "reason goes with"),
        (StepUpdate { result_summary: Some("x".repeat(MAX_TEXT_BYTES + 1)), ..StepUpdate::default() }, "WAL-09"),
    ] {
        let (code, message) = world.refused(&wrong(update));
        let words = if words == "WAL-09" { "write the details to a file or an artifact" } else { words };
        assert!(code == ErrorCode::ValidationError && message.contains(words), "{message}");
    }
}

/// TSK-3, TSK-19: the Orchestrator does a step itself, without claim and lease; it cannot be taken away from it by time.
#[test]
fn the_orchestrator_does_a_step_itself() {
    let mut world = World::new("a b<a");
    assert_eq!(world.ok(&by_orchestrator("a", Running)), ["task_step_started"]);
    assert_eq!(world.refused(&claim(1, "a")).0, ErrorCode::StepAlreadyClaimed);
    world.now = LEASE * 10;
    assert_eq!(world.ok(&Command::Settle), [""; 0]);
    assert_eq!(world.ok(&by_orchestrator("a", Completed)), ["task_step_completed", "task_step_ready"]);
    assert_eq!(world.replayed(), world.task);
}

/// TSK-3: a blocked step is nobody's; what was said of it stays, and the Orchestrator lets it begin anew.
#[test]
fn a_blocked_step_is_reopened() {
    let mut world = World::new("a");
    world.ok(&claim(1, "a"));
    let art = ArtifactId::parse("art_1").unwrap();
    let update_of = StepUpdate {
        status: Some(Blocked),
        result_summary: Some("half".to_owned()),
        artifact_ids: Some(vec![art.clone()]),
        reason: Some("no network".to_owned()),
    };
    world.ok(&Command::UpdateStep { by: Actor::Worker(run_id(1)), step_id: step_id("a"), update: update_of });
    let step = world.task.step(&step_id("a")).unwrap().clone();
    assert_eq!((step.status, &step.claim, step.reason.as_deref()), (Blocked, &None, Some("no network")));
    let (code, message) = world.refused(&by_orchestrator("a", Completed));
    assert!(code == ErrorCode::TaskNotDispatchable && message.contains("reopen it"), "{message}");
    let types = world.ok(&update(json!([{ "op": "reopen_step", "step_id": "a", "reason": "network is back" }])));
    assert_eq!(types, ["task_updated", "task_step_reopened", "task_step_ready"]);
    let step = world.task.step(&step_id("a")).unwrap();
    assert_eq!((step.status, step.result_summary.as_deref(), &step.artifact_ids), (Ready, Some("half"), &vec![art]));
    assert_eq!(world.replayed(), world.task);
}

/// WRK-7: a run that ends with its step open has failed it; one that has no open step changes nothing.
#[test]
fn a_run_that_ends_with_its_step_open_has_failed_it() {
    let ended = |run| Command::RunEnded { run_id: run_id(run), reason: "worker_timeout".to_owned() };
    let mut world = World::new("a b");
    world.ok(&claim(1, "a"));
    world.ok(&claim(2, "b"));
    world.ok(&by_worker(2, "b", Completed));
    assert_eq!(world.ok(&ended(1)), ["task_step_failed"]);
    assert_eq!(world.task.step(&step_id("a")).unwrap().reason.as_deref(), Some("worker_timeout"));
    for run in [1, 2, 3] {
        assert_eq!(world.ok(&ended(run)), [""; 0]);
    }
}

/// TSK-19: an update that says nothing new is one event, and `running` on a running step is no second start.
#[test]
fn a_step_starts_once() {
    let mut world = World::new("a");
    world.ok(&claim(1, "a"));
    let update =
        StepUpdate { status: Some(Running), result_summary: Some("begun".to_owned()), ..StepUpdate::default() };
    let start = Command::UpdateStep { by: Actor::Worker(run_id(1)), step_id: step_id("a"), update };
    assert_eq!(world.ok(&start), ["task_step_started", "task_step_updated"]);
    assert_eq!(world.ok(&start), ["task_step_updated"]);
    assert_eq!(world.task.step(&step_id("a")).unwrap().result_summary.as_deref(), Some("begun"));
}
