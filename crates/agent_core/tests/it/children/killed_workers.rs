//! A process that is killed while workers are at work (RUN-20, TSK-5).

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent_core::event::ChildAgentCreated;
use agent_core::id::SessionId;
use agent_core::runtime::RunMode;
use agent_core::{EventType, StartOptions};
use agent_testkit::Protocol;
use serde_json::json;

use super::actors::{Actors, Say, text_of};
use super::{ends, types, whole};
use crate::many::tools::Starts;
use crate::support::{World, watch};

/// Set for the process that is going to be killed: the home it works in.
const HOME: &str = "AGENT_CORE_TEST_KILLED_WORKERS_HOME";
const AT_WORK: &str = "workers at work in ";
const THIS_TEST: &str = "children::killed_workers::steps_of_a_killed_process_are_free_again";
/// How long a step is held without a sign of life.
const LEASE: Duration = Duration::from_millis(300);
const STEPS: [&str; 2] = ["a", "b"];

fn configuration() -> String {
    let worker = |id: &str| format!("{{ worker_id = \"{id}\", agent_definition_id = \"default_worker_agent\" }}");
    format!(
        "model.provider = \"actors\"\ntask.step_lease_timeout_ms = {}\n\
         agents.worker_pools = [{{ pool_id = \"p\", workers = [{}, {}] }}]",
        LEASE.as_millis(),
        worker("w1"),
        worker("w2")
    )
}

fn orchestrator(session_id: Option<SessionId>) -> StartOptions {
    StartOptions { session_id, mode: Some(RunMode::Orchestrator) }
}

/// RUN-20, WRK-2, TSK-5, WAL-4: a process is killed while its workers hold steps. The next one ends their runs before the Orchestrator's, and
/// says which workers were lost with it; once the last written lease is over each step is ready again; the workers are the same as
/// before, idle, and do the steps.
#[tokio::test]
async fn steps_of_a_killed_process_are_free_again() {
    if let Some(home) = std::env::var_os(HOME) {
        return work_until_killed(home.into()).await;
    }
    let world = World::with("workers_killed", Protocol::OpenAi, &configuration()).await;
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([THIS_TEST, "--exact", "--nocapture"])
        .env(HOME, &world.home.home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let session_id = lines.map_while(Result::ok).find_map(|line| {
        let (_, id) = line.split_once(AT_WORK)?;
        SessionId::parse(id.trim()).ok()
    });
    process.kill().unwrap();
    process.wait().unwrap();
    let session_id = session_id.expect("the process said that its workers are at work");
    // The lease that was written last is over then.
    tokio::time::sleep(LEASE).await;

    let actors = Actors::default();
    actors.on("Go on.", |turn, _| match turn {
        0 => Say::calls(&[("agent.task_get", json!({"task_id": "t"}))]),
        1 => Say::calls(&STEPS.map(dispatch)),
        2 => Say::calls(&[("agent.task_complete", json!({"task_id": "t"}))]),
        _ => Say::text("It is done."),
    });
    for step in STEPS {
        actors.on(&told(step), move |turn, _| match turn {
            0 => claim(step),
            1 => Say::calls(&[(
                "agent.task_update_step",
                json!({"task_id": "t", "step_id": step, "status": "completed", "result_summary": "Done."}),
            )]),
            _ => Say::text("I am done."),
        });
    }
    let runtime = actors.builder(&world).tool(Starts::Worker.tool()).build().await.unwrap();
    let ran = watch(&runtime.start("Go on.", orchestrator(Some(session_id.clone()))).await.unwrap()).await;
    ran.assert_completed();
    let ends = ends(&world, &session_id).await;
    assert_eq!(types(&ends)[..3], ["loop_failed"; 3]);
    let root = ran.events[0].agent_id.clone();
    assert_eq!(ends[2].agent_id, root, "children first");

    let stored = whole(&world, &session_id).await.events;
    let created = stored.iter().filter(|event| event.event_type == EventType::ChildAgentCreated);
    let created: Vec<ChildAgentCreated> = created.map(|event| event.read().unwrap()).collect();
    assert_eq!(created.len(), 4);
    let workers = |of: &[ChildAgentCreated]| of.iter().map(|it| it.child_agent_id.clone()).collect::<HashSet<_>>();
    let lost = workers(&created[..2]);
    assert_eq!((lost.len(), &lost), (2, &workers(&created[2..])), "the same workers");
    let expired = stored.iter().filter(|event| event.event_type == EventType::TaskStepLeaseExpired).count();
    assert_eq!(expired, 2);

    let asked = actors.asked("Go on.");
    let first: Vec<_> = asked[0].messages.iter().map(|message| text_of(&message.content)).collect();
    for worker in &lost {
        assert!(first.iter().any(|text| text.contains(worker.as_str())), "{worker}: {first:?}");
    }
    let looked: String = asked[1].messages.iter().rev().take(2).map(|message| text_of(&message.content)).collect();
    assert_eq!(looked.matches("\"status\":\"ready\"").count(), 2, "{looked:?}");
    let done = stored.iter().filter(|event| event.event_type == EventType::TaskCompleted).count();
    assert_eq!(done, 1);
    runtime.close().await;
}

fn told(step: &str) -> String {
    format!("Do {step}.")
}

fn dispatch(step: &str) -> (&'static str, serde_json::Value) {
    ("test.dispatch", json!({"task_id": "t", "told": told(step), "step_id": step}))
}

fn claim(step: &str) -> Say {
    Say::calls(&[("agent.task_claim_step", json!({"task_id": "t", "step_id": step}))])
}

#[expect(clippy::print_stdout, reason = "the process that kills this one reads it")]
async fn work_until_killed(home: std::path::PathBuf) {
    let actors = Actors::default();
    let steps = STEPS.map(|step| json!({"step_id": step, "title": step}));
    actors.on("Work it off.", move |turn, _| match turn {
        0 => Say::calls(&[(
            "agent.task_create",
            json!({"task_id": "t", "wal_name": "t", "title": "T", "summary": "", "steps": steps}),
        )]),
        _ => Say::calls(&STEPS.map(dispatch)),
    });
    for step in STEPS {
        actors.on(&told(step), move |turn, _| if turn == 0 { claim(step) } else { Say::Nothing });
    }
    let project = home.parent().unwrap().join("project");
    let runtime = actors.builder_at(&home, &project).tool(Starts::Worker.tool()).build().await.unwrap();
    let run = runtime.start("Work it off.", orchestrator(None)).await.unwrap();
    for step in STEPS {
        actors.wait_for_turn(&told(step), 2).await;
    }
    println!("\n{AT_WORK}{}", run.session_id());
    run.wait().await;
}
