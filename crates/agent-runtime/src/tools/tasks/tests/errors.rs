//! What is refused, and how it is told (ERR-3, ERR-5).

use agent_protocol::{ClaimSkipReason, ErrorCode, ErrorType, EventType, TaskStepClaimSkipped};
use serde_json::{Value, json};

use super::{World, claim, set, update};

/// ERR-3, ERR-4: each of the contract's task error codes comes from a tool, with what to do next; `no_step_claimed` is part of a
/// result and no error.
#[tokio::test]
async fn every_task_error_code_comes_from_a_tool() {
    let world = World::new("codes").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b<a c?").await;
    orchestrator.create("done", "x").await;
    orchestrator.ok("task_cancel", json!({"task_id": "done"})).await;
    let (worker, late) = (world.worker("w1", "t", None).await, world.worker("w2", "t", None).await);
    worker.ok("task_claim_step", claim("t", "a")).await;
    let seen = [
        (orchestrator.refused("task_get", json!({"task_id": "nobody"})).await, "task_not_found", "agent.task_list"),
        (orchestrator.refused("task_fail", json!({"task_id": "done"})).await, "task_terminal", "never changed"),
        (orchestrator.refused("task_complete", json!({"task_id": "t"})).await, "task_not_dispatchable", "a, b"),
        (
            orchestrator
                .refused(
                    "task_update",
                    update("t", json!([{"op": "add_dependency", "step_id": "a", "depends_on_step_id": "b"}])),
                )
                .await,
            "dependency_cycle",
            "a -> b -> a",
        ),
        (orchestrator.refused("task_update_step", set("t", "z", "running")).await, "step_not_found", "no step z"),
        (late.refused("task_claim_step", claim("t", "b")).await, "step_not_ready", "waits for a"),
        (late.refused("task_claim_step", claim("t", "a")).await, "step_already_claimed", "agent_w1"),
        (worker.refused("task_claim_step", claim("t", "c")).await, "step_already_claimed_by_run", "one step at most"),
        (
            {
                let other = json!([{"op": "add_step", "step": {"step_id": "base", "title": "B"}},
                    {"op": "add_dependency", "step_id": "c", "depends_on_step_id": "base"}]);
                orchestrator.ok("task_update", update("t", other)).await;
                orchestrator
                    .refused("task_update", update("t", json!([{"op": "delete_step", "step_id": "base"}])))
                    .await
            },
            "step_has_dependents",
            "remove these dependencies first",
        ),
        (
            {
                // The log is no longer where it was: what would be written had no name.
                std::fs::rename(world.log("t"), world.log("moved")).unwrap();
                let error = orchestrator.refused("task_update_step", set("t", "a", "running")).await;
                std::fs::rename(world.log("moved"), world.log("t")).unwrap();
                error
            },
            "task_wal_unavailable",
            "log of task t",
        ),
    ];
    let mut codes: Vec<&str> = Vec::new();
    for (error, code, next) in &seen {
        assert_eq!(error.code.as_str(), *code, "{error}");
        assert!(error.message.contains(next), "{code} says {error}, and not {next}");
        codes.push(code);
    }
    let none = world.worker("w3", "t", Some("b")).await.output("task_query_steps", json!({"task_id": "t"})).await;
    assert!(none.error.is_none());
    let none = super::value(&none.content);
    assert_eq!((&none["no_step_claimed"], &none["steps"]), (&json!(true), &json!([])));
    codes.push("no_step_claimed");
    let all = ErrorCode::ALL.iter().filter(|code| code.group() == ErrorType::Task);
    let mut all: Vec<&str> = all.map(|code| code.as_str()).collect();
    all.sort_unstable();
    codes.sort_unstable();
    assert_eq!(codes, all);
}

