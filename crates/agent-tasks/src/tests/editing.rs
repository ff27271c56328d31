//! `task_update`, case by case.

use agent_protocol::ErrorCode;
use serde_json::json;

use super::world::{World, by_orchestrator, by_worker, claim, step_id, update};
use crate::StepStatus::{Blocked, Cancelled, Completed, Failed, Pending, Running};
use crate::{MAX_OPERATIONS, Operation, Payload, TaskStatus};

/// TSK-9: operations work in order on a copy; one that fails undoes all before it.
#[test]
fn all_or_nothing() {
    let mut world = World::new("a b<a");
    let (code, message) = world.refused(&update(json!([
        { "op": "update_task", "title": "New title", "summary": "New" },
        { "op": "add_step", "step": { "step_id": "c", "title": "C", "depends_on_step_ids": ["a"] } },
        { "op": "cancel_step", "step_id": "a" },
        { "op": "delete_step", "step_id": "nobody" },
    ])));
    assert!(code == ErrorCode::StepNotFound && message.contains("nobody"), "{message}");
    assert_eq!((world.steps().as_str(), world.task.title()), ("a:ready b:pending", "A task"));
}

/// TSK-9: a step may depend on one that a later operation adds; the graph is judged at the end.
#[test]
fn the_final_graph_counts() {
    let mut world = World::new("a");
    let types = world.ok(&update(json!([
        { "op": "add_dependency", "step_id": "a", "depends_on_step_id": "b" },
        { "op": "add_step", "step": { "step_id": "b", "title": "B" } },
    ])));
    assert_eq!(types, ["task_updated", "task_step_ready"]);
    assert_eq!(world.steps(), "a:pending b:ready");
    let (code, message) =
        world.refused(&update(json!([{ "op": "add_dependency", "step_id": "a", "depends_on_step_id": "zz" }])));
    assert!(code == ErrorCode::StepNotFound && message.contains("zz"), "{message}");
}

/// TSK-10: a cycle is refused, and named.
#[test]
fn cycles_are_named() {
    let mut world = World::new("a b<a c<b d");
    let add =
        |step: &str, on: &str| update(json!([{ "op": "add_dependency", "step_id": step, "depends_on_step_id": on }]));
    let (code, message) = world.refused(&add("a", "c"));
    assert_eq!(code, ErrorCode::DependencyCycle);
    assert!(message.ends_with("a -> c -> b -> a"), "{message}");
    assert!(world.refused(&add("d", "d")).1.ends_with("d -> d"));
    world.ok(&add("d", "c"));
    assert_eq!(world.status("d"), Pending);
}

/// TSK-10, TSK-23: which steps can be deleted, cancelled and reopened in which state.
#[test]
fn what_a_state_allows() {
    let all = || {
        let mut world = World::new("pending<ready ready claimed running blocked completed failed cancelled");
        world.ok(&update(json!([{ "op": "cancel_step", "step_id": "cancelled" }])));
        world.ok(&claim(1, "claimed"));
        world.ok(&claim(2, "running"));
        world.ok(&by_worker(2, "running", Running));
        world.ok(&by_orchestrator("blocked", Blocked));
        world.ok(&by_orchestrator("completed", Completed));
        world.ok(&by_orchestrator("failed", Failed));
        world
    };
    for (op, allowed) in [
        ("delete_step", &["pending", "cancelled"][..]),
        ("cancel_step", &["pending", "ready"]),
        ("reopen_step", &["blocked", "failed"]),
    ] {
        for id in ["pending", "claimed", "running", "blocked", "completed", "failed", "cancelled", "ready"] {
            let mut world = all();
            let command = update(json!([{ "op": op, "step_id": id }]));
            if allowed.contains(&id) {
                world.ok(&command);
                assert_eq!(world.replayed(), world.task, "{op} {id}");
            } else {
                let code = world.refused(&command).0;
                let expected = if (op, id) == ("delete_step", "ready") {
                    ErrorCode::StepHasDependents
                } else {
                    ErrorCode::TaskNotDispatchable
                };
                assert_eq!(code, expected, "{op} {id}");
            }
        }
    }
    let mut world = all();
    world.ok(&update(json!([
        { "op": "remove_dependency", "step_id": "pending", "depends_on_step_id": "ready" },
        { "op": "delete_step", "step_id": "ready" },
    ])));
    // Content and topology of what has ended are fixed, but for the words (TSK-10).
    for id in ["completed", "cancelled"] {
        for wrong in [
            json!([{ "op": "update_step", "step_id": id, "fields": { "required": false } }]),
            json!([{ "op": "add_dependency", "step_id": id, "depends_on_step_id": "failed" }]),
        ] {
            assert_eq!(world.refused(&update(wrong)).0, ErrorCode::TaskNotDispatchable);
        }
        world.ok(&update(
            json!([{ "op": "update_step", "step_id": id, "fields": { "title": "Better", "summary": "words" } }]),
        ));
    }
}

