//! How workers end, and what becomes of their steps (WRK-7).

use agent_core::EventType;
use agent_core::event::ChildAgentFailed;
use agent_protocol::task::StepStatus;
use serde_json::{Value, json};

use super::{
    Actors, Say, claim, create, dispatch, events, last_line, lines, orchestrate, orchestrator, results, set, start,
    world,
};

const FAILED: &str = "task_step_failed";

/// What a worker says.
type Part = fn(usize) -> Say;

/// A case: its name, what the worker says, what it is sent with, and what becomes of its step.
type Case = (&'static str, Part, Value, &'static str, Value, &'static str, Option<&'static str>);

/// WRK-7, AGT-C01, SUB-02, ERR-4: a worker that ends with its step claimed or running loses it, with the reason in the log and the result,
/// whatever the end; nobody is sent again by core. Where it had claimed none there is nothing to fail; what it has set itself
/// stays. A failed run is never told as a success.
#[tokio::test]
async fn a_step_ends_with_its_worker() {
    let forgets: Part = |turn| if turn == 0 { Say::calls(&[claim("x")]) } else { Say::text("All done!") };
    let starts: Part = |turn| match turn {
        0 => Say::calls(&[claim("x")]),
        1 => Say::calls(&[set("x", "running", "half")]),
        _ => Say::Fault,
    };
    let fails_at_once: Part = |_| Say::Fault;
    let fails_with_a_claim: Part = |turn| if turn == 0 { Say::calls(&[claim("x")]) } else { Say::Fault };
    let hangs: Part = |turn| if turn == 0 { Say::calls(&[claim("x")]) } else { Say::Nothing };
    let turns: Part = |turn| match turn {
        0 => Say::calls(&[claim("x")]),
        _ => Say::calls(&[("code.list_dir", json!({"path": ".", "limit": turn}))]),
    };
    let says_failed: Part = |turn| match turn {
        0 => Say::calls(&[claim("x")]),
        1 => Say::calls(&[(
            "agent.task_update_step",
            json!({"task_id": "t", "step_id": "x", "status": "failed", "reason": "no key"}),
        )]),
        _ => Say::text("I could not."),
    };
    let blocks: Part = |turn| match turn {
        0 => Say::calls(&[claim("x")]),
        1 => Say::calls(&[(
            "agent.task_update_step",
            json!({"task_id": "t", "step_id": "x", "status": "blocked", "reason": "ask"}),
        )]),
        _ => Say::text("I must ask."),
    };
    let completes_then_fails: Part = |turn| match turn {
        0 => Say::calls(&[claim("x")]),
        1 => Say::calls(&[set("x", "completed", "done")]),
        _ => Say::Fault,
    };
    let gone = "worker_failed: provider_error: the server is gone";
    let forgot = "worker_finished_without_terminal_step_status";
    // What the worker does, how its step ends and why, its state in the result, and the error of the call.
    let cases: [Case; 9] = [
        ("forgets", forgets, json!({}), FAILED, json!(forgot), "failed", None),
        ("starts", starts, json!({}), FAILED, json!(gone), "failed", Some("provider_error")),
        ("at_once", fails_at_once, json!({}), "task_step_ready", json!(null), "failed", Some("provider_error")),
        ("with_claim", fails_with_a_claim, json!({}), FAILED, json!(gone), "failed", Some("provider_error")),
        ("hangs", hangs, json!({"timeout_ms": 100}), FAILED, json!("worker_timeout"), "cancelled", Some("timeout")),
        ("turns", turns, json!({}), FAILED, json!("worker_failed"), "failed", Some("cancelled")),
        ("says_failed", says_failed, json!({}), FAILED, json!("no key"), "failed", None),
        ("blocks", blocks, json!({}), "task_step_blocked", json!("ask"), "completed", None),
        (
            "completes",
            completes_then_fails,
            json!({}),
            "task_step_completed",
            json!(null),
            "failed",
            Some("provider_error"),
        ),
    ];
    for (name, part, more, line, reason, status, code) in cases {
        let world = world(&format!("worker_{name}"), "runtime.max_turns = 6").await;
        let actors = Actors::default();
        orchestrator(&actors, "Go.", vec![vec![create("x y")], vec![dispatch("Do x.", more)]]);
        actors.on("Do x.", move |turn, _| part(turn));
        let runtime = actors.builder(&world).build().await.unwrap();
        let ran = orchestrate(&runtime, None, "Go.").await;
        let (last, why) = last_line(&world, &ran.session_id, "x");
        assert_eq!(last, line, "{name}");
        let why_words = why.as_str().unwrap_or_default();
        assert!(why == reason || name == "turns" && why_words.starts_with("worker_failed: "), "{name}: {why}");
        let result = results(&actors, "Go.", "agent.dispatch_worker").remove(0);
        match code {
            Some(code) => {
                let error = &ran.of_type(EventType::ToolFailed)[0].payload["error"];
                assert_eq!(error["code"], code, "{name}: {error}");
            }
            None => {
                assert!(ran.of_type(EventType::ToolFailed).is_empty(), "{name}");
                assert_eq!(result["status"], status, "{name}: {result}");
                assert_eq!(result["step_reason"], why, "{name}");
            }
        }
        assert_eq!(actors.asked("Go.").len(), 3, "{name}: the Orchestrator goes on");
        assert_eq!(ran.of_type(EventType::WorkerDispatched).len(), 1, "{name}: nobody is sent again");
        let claimed =
            lines(&world, &ran.session_id, "x").iter().filter(|(line, _)| line == "task_step_claimed").count();
        assert!(claimed <= 1, "{name}");
        runtime.close().await;
    }
}

