//! A session with children as data for whoever shows it.

use agent_core::archive::{TimelineOptions, TimelineStep, TreeAgent};
use agent_core::runtime::RunMode;
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::actors::{Actors, Say};
use crate::support::{World, run, run_in};

fn keys(of: &Value) -> Vec<&str> {
    of.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The steps of a timeline by their names, and what each says in one field.
fn steps<'v>(entries: &'v Value, field: &str) -> Vec<(&'v str, &'v Value)> {
    let entries = entries.as_array().unwrap().iter();
    entries.map(|entry| (entry["step"].as_str().unwrap(), &entry[field])).collect()
}

/// STO-9: a session with children as data: the user's run is told whole, its children stand below the run that made them, and
/// what a child did is told by the id of its run.
#[tokio::test]
async fn a_session_with_children() {
    let world = World::with("timeline_children", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[
            ("test.helper", json!({"task": "Task A", "kind": "sub"})),
            ("test.helper", json!({"task": "Task B", "kind": "fork"})),
        ]),
        _ => Say::text("All is\ndone."),
    });
    actors.on("Task A", |_, _| Say::text(&format!("A is done. {}", "word ".repeat(100))));
    actors.on("Task B", |_, _| Say::Fault);
    actors.on("And now?", |_, _| Say::text("Nothing more."));
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    run_in(&runtime, &ran.session_id, "And now?").await.assert_completed();
    let archive = runtime.archive();

    let tree = archive.agent_tree(&ran.session_id, false).await.unwrap();
    assert_eq!(tree.others, []);
    let told = |agent: &TreeAgent| {
        let run = &agent.runs[0];
        let error = run.error.as_ref().map(|error| error.message.clone());
        (agent.agent_type.as_str(), agent.status.as_str(), run.status.as_str(), run.asked.clone(), error)
    };
    let asked = |text: &str| Some(text.to_owned());
    let root = &tree.root;
    assert_eq!(told(root), ("main", "idle", "completed", asked("Split it up."), None));
    assert_eq!(root.runs.len(), 2);
    assert_eq!(root.runs[0].answered, asked("All is done."));
    assert_eq!((root.runs[1].answered.clone(), root.runs[1].children.len()), (asked("Nothing more."), 0));
    let mut children: Vec<_> = root.runs[0].children.iter().collect();
    children.sort_by_key(|child| child.agent_type.as_str());
    let (kind, agent, run, begins, error) = told(children[0]);
    assert_eq!((kind, agent, run, error), ("fork", "failed", "failed", asked("the server is gone")));
    let begins = begins.unwrap();
    assert!(begins.starts_with("Task B [You are a fork: "), "behind the task stands what core says: {begins}");
    assert_eq!(told(children[1]), ("sub", "completed", "completed", asked("Task A"), None));
    let answered = children[1].runs[0].answered.clone().unwrap();
    assert!(answered.starts_with("A is done. word word") && answered.ends_with('…'), "{answered}");
    assert_eq!(answered.chars().count(), 200);
    let shown = json!(tree);
    assert_eq!(keys(&shown), ["session_id", "root", "others"]);
    let who = ["agent_id", "agent_type", "role", "agent_definition_id", "worker_id", "worker_pool_id"];
    let agent = ["status", "purpose", "fork_from_node_id", "created_at", "runs"];
    assert_eq!(keys(&shown["root"]), [&who[..], &agent[..]].concat());
    let of_run = ["run_id", "status", "mode", "end_reason", "created_at", "updated_at", "elapsed_ms", "turns", "usage"];
    let place = ["asked", "answered", "error", "parent_tool_call_id", "task_id", "step_id", "children"];
    assert_eq!(keys(&shown["root"]["runs"][0]), [&of_run[..], &place[..]].concat());
    let first = &shown["root"]["runs"][0];
    assert_eq!((&shown["root"]["role"], &first["mode"]), (&json!("main"), &json!("normal")));
    for child in first["children"].as_array().unwrap() {
        assert_eq!(child["role"], child["agent_type"], "{child}");
        let run = &child["runs"][0];
        assert!(run["elapsed_ms"].is_u64() && run["mode"].is_null(), "{run}");
        assert!(run["parent_tool_call_id"].as_str().unwrap().starts_with("call_"), "{run}");
    }

    let timeline = archive.session_timeline(&ran.session_id, TimelineOptions::default()).await.unwrap();
    assert_eq!(timeline.children().len(), 2);
    assert_eq!(timeline.listing().summary.runs, 2);
    let shown = json!(timeline.collect().await.unwrap());
    let names: Vec<_> = steps(&shown, "step").into_iter().map(|(name, _)| name).collect();
    let told = ["began", "user_said", "called", "called", "model_said", "ended", "began", "user_said", "model_said"];
    let (children_told, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.starts_with("child_"));
    assert_eq!(others, [&told[..], &["ended"]].concat());
    assert_eq!(children_told.iter().filter(|name| **name == "child_began").count(), 2, "{children_told:?}");
    let mut ends: Vec<_> = steps(&shown, "status").into_iter().filter(|(name, _)| *name == "child_ended").collect();
    ends.sort_by_key(|(_, status)| status.as_str());
    assert_eq!(ends, [("child_ended", &json!("completed")), ("child_ended", &json!("failed"))]);
    let numbers: Vec<_> = steps(&shown, "number").into_iter().filter(|(name, _)| *name == "began").collect();
    assert_eq!(numbers, [("began", &json!(1)), ("began", &json!(2))]);
    let calls: Vec<_> = shown.as_array().unwrap().iter().filter(|entry| entry["step"] == "called").collect();
    let kinds: Vec<_> = calls.iter().map(|call| (&call["call"], &call["kind"])).collect();
    assert!(kinds.contains(&(&json!("Task A"), &json!("ok"))), "{kinds:?}");
    assert!(kinds.contains(&(&json!("Task B"), &json!("failed"))), "{kinds:?}");
    assert!(calls.iter().all(|call| call["duration_ms"].is_u64() && call["since_start_ms"].is_u64()), "{calls:?}");
    assert!(!shown.to_string().contains("Task A is"), "what children said is in their own runs: {shown}");

    assert_eq!(archive.session(&ran.session_id).await.unwrap().mode, Some(RunMode::Normal));
    let child = &children[1].runs[0].run_id;
    let entries = archive.run_timeline(child, TimelineOptions::default()).await.unwrap().collect().await.unwrap();
    let said = entries.iter().find_map(|entry| match &entry.step {
        TimelineStep::ModelSaid { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert!(said.is_some_and(|said| said.starts_with("A is done.")), "{entries:?}");
    assert!(entries.iter().all(|entry| entry.run_id.as_ref() == Some(child)));

    assert_eq!(archive.numbered_run(&ran.session_id, 2).await.unwrap(), root.runs[1].run_id);
    let none = archive.numbered_run(&ran.session_id, 3).await.unwrap_err();
    let wanted = format!("there is no run 3: session {} has 2 runs, counted from 1", ran.session_id);
    assert_eq!((none.code().as_str(), none.to_string()), ("validation_error", wanted));
    runtime.close().await;
}
