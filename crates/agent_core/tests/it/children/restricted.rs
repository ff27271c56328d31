//! What children may not do (SUB-01, SUB-04, AGT-1, AGT-3, AGT-4).

use agent_core::EventType;
use agent_testkit::Protocol;
use serde_json::json;

use super::actors::{Actors, Say, text_of};
use crate::support::{World, run};

const CREATE: &str = "agent.create_sub_agent";

async fn world(extra: &str) -> (World, Actors) {
    let extra = format!("model.provider = \"actors\"\n{extra}");
    (World::with("restricted", Protocol::OpenAi, &extra).await, Actors::default())
}

/// SUB-01, AGT-3: where the configuration takes a tool away, no child gets it: asked for it is refused before anything starts, all names
/// that are wrong at once; and without a list the child has its default tools, in which it is not. Paths outside of the project are
/// refused to it as to its parent.
#[tokio::test]
async fn a_child_does_not_escape() {
    let (world, actors) = world("tools.disabled = [\"code.write_file\"]").await;
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[
            (
                CREATE,
                json!({"task": "Task A", "allowed_tools": ["code.write_file", "code.raed_file", "agent.fork_agent"]}),
            ),
            ("agent.fork_agent", json!({"task": "Task A", "allowed_tools": ["code.write_file"]})),
            (CREATE, json!({"task": "Task B"})),
        ]),
        _ => Say::text("All is done."),
    });
    actors.on("Task B", |turn, _| match turn {
        0 => Say::calls(&[
            ("code.write_file", json!({"path": "f.txt", "content": "x"})),
            ("code.run_command", json!({"argv": ["touch", "f.txt"]})),
            ("code.read_file", json!({"path": "~/.ssh/id_rsa"})),
        ]),
        _ => Say::text("I may not."),
    });
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    let failed: Vec<_> = ran.of_type(EventType::ToolFailed).iter().map(|event| &event.payload["error"]).collect();
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|error| error["code"] == "validation_error"));
    let tools = &failed.iter().find(|error| error["details"]["tools"].as_array().unwrap().len() == 3).unwrap();
    let message = tools["message"].as_str().unwrap();
    for says in ["code.write_file (tools.disabled names it)", "did you mean code.read_file?", "agent.fork_agent ("] {
        assert!(message.contains(says), "{says}: {message}");
    }
    assert_eq!(ran.of_type(EventType::ChildAgentCreated).len(), 1);
    let second = &actors.asked("Task B")[1];
    let results: Vec<_> = second.messages.iter().map(|message| text_of(&message.content)).collect();
    let all = results.join("\n");
    assert!(
        all.contains("there is no tool \"code.write_file\"") && all.contains("there is no tool \"code.run_command\"")
    );
    assert_eq!(world.file("f.txt"), None);
    runtime.close().await;
}

/// SUB-04, PRM-5: a child that would have to ask, with nobody there, is told at once, and its parent hears how it went on.
#[tokio::test]
async fn a_child_that_nobody_answers_ends() {
    let (world, actors) = world("").await;
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[(CREATE, json!({"task": "Task A", "allowed_tools": ["code.write_file"]}))]),
        _ => Say::text("All is done."),
    });
    actors.on("Task A", |turn, _| match turn {
        0 => Say::calls(&[("code.write_file", json!({"path": "f.txt", "content": "x"}))]),
        _ => Say::text("I may not write."),
    });
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    assert_eq!(ran.result.unanswered.len(), 1);
    let told = text_of(&actors.asked("Split it up.")[1].messages.last().unwrap().content);
    assert!(told.contains("I may not write."), "{told}");
    runtime.close().await;
}

/// AGT-4, AGT-7: calls over a limit are told so by the tools at once, and start nothing; those within it go on until their time is over.
#[tokio::test]
async fn limits_are_told_by_the_tools() {
    for (key, of) in [("max_children_per_run", "this run"), ("max_concurrent_children_per_session", "this session")] {
        let (world, actors) = world(&format!("agents.{key} = 1")).await;
        actors.on("Split it up.", |turn, _| match turn {
            0 => {
                let arguments = json!({"task": "Task A", "timeout_ms": 1000});
                Say::calls(&[(CREATE, arguments.clone()), ("agent.fork_agent", arguments)])
            }
            _ => Say::text("All is done."),
        });
        actors.on("Task A", |_, _| Say::Nothing);
        let runtime = actors.builder(&world).build().await.unwrap();
        let ran = run(&runtime, "Split it up.").await;
        ran.assert_completed();
        let failed = ran.of_type(EventType::ToolFailed);
        let errors: Vec<_> = failed.iter().map(|event| event.payload["error"].clone()).collect();
        let codes: Vec<_> = errors.iter().map(|error| error["code"].as_str().unwrap()).collect();
        assert_eq!(codes, ["child_agent_limit_exceeded", "timeout"], "{key}");
        assert_eq!(errors[0]["details"]["limit"], 1);
        assert!(errors[0]["message"].as_str().unwrap().starts_with(of), "{}", errors[0]);
        assert_eq!(ran.of_type(EventType::ChildAgentCreated).len(), 1);
        runtime.close().await;
    }
}
