//! The ends of a Task.

use agent_protocol::ErrorCode;
use serde_json::json;

use super::world::{World, by_orchestrator, by_worker, claim, step_id, update};
use crate::StepStatus::{Blocked, Completed, Failed};
use crate::{Command, TaskStatus};

fn complete() -> Command {
    Command::Complete { result_summary: Some("all done".to_owned()) }
}

/// TSK-7, TSK-22: a Task is completed when every required step is, and nobody is at work; optional open steps are cancelled.
#[test]
fn completing() {
    let mut world = World::new("a b? c?<b d?");
    let (code, message) = world.refused(&complete());
    assert!(code == ErrorCode::TaskNotDispatchable && message.ends_with("somebody is at work on them: a"), "{message}");
    world.ok(&by_orchestrator("a", Completed));
    world.ok(&by_orchestrator("d", Blocked));
    world.ok(&claim(1, "b"));
    assert!(world.refused(&complete()).1.ends_with(": b"));
    world.ok(&by_worker(1, "b", Failed));
    assert!(world.task.is_completeable());
    assert_eq!(world.ok(&complete()), ["task_step_cancelled", "task_completed"]);
    assert_eq!(world.steps(), "a:completed b:failed c:cancelled d:blocked");
    assert_eq!((world.task.status(), world.task.result_summary()), (TaskStatus::Completed, Some("all done")));
    assert_eq!(world.replayed(), world.task);
}

/// TSK-7, TSK-21: failing and cancelling a Task end its unfinished steps with it, and no other.
#[test]
fn failing_and_cancelling() {
    for (command, end, reason) in [
        (Command::Fail { reason: Some("no budget".to_owned()) }, TaskStatus::Failed, "task_failed"),
        (Command::Cancel { reason: Some("no budget".to_owned()) }, TaskStatus::Cancelled, "task_cancelled"),
    ] {
        let mut world = World::new("a b<a c d e f");
        world.ok(&claim(1, "a"));
        world.ok(&by_orchestrator("c", Completed));
        world.ok(&by_orchestrator("d", Blocked));
        world.ok(&by_orchestrator("e", Failed));
        let types = world.ok(&command);
        assert_eq!(types.len(), 5, "{types:?}");
        assert_eq!(types.last(), Some(&if end == TaskStatus::Failed { "task_failed" } else { "task_cancelled" }));
        let ended = end.as_str();
        assert_eq!(world.steps(), format!("a:{ended} b:{ended} c:completed d:{ended} e:failed f:{ended}"));
        for (id, why) in [("a", Some(reason)), ("b", Some(reason)), ("c", None), ("e", None)] {
            assert_eq!(world.task.step(&step_id(id)).unwrap().reason.as_deref(), why, "{id}");
        }
        assert_eq!(world.task.reason(), Some("no budget"));
        assert_eq!(world.replayed(), world.task);
    }
}

/// TSK-7: an ended Task is never changed, whoever asks; late runs and clocks write nothing.
#[test]
fn an_ended_task_stays() {
    let mut world = World::new("a");
    world.ok(&claim(1, "a"));
    world.ok(&Command::Cancel { reason: None });
    for command in [
        claim(2, "a"),
        by_worker(1, "a", Completed),
        by_orchestrator("a", Completed),
        update(json!([{ "op": "update_task", "title": "New" }])),
        complete(),
        Command::Fail { reason: None },
        Command::Cancel { reason: None },
    ] {
        let (code, message) = world.refused(&command);
        assert!(code == ErrorCode::TaskTerminal && message.contains("task t1 is cancelled"), "{message}");
    }
    world.now = 1_000_000;
    let ended = Command::RunEnded { run_id: super::world::run_id(1), reason: "worker_timeout".to_owned() };
    for command in [Command::Settle, ended] {
        assert_eq!(world.ok(&command), [""; 0]);
    }
}

/// TSK-7, TSK-8: a Task without steps has nothing that was done: it waits for its Orchestrator and cannot be completed, however it came to
/// be so; it can be cancelled. A log of before that completed one is still read.
#[test]
fn a_task_without_steps_is_not_completed() {
    let mut emptied = World::new("a");
    emptied.ok(&update(json!([{ "op": "delete_step", "step_id": "a" }])));
    for mut world in [World::new(""), emptied] {
        assert!(world.task.is_stalled() && !world.task.is_completeable());
        let (code, message) = world.refused(&complete());
        assert!(code == ErrorCode::TaskNotDispatchable && message.contains("has no steps"), "{message}");
        let end = crate::TaskCompleted { result_summary: None, cancelled_optional_step_ids: Vec::new() };
        let mut before = world.task.clone();
        let end = crate::Event { step_id: None, at: crate::Moment::from_millis(1), payload: end.into() };
        before.apply(&end).unwrap();
        assert_eq!(before.status(), TaskStatus::Completed);
        world.ok(&Command::Cancel { reason: None });
    }
}