/// AGT-5, WRK-6: a failed dispatch still says what the Task knows: the worker, its run, and how its step stands.
#[tokio::test]
async fn a_failed_dispatch_tells_of_its_step() {
    let world = world("worker_failed_tells", "").await;
    let actors = Actors::default();
    orchestrator(&actors, "Go.", vec![vec![create("x")], vec![dispatch("Do x.", json!({}))]]);
    actors.on("Do x.", |turn, _| match turn {
        0 => Say::calls(&[claim("x")]),
        1 => Say::calls(&[set("x", "running", "half of it")]),
        _ => Say::Fault,
    });
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = orchestrate(&runtime, None, "Go.").await;
    let ended: ChildAgentFailed = ran.of_type(EventType::ChildAgentFailed)[0].read().unwrap();
    assert_eq!((ended.step_id.unwrap().as_str(), ended.step_status), ("x", Some(StepStatus::Failed)));
    let request = actors.asked("Go.").pop().unwrap();
    let seen: Vec<_> = request.messages.iter().map(|message| super::text_of(&message.content)).collect();
    let result = seen.iter().find(|text| text.contains("the server is gone")).unwrap();
    for words in
        ["\"claimed_step_id\"", "\"x\"", "\"step_status\"", "\"failed\"", "half of it", "worker_failed: provider_error"]
    {
        assert!(result.contains(words), "{words:?} is missing in {result}");
    }
    runtime.close().await;
}

/// WRK-7, AGT-4, RUN-17: with the Orchestrator's run its workers are cancelled first, and their steps fail; what nobody claimed stays ready.
#[tokio::test]
async fn a_cancelled_orchestrator_takes_its_workers_along() {
    let world = world("worker_cancelled", "").await;
    let actors = Actors::default();
    let calls = vec![dispatch("Do x.", json!({})), dispatch("Do y.", json!({}))];
    orchestrator(&actors, "Go.", vec![vec![create("x y z")], calls]);
    for (instruction, step) in [("Do x.", "x"), ("Do y.", "y")] {
        actors.on(instruction, move |turn, _| match turn {
            0 => Say::calls(&[claim(step)]),
            _ => Say::Nothing,
        });
    }
    let runtime = actors.builder(&world).build().await.unwrap();
    let run = start(&runtime, None, "Go.").await;
    actors.wait_for_turn("Do x.", 2).await;
    actors.wait_for_turn("Do y.", 2).await;
    let cancelled = run.cancel().await;
    assert_eq!((cancelled.status.as_str(), cancelled.timed_out), ("aborted", false));
    for step in ["x", "y"] {
        assert_eq!(last_line(&world, run.session_id(), step), (FAILED.to_owned(), json!("worker_cancelled")));
    }
    assert_eq!(last_line(&world, run.session_id(), "z").0, "task_step_ready");
    let all = events(&world, run.session_id()).await;
    let seq = |event_type, of: Option<&agent_core::id::RunId>| {
        let of_run = all
            .iter()
            .filter(|event| event.event_type == event_type && of.is_none_or(|run| event.run_id.as_ref() == Some(run)));
        of_run.map(|event| event.seq.unwrap()).collect::<Vec<_>>()
    };
    let end = seq(EventType::LoopAborted, Some(run.run_id()))[0];
    assert_eq!(seq(EventType::LoopAborted, None).len(), 3);
    assert!(seq(EventType::LoopAborted, None).iter().all(|at| *at <= end), "workers first");
    assert!(seq(EventType::TaskStepFailed, None).iter().all(|at| *at < end), "their steps, too");
    runtime.close().await;
}

/// SUB-04, PRM-5, RUN-22: a worker whose write nobody can allow is denied at once, ends, and its step with it.
#[tokio::test]
async fn a_worker_that_nobody_answers() {
    let world = world("worker_unanswered", "").await;
    let actors = Actors::default();
    let with_write = json!({"allowed_tools": ["agent.task_claim_step", "code.write_file"]});
    orchestrator(&actors, "Go.", vec![vec![create("x")], vec![dispatch("Do x.", with_write)]]);
    actors.on("Do x.", |turn, _| match turn {
        0 => Say::calls(&[claim("x")]),
        1 => Say::calls(&[("code.write_file", json!({"path": "f.txt", "content": "x"}))]),
        _ => Say::text("I may not."),
    });
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = orchestrate(&runtime, None, "Go.").await;
    assert_eq!(world.file("f.txt"), None);
    let (line, why) = last_line(&world, &ran.session_id, "x");
    assert_eq!((line.as_str(), why), (FAILED, json!("worker_finished_without_terminal_step_status")));
    assert_eq!(ran.result.unanswered.len(), 1);
    runtime.close().await;
}
