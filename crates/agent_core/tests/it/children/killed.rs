//! A process that is killed while children are at work (RUN-20).

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use agent_core::StartOptions;
use agent_core::id::SessionId;
use agent_testkit::Protocol;

use super::actors::{Actors, Say, text_of};
use super::{ends, split_up, types};
use crate::support::{World, run_in};

/// Set for the process that is going to be killed: the home it works in.
const HOME: &str = "AGENT_CORE_TEST_KILLED_HOME";
/// What it prints when all children are at work, before the session's id.
const AT_WORK: &str = "children at work in ";
const THIS_TEST: &str = "children::killed::what_a_killed_process_left_is_ended";

/// RUN-20: whoever takes the session over ends the runs of the process that was killed, children before their parent; the
/// model is told which children are lost; the user's conversation goes on where it was.
#[tokio::test]
async fn what_a_killed_process_left_is_ended() {
    if let Some(home) = std::env::var_os(HOME) {
        return work_until_killed(home.into()).await;
    }
    let world = World::with("children_killed", Protocol::OpenAi, "model.provider = \"actors\"").await;
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
    let session_id = session_id.expect("the process said that its children are at work");

    let actors = Actors::default();
    actors.on("Go on.", |_, _| Say::text("So be it."));
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    run_in(&runtime, &session_id, "Go on.").await.assert_completed();
    let ends = ends(&world, &session_id).await;
    assert_eq!(types(&ends), ["loop_failed", "loop_failed", "loop_failed", "loop_failed", "loop_completed"]);
    let replay = runtime.replay_session(&session_id, None, None, false).await.unwrap();
    let root = replay.session().root_agent_id.clone();
    let children = replay.children().to_vec();
    assert_eq!(children.len(), 3);
    assert!(children.iter().all(|child| child.status.as_str() == "failed"));
    assert_eq!(ends[3].agent_id.as_ref(), Some(&root), "children first");

    let asked = actors.asked("Go on.").remove(0);
    let told: Vec<_> = asked.messages.iter().map(|message| text_of(&message.content)).collect();
    assert_eq!(told[0].lines().next(), Some("Split it up."));
    for child in &children {
        assert!(told.iter().any(|text| text.contains(child.agent_id.as_str())), "{told:?}");
    }
    runtime.close().await;
}

#[expect(clippy::print_stdout, reason = "the process that kills this one reads it")]
async fn work_until_killed(home: std::path::PathBuf) {
    let actors = Actors::default();
    split_up(&actors);
    for task in ["Task A", "Task B", "Task C"] {
        actors.on(task, |_, _| Say::Nothing);
    }
    let project = home.parent().unwrap().join("project");
    let runtime = actors.builder_at(&home, &project).tool(actors.helper()).build().await.unwrap();
    let run = runtime.start("Split it up.", StartOptions::default()).await.unwrap();
    for task in ["Task A", "Task B", "Task C"] {
        actors.wait_for(task).await;
    }
    println!("\n{AT_WORK}{}", run.session_id());
    run.wait().await;
}
