//! Agents that write to the same files (COD-5, AGT-C06).

use agent_core::EventType;
use agent_core::permission::DecisionKind;
use agent_testkit::Protocol;
use serde_json::json;

use super::actors::{Actors, Say, text_of};
use super::whole;
use crate::support::{World, run};

/// What these children are started with: by default a child only reads (AGT-8).
const WRITERS: [&str; 3] = ["code.read_file", "code.write_file", "code.edit_file"];

/// COD-5, AGT-C06: what counts is what the agent itself saw: an overwrite of what a sibling wrote meanwhile is a conflict that
/// names the sibling, also where the file was never read; edits of other places apply. PRM-2: questions name child and parent.
#[tokio::test]
async fn a_siblings_write_is_a_conflict() {
    let world = World::with("children_conflict", Protocol::OpenAi, "model.provider = \"actors\"").await;
    world.home.write("project/f.txt", "one\ntwo\nthree\n");
    let actors = Actors::default();
    actors.on("Both, please.", |turn, _| match turn {
        0 => Say::calls(&[
            ("agent.create_sub_agent", json!({"task": "Task A", "allowed_tools": WRITERS})),
            ("agent.create_sub_agent", json!({"task": "Task B", "allowed_tools": WRITERS})),
        ]),
        // The parent has not read what its child wrote.
        1 => Say::calls(&[("code.write_file", json!({"path": "f.txt", "content": "mine\n", "overwrite": true}))]),
        _ => Say::text("Done."),
    });
    // A reads before B writes, and writes after it.
    actors.on("Task A", |turn, all| match turn {
        0 => Say::calls(&[("code.read_file", json!({"path": "f.txt"}))]),
        1 if all.asked("Task B").len() < 3 => Say::Again,
        1 => Say::calls(&[(
            "code.write_file",
            json!({"path": "f.txt", "content": "one\ntwo\nfour\n", "overwrite": true}),
        )]),
        2 => Say::calls(&[("code.edit_file", json!({"path": "f.txt", "edits": [{"old": "three", "new": "drei"}]}))]),
        _ => Say::text("A is done."),
    });
    actors.on("Task B", |turn, all| match turn {
        0 if all.asked("Task A").len() < 2 => Say::Again,
        0 => Say::calls(&[("code.read_file", json!({"path": "f.txt"}))]),
        1 => Say::calls(&[("code.edit_file", json!({"path": "f.txt", "edits": [{"old": "one", "new": "eins"}]}))]),
        _ => Say::text("B is done."),
    });
    let person = world.answering_with(DecisionKind::AllowOnce);
    let builder = actors.builder(&world).permission_callback(person.clone());
    let runtime = builder.build().await.unwrap();
    let ran = run(&runtime, "Both, please.").await;
    ran.assert_completed();
    assert_eq!(world.file("f.txt").unwrap(), "eins\ntwo\ndrei\n", "nobody's work is lost");

    let whole = whole(&world, &ran.session_id).await;
    let wrote = |name: &str| {
        let text = actors.asked(name)[0].messages[0].clone();
        let first = whole.nodes.iter().find(|node| node.content[..] == text.content[..1]).unwrap();
        first.agent_id.to_string()
    };
    let (a, b) = (wrote("Task A"), wrote("Task B"));
    let of_a: Vec<_> = actors.asked("Task A")[2].messages.iter().map(|message| text_of(&message.content)).collect();
    let conflict = of_a.last().unwrap();
    assert!(conflict.contains(&b) && conflict.contains("read it first"), "{conflict}");
    let of_a: Vec<_> = actors.asked("Task A")[3].messages.iter().map(|message| text_of(&message.content)).collect();
    assert!(of_a.last().unwrap().contains(&b), "the edit says whose change was there: {of_a:?}");
    let failed = ran.of_type(EventType::ToolFailed);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].payload["error"]["code"], "path_conflict");
    assert!(failed[0].payload["error"]["message"].as_str().unwrap().contains(&a), "{:?}", failed[0].payload);

    let root = ran.events[0].agent_id.clone();
    let asked = person.asked();
    assert!(asked.len() >= 2);
    for request in &asked {
        assert_eq!((request.agent_role.as_str(), &request.parent_agent_id), ("sub", &root));
        assert_eq!(request.parent_run_id, ran.events[0].run_id);
        assert!(request.agent_id.as_str() == a || request.agent_id.as_str() == b);
    }
    runtime.close().await;
}