/// TSK-11: editing a step in work leaves its state and its holder alone; the update names it, and what was dispatched stays to be read.
#[test]
fn editing_a_step_in_work() {
    let mut world = World::new("a b");
    world.ok(&claim(1, "a"));
    world.ok(&update(json!([
        { "op": "update_step", "step_id": "a", "fields": { "title": "Other work", "worker_pool_id": "other" } },
        { "op": "add_dependency", "step_id": "a", "depends_on_step_id": "b" },
        { "op": "update_step", "step_id": "b", "fields": { "title": "B" } },
    ])));
    let Payload::TaskUpdated(updated) = &world.log.last().unwrap().payload else { panic!("{:?}", world.log.last()) };
    assert_eq!(updated.updated_after_dispatch_step_ids, [step_id("a")]);
    let step = world.task.step(&step_id("a")).unwrap();
    assert_eq!(step.status.as_str(), "claimed");
    assert!(step.changed_since_dispatch());
    let dispatched = step.dispatched.as_ref().unwrap();
    assert_eq!((&*dispatched.title, dispatched.depends_on.len()), ("Step a", 0));
    world.ok(&by_worker(1, "a", Completed));
    assert_eq!(world.replayed(), world.task);
}

/// TSK-3: a ready step that gets an open dependency waits again, without a line of its own; blocked and failed ones stay.
#[test]
fn a_new_dependency_sends_a_ready_step_back() {
    let mut world = World::new("a b c d");
    world.ok(&by_orchestrator("c", Blocked));
    world.ok(&by_orchestrator("d", Completed));
    let add = |step: &str, on: &str| json!({ "op": "add_dependency", "step_id": step, "depends_on_step_id": on });
    assert_eq!(world.ok(&update(json!([add("a", "b"), add("c", "b"), add("b", "d")]))), ["task_updated"]);
    assert_eq!(world.steps(), "a:pending b:ready c:blocked d:completed");
    let remove = json!({ "op": "remove_dependency", "step_id": "a", "depends_on_step_id": "b" });
    assert_eq!(world.ok(&update(json!([remove]))), ["task_updated", "task_step_ready"]);
}

/// TSK-17: what each operation needs, and what no operation is.
#[test]
fn operations_that_are_refused() {
    let mut world = World::new("a b<a");
    for (operation, code, words) in [
        (json!({ "op": "update_task" }), ErrorCode::ValidationError, "changes nothing"),
        (json!({ "op": "update_task", "title": " " }), ErrorCode::ValidationError, "title of the task is empty"),
        (json!({ "op": "update_task", "title": "a\nb" }), ErrorCode::ValidationError, "must be one line"),
        (json!({ "op": "update_task", "status": "completed" }), ErrorCode::ValidationError, "agent.task_complete"),
        (json!({ "op": "update_task", "status": "pending" }), ErrorCode::TaskNotDispatchable, "task is running"),
        (
            json!({ "op": "add_step", "step": { "step_id": "a", "title": "A" } }),
            ErrorCode::ValidationError,
            "step a already",
        ),
        (json!({ "op": "update_step", "step_id": "a", "fields": {} }), ErrorCode::ValidationError, "changes nothing"),
        (
            json!({ "op": "add_dependency", "step_id": "b", "depends_on_step_id": "a" }),
            ErrorCode::ValidationError,
            "depends on a already",
        ),
        (
            json!({ "op": "remove_dependency", "step_id": "a", "depends_on_step_id": "b" }),
            ErrorCode::ValidationError,
            "does not depend on b",
        ),
    ] {
        let (found, message) = world.refused(&update(json!([operation])));
        assert!(found == code && message.contains(words), "{operation}: {message}");
    }
    assert_eq!(world.refused(&update(json!([]))).0, ErrorCode::ValidationError);
    let many = vec![json!({ "op": "update_task", "summary": "x" }); MAX_OPERATIONS + 1];
    assert!(world.refused(&update(json!(many))).1.contains("split the update"));
    for wrong in [
        json!({ "op": "archive_step", "step_id": "a" }),
        json!({ "op": "delete_step" }),
        json!({ "op": "delete_step", "step_id": "a", "force": true }),
        json!({ "op": "update_step", "step_id": "a", "fields": { "status": "completed" } }),
        json!({ "op": "add_step", "step": { "step_id": "A", "title": "A" } }),
    ] {
        assert!(serde_json::from_value::<Operation>(wrong.clone()).is_err(), "{wrong}");
    }
}

