//! Workers that are sent: who, with what, and what comes back.

use agent_core::EventType;
use agent_core::event::{ChildAgentCompleted, ChildAgentCreated, SelectionReason, WorkerDispatched};
use agent_core::session::Role;
use agent_protocol::task::StepStatus;
use agent_store::SessionStore;
use serde_json::json;

use super::{
    Actors, Gate, create, dispatch, events, last_line, orchestrate, orchestrator, results, start, text_of,
    watch_and_open, works, works_behind, world,
};
use crate::stored::Stored;

/// WRK-2, WRK-6, WRK-9, STO-8: a worker does one step, and the result says which, how it stands and what the worker said. The same agent is
/// sent again in the next run and after a restart: one row, idle in between, with a branch and a run for each dispatch, of which none
/// sees the others. What is still ready afterwards is nobody's before somebody is sent.
#[tokio::test]
async fn a_worker_lives_on() {
    let world = world("worker_lives_on", "").await;
    let actors = Actors::default();
    let runtime = actors.builder(&world).build().await.unwrap();
    orchestrator(
        &actors,
        "Go.",
        vec![vec![create("x y z")], vec![dispatch("Do x.", json!({"context": "It is blue."}))]],
    );
    works(&actors, "Do x.", "x");
    let first = orchestrate(&runtime, None, "Go.").await;
    let session = first.session_id.clone();
    let created: ChildAgentCreated = first.of_type(EventType::ChildAgentCreated)[0].read().unwrap();
    let sent: WorkerDispatched = first.of_type(EventType::WorkerDispatched)[0].read().unwrap();
    assert_eq!((&sent.worker_agent_id, &sent.child_run_id), (&created.child_agent_id, &created.child_run_id));
    assert_eq!((sent.worker_id.as_str(), sent.worker_pool_id.as_str()), ("a1", "a"));
    assert_eq!((sent.selection_reason, sent.allowed_step_ids), (SelectionReason::FirstIdle, None));
    assert_eq!(created.asked.as_deref(), Some("Do x. Context: It is blue."), "and not what core says around it");
    let ended: ChildAgentCompleted = first.of_type(EventType::ChildAgentCompleted)[0].read().unwrap();
    assert_eq!((ended.step_id.unwrap().as_str(), ended.step_status), ("x", Some(StepStatus::Completed)));
    let worker = sent.worker_agent_id.clone();
    let result = results(&actors, "Go.", "agent.dispatch_worker").remove(0);
    assert_eq!(
        result,
        json!({
            "status": "completed", "summary": "I did x.", "worker_agent_id": worker.as_str(),
            "child_run_id": sent.child_run_id.as_str(), "stream_id": sent.child_run_id.as_str(),
            "selection_reason": "first_idle", "claimed_step_id": "x", "step_status": "completed",
            "step_result_summary": "x is done", "no_step_claimed": false,
            "metadata": {"child_run_id": sent.child_run_id.as_str(), "turns": 3},
        })
    );
    let told = &actors.asked("Do x.")[0].messages;
    assert_eq!((told.len(), told[0].role), (2, Role::User), "its order and the board");
    let said = text_of(&told[0].content);
    for words in ["worker of pool a", "task `t`: The task", "Do x.", "Context:\nIt is blue."] {
        assert!(said.contains(words), "{words:?}: {said}");
    }
    assert!(
        !actors.asked("Go.").iter().any(|request| request
            .messages
            .iter()
            .any(|m| text_of(&m.content).contains("blue") && m.role == Role::User))
    );

    orchestrator(&actors, "On.", vec![vec![dispatch("Do y.", json!({"worker_agent_id": worker.as_str()}))]]);
    works(&actors, "Do y.", "y");
    orchestrate(&runtime, Some(&session), "On.").await;
    runtime.close().await;
    let again = Actors::default();
    let runtime = again.builder(&world).build().await.unwrap();
    orchestrator(&again, "Last.", vec![vec![("agent.list_workers", json!({}))], vec![dispatch("Nothing.", json!({}))]]);
    again.on("Nothing.", |_, _| super::Say::text("There is nothing for me."));
    let third = orchestrate(&runtime, Some(&session), "Last.").await;
    let listed = results(&again, "Last.", "agent.list_workers").remove(0);
    assert_eq!(listed["workers"][0]["worker_agent_id"], worker.as_str());
    let statuses: Vec<_> =
        listed["workers"].as_array().unwrap().iter().map(|worker| worker["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["idle"; 3]);
    let result = results(&again, "Last.", "agent.dispatch_worker").pop().unwrap();
    assert_eq!((&result["worker_agent_id"], &result["no_step_claimed"]), (&json!(worker.as_str()), &json!(true)));
    assert_eq!(
        (&result["claimed_step_id"], &result["step_status"], &result["status"]),
        (&json!(null), &json!(null), &json!("completed"))
    );
    assert!(third.of_type(EventType::ToolFailed).is_empty(), "ERR-4: that nothing was claimed is no failure");
    assert_eq!(last_line(&world, &session, "z").0, "task_step_ready", "WRK-9: nobody was sent for it");

    let replay = runtime.replay_session(&session, None, None, true).await.unwrap();
    let [row] = replay.children() else { panic!("{:?}", replay.children()) };
    assert_eq!((row.agent_id.clone(), row.agent_type.as_str(), row.status.as_str()), (worker.clone(), "sub", "idle"));
    assert_eq!(
        (&row.metadata["role"], &row.metadata["agent_definition_id"]),
        (&json!("worker"), &json!("default_worker_agent"))
    );
    runtime.close().await;
    let store = Stored::open(&world.home.home).await.store;
    let nodes = store.nodes_between(&session, 0, 1_000_000, 10_000).await.unwrap();
    let roots: Vec<_> = nodes.iter().filter(|node| node.agent_id == worker && node.parent_id.is_none()).collect();
    assert_eq!(roots.len(), 3, "a branch for each dispatch");
    store.close().await;
    for (actors, instruction) in [(&actors, "Do y."), (&again, "Nothing.")] {
        let asked = actors.asked(instruction);
        assert_eq!(asked[0].messages.len(), 2, "nothing of earlier dispatches");
        assert!(asked.iter().all(|request| request.messages.iter().all(|m| !text_of(&m.content).contains("Do x."))));
    }
    let sent = events(&world, &session).await;
    let runs: Vec<_> = sent.iter().filter(|event| event.event_type == EventType::WorkerDispatched).collect();
    assert_eq!(runs.len(), 3);
}

/// WRK-4, WRK-10, RUN-11: calls of one reply take the idle workers in the model's order and the configuration's, each time the same; a step
/// of a pool takes a worker of that pool; when nobody is idle the call is told so, and the others go on.
#[tokio::test]
async fn workers_are_taken_in_order() {
    for round in 0..5 {
        let world = world("workers_in_order", "").await;
        let actors = Actors::default();
        let calls = vec![
            dispatch("Do x.", json!({"allowed_step_ids": ["x", "x"]})),
            dispatch("Do b.", json!({"allowed_step_ids": ["b"]})),
            dispatch("Do y.", json!({"worker_pool_id": "a"})),
            dispatch("Do z.", json!({"allowed_step_ids": ["z"], "worker_pool_id": "a"})),
        ];
        orchestrator(&actors, "Go.", vec![vec![create("x y z b@b")], calls]);
        // All of them are at work until the last one was refused.
        let gate = Gate::default();
        for (instruction, step) in [("Do x.", "x"), ("Do b.", "b"), ("Do y.", "y")] {
            works_behind(&actors, &gate, instruction, step);
        }
        let runtime = actors.builder(&world).build().await.unwrap();
        let run = start(&runtime, None, "Go.").await;
        let ran = watch_and_open(&run, EventType::WorkerDispatchFailed, &gate, &actors).await;
        ran.assert_completed();
        let sent: Vec<WorkerDispatched> =
            ran.of_type(EventType::WorkerDispatched).into_iter().map(|event| event.read().unwrap()).collect();
        let taken: Vec<_> = sent.iter().map(|sent| sent.worker_id.as_str()).collect();
        assert_eq!(taken, ["a1", "b1", "a2"], "round {round}");
        assert_eq!(sent[0].allowed_step_ids.as_ref().map(Vec::len), Some(1), "WRK-5: duplicates merge");
        assert_eq!(super::codes(&ran), ["worker_pool_busy"]);
        assert_eq!(ran.of_type(EventType::WorkerDispatchFailed).len(), 1);
        for step in ["x", "y", "b"] {
            assert_eq!(last_line(&world, &ran.session_id, step).0, "task_step_completed");
        }
        assert_eq!(last_line(&world, &ran.session_id, "z").0, "task_step_ready");
        runtime.close().await;
    }
}
