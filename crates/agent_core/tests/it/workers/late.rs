//! Workers that do not stop when they are told to (AGT-4, TSK-7, RUN-17).

use agent_core::EventType;
use agent_protocol::task::TaskId;
use agent_tool::TaskChange;
use serde_json::json;

use super::{
    Actors, Gate, Say, beside, claim, create, dispatch, events, last_line, log, orchestrate, orchestrator, results,
    set, start, world,
};

/// AGT-4, TSK-7, WRK-7, RUN-17: a worker that outlives its parent's cancel: its step has failed by then, the worker is busy as long as its run
/// lives, the next run cancels the Task, and what the worker says at last is stored in its own run and changes nothing.
#[tokio::test]
async fn a_worker_that_outlives_its_parents_cancel() {
    let world = world("worker_late", "agents.child_cancel_timeout_ms = 50\nagents.max_children_per_run = 4").await;
    let actors = Actors::default();
    let gate = Gate::default();
    orchestrator(&actors, "Go.", vec![vec![create("x y z")], vec![dispatch("Do x.", json!({}))]]);
    let held = gate.clone();
    actors.on("Do x.", move |turn, _| match turn {
        0 => Say::calls(&[claim("x")]),
        // It does not hear that it is to stop.
        1 if !held.is_open() => Say::Again,
        1 => Say::calls(&[set("x", "completed", "late")]),
        _ => Say::text("Too late."),
    });
    let runtime = actors.builder(&world).build().await.unwrap();
    let run = start(&runtime, None, "Go.").await;
    actors.wait_for_turn("Do x.", 2).await;
    let cancelled = run.cancel().await;
    assert_eq!((cancelled.status.as_str(), cancelled.timed_out), ("aborted", true));
    let session = run.session_id().clone();
    assert_eq!(last_line(&world, &session, "x"), ("task_step_failed".to_owned(), json!("worker_cancelled")));
    let sent = events(&world, &session).await;
    let sent = sent.iter().find(|event| event.event_type == EventType::WorkerDispatched).unwrap().payload.clone();

    orchestrator(
        &actors,
        "Give it up.",
        vec![
            vec![("agent.list_workers", json!({"worker_pool_id": "a"}))],
            vec![dispatch("Do y.", json!({"worker_agent_id": sent["worker_agent_id"]}))],
            vec![("agent.task_cancel", json!({"task_id": "t", "reason": "enough"}))],
        ],
    );
    let ran = orchestrate(&runtime, Some(&session), "Give it up.").await;
    let listed = results(&actors, "Give it up.", "agent.list_workers").remove(0);
    let first = &listed["workers"][0];
    assert_eq!((&first["status"], &first["current_run_id"]), (&json!("busy"), &sent["child_run_id"]));
    assert_eq!(first.get("current_step_id"), None, "it holds none any more");
    assert_eq!(super::codes(&ran), ["worker_busy"]);
    let given_up = results(&actors, "Give it up.", "agent.task_cancel").remove(0);
    assert_eq!(given_up["cancelled_step_ids"], json!(["y", "z"]));
    let before = std::fs::read_to_string(log(&world, &session)).unwrap();

    let run = sent["child_run_id"].as_str().unwrap();
    gate.open(&actors);
    let run_id = agent_core::id::RunId::parse(run).unwrap();
    // Its run ends; then the worker can be sent again.
    let ended = loop {
        let inspected = runtime.inspect_run(&run_id, false).await.unwrap();
        if inspected.run.status.is_terminal() {
            break inspected;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(ended.run.status.as_str(), "aborted");
    runtime.close().await;
    assert_eq!(std::fs::read_to_string(log(&world, &session)).unwrap(), before, "nothing of the Task changed");
    let all = events(&world, &session).await;
    let of_run: Vec<_> = all.iter().filter(|event| event.run_id.as_ref() == Some(&run_id)).collect();
    assert_eq!(of_run.last().unwrap().event_type, EventType::LoopAborted, "what it said late is in its own run");
}

/// TSK-7, TSK-21, WRK-7: a Task that is cancelled while its workers live stops them first; their steps end with the Task and not with them. One
/// that does not stop in time is told and does not keep the Task from ending; its late claim changes nothing.
#[tokio::test]
async fn a_task_is_cancelled_over_its_workers() {
    for is_stuck in [false, true] {
        let world = world("worker_over", "agents.child_cancel_timeout_ms = 100").await;
        let actors = Actors::default();
        let gate = Gate::default();
        let held = gate.clone();
        actors.on("Do x.", move |turn, _| match turn {
            0 => Say::calls(&[claim("x")]),
            1 if !is_stuck => Say::Nothing,
            1 if !held.is_open() => Say::Again,
            1 => Say::calls(&[set("x", "completed", "late")]),
            _ => Say::text("Too late."),
        });
        orchestrator(
            &actors,
            "Go.",
            vec![vec![create("x y")], vec![dispatch("Do x.", json!({})), ("test.give_up", json!({}))]],
        );
        let (all, opens) = (actors.clone(), gate.clone());
        let give_up = beside("test.give_up", move |context| {
            let (all, opens) = (all.clone(), opens.clone());
            async move {
                all.wait_for_turn("Do x.", 2).await;
                let written = context.tasks.change(TaskId::parse("t").unwrap(), TaskChange::Cancel(None)).await?;
                opens.open(&all);
                let left: Vec<_> = written.workers_left.iter().map(|worker| worker.to_string()).collect();
                Ok(json!({ "left": left }))
            }
        });
        let runtime = actors.builder(&world).tool(give_up).build().await.unwrap();
        let ran = orchestrate(&runtime, None, "Go.").await;
        let worker = ran.of_type(EventType::WorkerDispatched)[0].payload["worker_agent_id"].clone();
        let left = results(&actors, "Go.", "test.give_up").remove(0);
        assert_eq!(left["left"], if is_stuck { json!([worker]) } else { json!([]) });
        assert_eq!(ran.of_type(EventType::ChildAgentCancelTimeout).len(), usize::from(is_stuck));
        assert_eq!(ran.of_type(EventType::ChildAgentCancelRequested)[0].payload["reason"], "task_ended");
        for step in ["x", "y"] {
            let ended = ("task_step_cancelled".to_owned(), json!("task_cancelled"));
            assert_eq!(last_line(&world, &ran.session_id, step), ended, "{is_stuck}");
        }
        let text = std::fs::read_to_string(log(&world, &ran.session_id)).unwrap();
        assert!(text.lines().last().unwrap().contains("\"task_cancelled\""), "nothing comes after it: {text}");
        assert_eq!(super::codes(&ran), ["cancelled"], "the dispatch tells that its worker was stopped");
        runtime.close().await;
    }
}