/// WAL-8: an event about a step that the same update deletes, or gives to another step, is not written.
#[test]
fn implied_events_follow_the_steps_that_are_left() {
    let mut world = World::new("a b");
    let types = world.ok(&update(json!([
        { "op": "cancel_step", "step_id": "a" },
        { "op": "delete_step", "step_id": "a" },
        { "op": "add_step", "step": { "step_id": "a", "title": "Again" } },
        { "op": "cancel_step", "step_id": "b", "reason": "not needed" },
    ])));
    assert_eq!(types, ["task_updated", "task_step_cancelled", "task_step_ready"]);
    assert_eq!(world.log[world.log.len() - 2].step_id, Some(step_id("b")));
    assert_eq!(world.steps(), "b:cancelled a:ready");
    assert_eq!(world.status("b"), Cancelled);
    assert_eq!(world.replayed(), world.task);
    assert_eq!(world.task.status(), TaskStatus::Running);
}

/// TSK-9, ERR-5: a refusal says which operation it is about, whatever is wrong with it; one about the graph as a whole says what in it.
#[test]
fn refusals_name_their_operation() {
    let good = json!({ "op": "update_task", "title": "New" });
    for (bad, words) in [
        (json!({ "op": "update_task", "title": "" }), "the title of the task is empty"),
        (json!({ "op": "update_task", "status": "completed" }), "agent.task_complete"),
        (json!({ "op": "add_step", "step": { "step_id": "a", "title": "A" } }), "there is a step a already"),
        (json!({ "op": "add_step", "step": { "step_id": "n", "title": " " } }), "the title of step n is empty"),
        (json!({ "op": "update_step", "step_id": "zz", "fields": { "title": "T" } }), "there is no step zz"),
        (json!({ "op": "delete_step", "step_id": "a" }), "b depends on it"),
        (json!({ "op": "add_dependency", "step_id": "b", "depends_on_step_id": "a" }), "depends on a already"),
        (json!({ "op": "remove_dependency", "step_id": "a", "depends_on_step_id": "b" }), "does not depend on b"),
        (json!({ "op": "cancel_step", "step_id": "zz" }), "there is no step zz"),
        (json!({ "op": "reopen_step", "step_id": "a" }), "only blocked and failed"),
    ] {
        for before in 0..3 {
            let mut operations = vec![good.clone(); before];
            operations.push(bad.clone());
            let (_, message) = World::new("a b<a").refused(&update(json!(operations)));
            let place = format!("`operations[{before}]`: ");
            assert!(message.starts_with(&place) && message.contains(words), "{message}");
        }
    }
}

/// TSK-9, TSK-16, ERR-5: a dependency that is not there is told with the step that names it and the field, in an update and in a new Task.
#[test]
fn an_unknown_dependency_names_step_and_field() {
    for (operations, field, step) in [
        (
            json!([{ "op": "add_dependency", "step_id": "b", "depends_on_step_id": "zz" }]),
            "operations[0].depends_on_step_id",
            "b",
        ),
        (
            json!([
                { "op": "update_task", "title": "New" },
                { "op": "add_step", "step": { "step_id": "n", "title": "N", "depends_on_step_ids": ["a", "zz"] } },
            ]),
            "operations[1].step.depends_on_step_ids[1]",
            "n",
        ),
        (
            json!([
                { "op": "add_step", "step": { "step_id": "n", "title": "N", "depends_on_step_ids": ["zz"] } },
                { "op": "delete_step", "step_id": "n" },
                { "op": "add_step", "step": { "step_id": "n", "title": "N" } },
                { "op": "add_dependency", "step_id": "n", "depends_on_step_id": "zz" },
            ]),
            "operations[3].depends_on_step_id",
            "n",
        ),
    ] {
        let (code, message) = World::new("a b<a").refused(&update(operations));
        let begins = format!("`{field}`: step {step} is to depend on zz, and there is no step zz");
        assert!(code == ErrorCode::StepNotFound && message.starts_with(&begins), "{message}");
    }
}