/// TSK-18: who finds a step taken, or none to take, is told so, and programs are; the log has no line of it.
#[tokio::test]
async fn skipped_claims_are_events_and_no_lines() {
    let world = World::new("skipped").await;
    world.orchestrator().await.create("t", "a b<a").await;
    let (first, second) = (world.worker("w1", "t", None).await, world.worker("w2", "t", None).await);
    first.ok("task_claim_step", claim("t", "a")).await;
    let lines = world.lines("t").len();
    second.refused("task_claim_step", claim("t", "a")).await;
    second.ok("task_query_steps", json!({"task_id": "t"})).await;
    // Who has a step is not told that there is none.
    let own = first.ok("task_query_steps", json!({"task_id": "t"})).await;
    assert_eq!(own.get("no_step_claimed"), None);
    assert_eq!(world.lines("t").len(), lines);
    let skipped = world.told().await.into_iter().filter(|event| event.event_type == EventType::TaskStepClaimSkipped);
    let skipped: Vec<TaskStepClaimSkipped> = skipped.map(|event| event.read().unwrap()).collect();
    let told: Vec<_> = skipped
        .iter()
        .map(|skip| (skip.step_id.as_ref().map(ToString::to_string), skip.reason, skip.claimed_by_agent_id.as_ref()))
        .collect();
    assert_eq!(
        told,
        [
            (Some("a".to_owned()), ClaimSkipReason::StepAlreadyClaimed, Some(&first.run.agent.id)),
            (None, ClaimSkipReason::NoStepClaimed, None),
        ]
    );
}

/// TSK-7, TSK-22: an ended Task is never changed; that is told as such, and nothing is written.
#[tokio::test]
async fn what_has_ended_stays() {
    let world = World::new("terminal").await;
    let orchestrator = world.orchestrator().await;
    for (id, end) in [("c", "task_complete"), ("f", "task_fail"), ("k", "task_cancel")] {
        orchestrator.create(id, "a?").await;
        orchestrator.ok(end, json!({"task_id": id})).await;
        let before = std::fs::read(world.log(id)).unwrap();
        let worker = world.worker(id, id, None).await;
        for (tool, arguments) in [
            ("task_update", update(id, json!([{"op": "update_task", "title": "New"}]))),
            ("task_update_step", set(id, "a", "running")),
            ("task_complete", json!({"task_id": id})),
            ("task_fail", json!({"task_id": id})),
            ("task_cancel", json!({"task_id": id})),
        ] {
            assert_eq!(orchestrator.refused(tool, arguments).await.code, ErrorCode::TaskTerminal, "{id} {tool}");
        }
        assert_eq!(worker.refused("task_claim_step", claim(id, "a")).await.code, ErrorCode::TaskTerminal);
        assert_eq!(worker.refused("task_update_step", set(id, "a", "running")).await.code, ErrorCode::TaskTerminal);
        assert_eq!(std::fs::read(world.log(id)).unwrap(), before);
    }
}

