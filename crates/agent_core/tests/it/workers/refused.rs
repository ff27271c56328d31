//! Dispatches that are refused (WRK-4, WRK-5, AGT-3, AGT-4).

use agent_core::EventType;
use agent_core::event::WorkerDispatchFailed;
use serde_json::{Value, json};

use super::{
    Actors, Gate, Say, create, dispatch, orchestrate, orchestrator, start, watch_and_open, works, works_behind, world,
};

/// A worker that there is not.
const NOBODY: &str = "agent_00000000000000000000000000000000";

/// Calls that prepare a Task, the dispatch that is refused, the code, and what its message says.
type Refusal = (Vec<(&'static str, Value)>, Value, &'static str, &'static [&'static str]);

/// WRK-4, WRK-5, WRK-10, AGT-3, TSK-2: each refusal of a dispatch has its code, says what is in the way, is an event of its own, and starts
/// nothing.
#[tokio::test]
async fn each_refusal_has_its_code() {
    let block =
        ("agent.task_update", json!({"task_id": "t", "operations": [{"op": "update_task", "status": "blocked"}]}));
    let cancel = ("agent.task_cancel", json!({"task_id": "t"}));
    let none = Vec::new;
    let cases: Vec<Refusal> = vec![
        (none(), json!({"task_id": "u"}), "task_not_found", &["task u"]),
        (vec![block], json!({}), "task_not_dispatchable", &["task t is blocked", "reopen"]),
        (vec![cancel], json!({}), "task_not_dispatchable", &["task t is cancelled", "final"]),
        (none(), json!({"allowed_step_ids": []}), "validation_error", &["allowed_step_ids", "empty"]),
        (none(), json!({"allowed_step_ids": ["x", "v", "w"]}), "validation_error", &["allowed_step_ids", "v, w"]),
        (none(), json!({"allowed_step_ids": ["X!"]}), "validation_error", &["allowed_step_ids[0]"]),
        (none(), json!({"worker_agent_id": NOBODY}), "worker_not_available", &[NOBODY, "agent.list_workers"]),
        (none(), json!({"worker_agent_id": "worker_1"}), "validation_error", &["worker_agent_id"]),
        (none(), json!({"worker_pool_id": "c"}), "validation_error", &["`c`", "a, b"]),
        (none(), json!({"worker_pool_id": "b", "allowed_step_ids": ["y"]}), "validation_error", &["pool b", "a"]),
        (none(), json!({"allowed_tools": ["code.fly"]}), "validation_error", &["code.fly", "no such tool"]),
        (none(), json!({"allowed_tools": ["agent.task_create"]}), "validation_error", &["agent.task_create"]),
        (none(), json!({"allowed_tools": ["agent.create_sub_agent"]}), "validation_error", &["agent.create_sub_agent"]),
        (none(), json!({"instruction": " "}), "validation_error", &["instruction"]),
        (none(), json!({"timeout_ms": 0}), "validation_error", &["timeout_ms"]),
        (
            none(),
            json!({"expected_output_schema": {"type": "no type"}}),
            "validation_error",
            &["expected_output_schema"],
        ),
    ];
    for (before, arguments, code, says) in cases {
        let world = world("worker_refused", "").await;
        let actors = Actors::default();
        let mut replies = vec![vec![create("x y@a")]];
        replies.extend((!before.is_empty()).then_some(before));
        replies.push(vec![dispatch("Do it.", arguments.clone())]);
        orchestrator(&actors, "Go.", replies);
        let runtime = actors.builder(&world).build().await.unwrap();
        let ran = orchestrate(&runtime, None, "Go.").await;
        let failed = ran.of_type(EventType::ToolFailed);
        assert_eq!(failed.len(), 1, "{arguments}");
        let error = &failed[0].payload["error"];
        assert_eq!(error["code"], code, "{arguments}: {error}");
        for words in says {
            assert!(error["message"].as_str().unwrap().contains(words), "{words:?}: {error}");
        }
        assert!(ran.of_type(EventType::ChildAgentCreated).is_empty(), "{arguments}");
        assert!(actors.asked("Do it.").is_empty());
        // Arguments that name nothing are refused before anybody is asked for.
        let told = ran.of_type(EventType::WorkerDispatchFailed);
        if let Some(told) = told.first() {
            let told: WorkerDispatchFailed = told.read().unwrap();
            assert_eq!(told.error.code.as_str(), code);
        }
        let is_read =
            !["X!", "worker_1", "\" \"", "\"timeout_ms\":0"].iter().any(|odd| arguments.to_string().contains(odd));
        assert_eq!(told.len(), usize::from(is_read), "{arguments}");
        runtime.close().await;
    }
}

