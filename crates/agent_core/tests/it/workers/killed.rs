//! A process that is killed while a worker holds a step (RUN-20, TSK-5, SUB-06).

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent_core::id::SessionId;
use serde_json::json;

use super::{
    Actors, Say, claim, create, dispatch, lines, orchestrate, orchestrator, results, start, text_of, works, world,
};

/// Set for the process that is going to be killed: the home it works in.
const HOME: &str = "AGENT_CORE_TEST_KILLED_WORKER_HOME";
/// What it prints when the worker holds its step, before the session's id.
const AT_WORK: &str = "worker at work in ";
/// How long a worker keeps a step without a sign of life.
const LEASE: Duration = Duration::from_millis(1000);
const THIS_TEST: &str = "workers::killed::what_a_killed_worker_held";

/// RUN-20, WRK-2, WRK-7, SUB-06: after a crash the worker is idle and the same, its run has failed, and its step is its until the last written
/// lease is over: then it is ready, and the worker that is sent again takes it. The Orchestrator is told what was lost.
#[tokio::test]
async fn what_a_killed_worker_held() {
    if let Some(home) = std::env::var_os(HOME) {
        return work_until_killed(home.into()).await;
    }
    let world = world("worker_killed", &format!("task.step_lease_timeout_ms = {}", LEASE.as_millis())).await;
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([THIS_TEST, "--exact", "--nocapture"])
        .env(HOME, &world.home.home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(process.stdout.take().unwrap()).lines();
    let session = said.map_while(Result::ok).find_map(|line| {
        let (_, id) = line.split_once(AT_WORK)?;
        SessionId::parse(id.trim()).ok()
    });
    process.kill().unwrap();
    process.wait().unwrap();
    let session = session.expect("the process said that its worker is at work");
    assert_eq!(lines(&world, &session, "x").last().unwrap().0, "task_step_claimed");

    let actors = Actors::default();
    let runtime = actors.builder(&world).build().await.unwrap();
    orchestrator(&actors, "Look.", vec![vec![("agent.list_workers", json!({})), ("agent.task_list", json!({}))]]);
    orchestrate(&runtime, Some(&session), "Look.").await;
    let listed = results(&actors, "Look.", "agent.list_workers").remove(0);
    let worker = listed["workers"][0]["worker_agent_id"].as_str().unwrap().to_owned();
    assert_eq!(listed["workers"][0]["status"], "idle");
    let told: Vec<_> = actors.asked("Look.")[0].messages.iter().map(|message| text_of(&message.content)).collect();
    assert!(told.iter().any(|text| text.contains(&format!("{worker} (worker agent)"))), "{told:?}");
    // The lease that was written last is over then. Whoever looks next ends it.
    tokio::time::sleep(LEASE).await;
    orchestrator(&actors, "Look again.", vec![vec![("agent.task_get", json!({"task_id": "t"}))]]);
    orchestrate(&runtime, Some(&session), "Look again.").await;
    let types: Vec<_> = lines(&world, &session, "x").into_iter().map(|(line, _)| line).collect();
    assert_eq!(types, ["task_step_ready", "task_step_claimed", "task_step_lease_expired", "task_step_ready"]);
    orchestrator(&actors, "On.", vec![vec![dispatch("Do x.", json!({}))]]);
    works(&actors, "Do x.", "x");
    orchestrate(&runtime, Some(&session), "On.").await;
    // The first is that of the call that was cut off.
    let result = results(&actors, "On.", "agent.dispatch_worker").pop().unwrap();
    assert_eq!((&result["worker_agent_id"], &result["step_status"]), (&json!(worker), &json!("completed")));
    let replay = runtime.replay_session(&session, None, None, false).await.unwrap();
    let [row] = replay.children() else { panic!("{:?}", replay.children()) };
    assert_eq!((row.agent_id.as_str(), row.status.as_str()), (worker.as_str(), "idle"));
    runtime.close().await;
}

#[expect(clippy::print_stdout, reason = "the process that kills this one reads it")]
async fn work_until_killed(home: std::path::PathBuf) {
    let actors = Actors::default();
    orchestrator(&actors, "Go.", vec![vec![create("x")], vec![dispatch("Do x.", json!({}))]]);
    actors.on("Do x.", |turn, _| if turn == 0 { Say::calls(&[claim("x")]) } else { Say::Nothing });
    let project = home.parent().unwrap().join("project");
    let runtime = actors.builder_at(&home, &project).build().await.unwrap();
    let run = start(&runtime, None, "Go.").await;
    actors.wait_for_turn("Do x.", 2).await;
    println!("\n{AT_WORK}{}", run.session_id());
    run.wait().await;
}