/// ERR-5: arguments that do not hold up name the argument, the wrong value and what is allowed.
#[tokio::test]
async fn wrong_arguments_are_named() {
    let world = World::new("arguments").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a").await;
    let with = |key: &str, value: Value| {
        let mut task = super::new_task("new", "a");
        task[key] = value;
        task
    };
    for (tool, arguments, parts) in [
        ("task_create", with("task_id", json!("My Task")), ["task_id", "\"My Task\"", "\"my-task\" would do"]),
        ("task_create", with("wal_name", json!("../x")), ["wal_name", "\"../x\"", "only a-z 0-9 _ and -"]),
        ("task_create", with("steps", json!([{"step_id": "A", "title": "A"}])), ["steps[0].step_id", "\"A\"", "\"a\""]),
        ("task_create", with("steps", json!([{"step_id": "a"}])), ["steps[0].title", "is required", "As it should be"]),
        (
            "task_create",
            with("steps", json!([{"step_id": "a", "title": "A", "depends_on_step_ids": ["b c"]}])),
            ["steps[0].depends_on_step_ids[0]", "\"b c\"", "\"b-c\""],
        ),
        ("task_create", with("title", json!("two\nlines")), ["title", "the task", "one line"]),
        ("task_create", with("task_id", json!("t")), ["active task t", "choose another", "task_id"]),
        ("task_create", with("wal_name", json!("t")), ["t.wal.jsonl", "exists already", "wal_name"]),
        ("task_update_step", set("t", "a", "ready"), ["status", "\"ready\"", "\"completed\""]),
        ("task_update_step", set("t", "a", "done"), ["status", "\"done\"", "\"running\""]),
        ("task_update_step", claim("t", "a"), ["nothing to update", "status", "result_summary"]),
        ("task_list", json!({"status": "open"}), ["status", "\"open\"", "\"pending\""]),
        ("task_query_steps", json!({"task_id": "t", "limit": 0}), ["limit", "at least 1", "0"]),
        ("task_query_steps", json!({"task_id": "t", "statuses": "ready"}), ["statuses", "array", "\"ready\""]),
        (
            "task_update_step",
            json!({"task_id": "t", "step_id": "a", "artifact_ids": ["out/report.md"]}),
            ["artifact_ids[0]", "out/report.md", "result_summary"],
        ),
    ] {
        let error = orchestrator.refused(tool, arguments.clone()).await;
        for part in parts {
            assert!(error.message.contains(part), "{arguments}: {error} does not say {part}");
        }
    }
    assert_eq!(world.lines("t").len(), 3);
}

/// WAL-1: a file that has the log's name is never written into, whoever made it.
#[tokio::test]
async fn an_existing_file_is_a_conflict() {
    let world = World::new("conflict").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("first", "a").await;
    std::fs::write(world.log("mine"), "my notes").unwrap();
    let error = orchestrator.refused("task_create", super::new_task("mine", "a")).await;
    assert_eq!(error.code, ErrorCode::PathConflict);
    assert!(error.message.contains(".soong-agent/tasks/sess_1/mine.wal.jsonl"), "{error}");
    assert_eq!(std::fs::read_to_string(world.log("mine")).unwrap(), "my notes");
}

/// WAL-4, TSK-7: the log of a Task that has ended and cannot be read is told in the same words whoever comes to it, to look or to change;
/// a log that is gone is noticed by who looks.
#[tokio::test]
async fn what_cannot_be_read_is_told_alike() {
    let world = World::new("told_alike").await;
    let orchestrator = world.orchestrator().await;
    for id in ["t", "gone"] {
        orchestrator.create(id, "a").await;
    }
    orchestrator.ok("task_cancel", json!({"task_id": "t"})).await;
    let log = std::fs::read_to_string(world.log("t")).unwrap();
    std::fs::write(world.log("t"), log.replace("\"wal_seq\":2", "\"wal_seq\":9")).unwrap();
    let looked = orchestrator.refused("task_get", json!({"task_id": "t"})).await;
    assert_eq!(looked.code, ErrorCode::TaskWalUnavailable, "{looked}");
    assert!(looked.message.contains("line 2"), "{looked}");
    for (tool, arguments) in [
        ("task_update_step", set("t", "a", "running")),
        ("task_update", update("t", json!([{"op": "update_task", "title": "New"}]))),
        ("task_complete", json!({"task_id": "t"})),
        ("task_query_steps", json!({"task_id": "t"})),
    ] {
        let refused = orchestrator.refused(tool, arguments).await;
        assert_eq!((refused.code, &refused.message), (looked.code, &looked.message), "{tool}");
    }
    std::fs::remove_file(world.log("gone")).unwrap();
    for tool in ["task_get", "task_query_steps"] {
        let refused = orchestrator.refused(tool, json!({"task_id": "gone"})).await;
        assert_eq!(refused.code, ErrorCode::TaskWalUnavailable, "{refused}");
        assert!(refused.message.contains("removed"), "{refused}");
    }
}