/// WRK-4, AGT-4, AGT-7: a worker that is at work is `worker_busy` for who names it; a call over the limit of children is told so.
#[tokio::test]
async fn busy_and_over_the_limit() {
    for (extra, second, code) in [
        ("", true, "worker_busy"),
        ("agents.max_children_per_run = 1", false, "child_agent_limit_exceeded"),
        ("agents.max_concurrent_children_per_session = 1", false, "child_agent_limit_exceeded"),
    ] {
        let world = world("worker_busy", extra).await;
        let actors = Actors::default();
        let runtime = actors.builder(&world).build().await.unwrap();
        orchestrator(&actors, "First.", vec![vec![create("x y z")], vec![dispatch("Do z.", json!({}))]]);
        works(&actors, "Do z.", "z");
        let ran = orchestrate(&runtime, None, "First.").await;
        let worker = ran.of_type(EventType::WorkerDispatched)[0].payload["worker_agent_id"].clone();
        let named = if second { json!({"worker_agent_id": worker}) } else { json!({}) };
        orchestrator(&actors, "Go.", vec![vec![dispatch("Do x.", named.clone()), dispatch("Do y.", named)]]);
        let gate = Gate::default();
        works_behind(&actors, &gate, "Do x.", "x");
        works(&actors, "Do y.", "y");
        let run = start(&runtime, Some(&ran.session_id), "Go.").await;
        let ran = watch_and_open(&run, EventType::WorkerDispatchFailed, &gate, &actors).await;
        ran.assert_completed();
        assert_eq!(super::codes(&ran), [code], "{extra}");
        assert_eq!(ran.of_type(EventType::WorkerDispatched).len(), 1);
        assert!(actors.asked("Do y.").is_empty(), "the model's order decides");
        // What was in the way is gone with the run.
        orchestrator(&actors, "Then.", vec![vec![dispatch("Do y.", json!({"worker_agent_id": worker}))]]);
        let ran = orchestrate(&runtime, Some(&ran.session_id), "Then.").await;
        assert_eq!(super::codes(&ran), [] as [&str; 0]);
        runtime.close().await;
    }
}

/// WRK-5, WRK-6: the dispatch's steps are a hard scope for what the worker may claim, whatever is ready; it claims one at most.
#[tokio::test]
async fn a_scope_is_hard() {
    let world = world("worker_scope", "").await;
    let actors = Actors::default();
    let scope = json!({"allowed_step_ids": ["x", "y"], "worker_pool_id": "a"});
    orchestrator(&actors, "Go.", vec![vec![create("x y z b@b")], vec![dispatch("Do x.", scope)]]);
    let query = ("agent.task_query_steps", json!({"task_id": "t"}));
    let other = ("agent.task_query_steps", json!({"task_id": "other"}));
    actors.on("Do x.", move |turn, _| match turn {
        0 => Say::calls(&[
            query.clone(),
            other.clone(),
            super::claim("z"),
            super::claim("b"),
            super::claim("x"),
            super::claim("y"),
        ]),
        1 => Say::calls(&[super::set("x", "completed", "ok")]),
        _ => Say::text("Done."),
    });
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = orchestrate(&runtime, None, "Go.").await;
    let sent = &ran.of_type(EventType::WorkerDispatched)[0].payload;
    assert_eq!(sent["allowed_step_ids"], json!(["x", "y"]));
    let seen = super::results(&actors, "Do x.", "agent.task_query_steps").remove(0);
    let seen: Vec<_> = seen["steps"].as_array().unwrap().iter().map(|step| step["step_id"].as_str().unwrap()).collect();
    assert_eq!(seen, ["x", "y"]);
    let all = super::events(&world, &ran.session_id).await;
    let child = sent["child_run_id"].as_str().unwrap();
    let failed = all
        .iter()
        .filter(|event| event.event_type == EventType::ToolFailed && event.run_id.as_ref().unwrap().as_str() == child);
    let codes: Vec<_> = failed.map(|event| event.payload["error"]["code"].as_str().unwrap().to_owned()).collect();
    assert_eq!(codes, ["permission_denied", "permission_denied", "permission_denied", "step_already_claimed_by_run"]);
    for (step, stands) in
        [("x", "task_step_completed"), ("y", "task_step_ready"), ("z", "task_step_ready"), ("b", "task_step_ready")]
    {
        assert_eq!(super::last_line(&world, &ran.session_id, step).0, stands, "{step}");
    }
    runtime.close().await;
}
