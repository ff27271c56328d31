//! How children end, as their parent is told (AGT-C01, AGT-5).

use agent_core::error::{ErrorCode, ErrorPayload};
use agent_core::event::ToolFailed;
use agent_core::message::ContentBlock;
use agent_core::model::{ModelFault, StopKind};
use agent_core::{EventType, RuntimeEvent};
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::actors::{Actors, Say, text_of};
use crate::support::{World, run};

/// One way for a child to end.
struct End {
    name: &'static str,
    config: &'static str,
    says: fn(usize) -> Say,
    timeout_ms: Option<u64>,
    code: ErrorCode,
    /// Words of the error.
    words: &'static str,
    /// What the child had said.
    partial: Option<&'static str>,
}

fn text(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

fn look(_: usize) -> Say {
    let Say::Reply(mut content) = Say::calls(&[("code.list_dir", json!({"path": "."}))]) else { unreachable!() };
    content.insert(0, ContentBlock::text("Looking further."));
    Say::Reply(content)
}

fn ends() -> Vec<End> {
    vec![
        End {
            name: "limited",
            config: "",
            says: |_| {
                let error = ErrorPayload::new(ErrorCode::ProviderRateLimited, "429: slow down, please");
                Say::fails(ModelFault::Fatal, error, "")
            },
            timeout_ms: None,
            code: ErrorCode::ProviderRateLimited,
            words: "429: slow down, please",
            partial: None,
        },
        End {
            name: "broken",
            config: "",
            says: |_| {
                let error = ErrorPayload::new(ErrorCode::ProviderError, "the stream broke off");
                Say::fails(ModelFault::Fatal, error, "The first twenty words")
            },
            timeout_ms: None,
            code: ErrorCode::ProviderError,
            words: "the stream broke off",
            partial: Some("The first twenty words"),
        },
        End {
            name: "filtered",
            config: "",
            says: |_| Say::stops(StopKind::ContentFilter, text("Half of it"), 3),
            timeout_ms: None,
            code: ErrorCode::ProviderError,
            words: "filter",
            partial: Some("Half of it"),
        },
        End {
            name: "max_turns",
            config: "runtime.max_turns = 2",
            says: look,
            timeout_ms: None,
            code: ErrorCode::Cancelled,
            words: "max_turns",
            partial: Some("Looking further."),
        },
        End {
            name: "empty",
            config: "",
            says: |_| Say::stops(StopKind::EndTurn, Vec::new(), 0),
            timeout_ms: None,
            code: ErrorCode::ProviderError,
            words: "neither text nor a tool call",
            partial: None,
        },
        End {
            name: "too_slow",
            config: "",
            says: |_| Say::Nothing,
            timeout_ms: Some(30),
            code: ErrorCode::Timeout,
            words: "30 ms",
            partial: None,
        },
    ]
}

/// What the parent's model is shown of its only call.
fn shown(actors: &Actors) -> String {
    let asked = actors.asked("Split it up.");
    text_of(&asked[1].messages.last().unwrap().content)
}

fn result_of(shown: &str) -> Value {
    let json = shown.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no result in {shown}"));
    serde_json::from_str(json).unwrap()
}

/// AGT-C01, AGT-5: a child that failed in any way is an error for its parent, with the code and the words of what went wrong; what it
/// had said is partial, no status says completed, its row and its event say the same, and the parent goes on.
#[tokio::test]
async fn a_failure_is_never_a_result() {
    for tool in ["agent.create_sub_agent", "agent.fork_agent"] {
        for end in ends() {
            let name = format!("{tool} {}", end.name);
            let extra = format!("model.provider = \"actors\"\n{}", end.config);
            let world = World::with("child_ends", Protocol::OpenAi, &extra).await;
            let actors = Actors::default();
            let mut arguments = json!({"task": "Task A"});
            if let Some(millis) = end.timeout_ms {
                arguments["timeout_ms"] = millis.into();
            }
            actors.on("Split it up.", move |turn, _| match turn {
                0 => Say::calls(&[(tool, arguments.clone())]),
                _ => Say::text("Then without it."),
            });
            actors.on("Task A", move |turn, _| (end.says)(turn));
            let runtime = actors.builder(&world).build().await.unwrap();
            let ran = run(&runtime, "Split it up.").await;
            ran.assert_completed();
            let failed: Vec<&RuntimeEvent> = ran.of_type(EventType::ToolFailed);
            assert_eq!(failed.len(), 1, "{name}");
            let told: ToolFailed = failed[0].read().unwrap();
            let error = told.0.error.unwrap();
            assert_eq!(error.code, end.code, "{name}: {}", error.message);
            assert!(error.message.contains(end.words), "{name}: {}", error.message);
            assert!(ran.of_type(EventType::ChildAgentCompleted).is_empty(), "{name}");
            let shown = shown(&actors);
            assert!(shown.starts_with(&error.message), "{name}: {shown}");
            let result = result_of(&shown);
            assert_ne!(result["status"], "completed", "{name}");
            assert_eq!(result.get("partial").and_then(Value::as_str), end.partial, "{name}: {shown}");
            let replay = runtime.replay_session(&ran.session_id, None, None, false).await.unwrap();
            let child = &replay.children()[0];
            assert_ne!(child.status.as_str(), "completed", "{name}");
            assert_eq!(child.status.as_str(), result["status"], "{name}: replay says the same");
            runtime.close().await;
        }
    }
}

/// AGT-5, AGT-6: a child that did its work brings back its answer, its artifacts and what it took; a definition that is named, or is the
/// configured default, is who it is.
#[tokio::test]
async fn a_success_is_told_with_what_it_made() {
    let extra = "model.provider = \"actors\"\nagents.default_sub_agent_definition = \"reviewer\"\n\
                 tools.artifact_threshold_bytes = 1024";
    let world = World::with("child_success", Protocol::OpenAi, extra).await;
    let definition = "---\nid: reviewer\nname: R\ndescription: Looks twice.\n---\nLook at everything twice.\n";
    world.home.write(world.home.home.join("agents/reviewer.md"), definition);
    for n in 0..120 {
        world.home.write(format!("project/file_with_a_long_name_{n:03}.txt"), "x");
    }
    let actors = Actors::default();
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[
            ("agent.create_sub_agent", json!({"task": "Task A", "context": "All of it.", "constraints": "Be short."})),
            ("agent.create_sub_agent", json!({"task": "Task B", "agent_definition_id": "default_sub_agent"})),
            ("agent.create_sub_agent", json!({"task": "Task C", "agent_definition_id": "reviewr"})),
        ]),
        _ => Say::text("All is done."),
    });
    actors.on("Task A", |turn, _| match turn {
        0 => Say::calls(&[("code.list_dir", json!({"path": "."}))]),
        _ => Say::stops(StopKind::EndTurn, text("There are many files."), 7),
    });
    actors.on("Task B", |_, _| Say::text("Nothing."));
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    let done = ran.of_type(EventType::ToolCompleted);
    assert_eq!(done.len(), 2);
    let facts = done.iter().map(|event| &event.payload["metadata"]).find(|facts| facts["turns"] == 2).unwrap();
    assert_eq!((&facts["agent_definition_id"], &facts["child_status"]), (&json!("reviewer"), &json!("completed")));
    assert_eq!(facts["usage"]["output_tokens"], 7);
    let failed = &ran.of_type(EventType::ToolFailed)[0].payload["error"];
    assert_eq!(failed["code"], "validation_error");
    assert!(failed["message"].as_str().unwrap().contains("did you mean reviewer?"), "{failed}");

    let asked = actors.asked("Split it up.");
    let results: Vec<_> = asked[1].messages.iter().map(|message| text_of(&message.content)).collect();
    let first = results.iter().find(|text| text.contains("There are many files.")).unwrap();
    let result = result_of(first);
    assert_eq!((&result["status"], &result["summary"]), (&json!("completed"), &json!("There are many files.")));
    let artifacts = result["artifacts"].as_array().unwrap();
    assert!(artifacts.len() == 1 && artifacts[0].as_str().unwrap().starts_with("art_"), "{result}");
    let child = actors.asked("Task A");
    let said: Vec<_> = child[0].messages[0].content.iter().filter_map(|block| block.as_text()).collect();
    assert_eq!(said[..3], ["Task A", "Context:\nAll of it.", "Constraints:\nBe short."]);
    let body = child[0].system.blocks.iter().find(|block| block.dynamic).unwrap();
    assert_eq!(
        (body.block_id.as_str(), body.content.trim()),
        ("agent_definition:reviewer", "Look at everything twice.")
    );
    let packaged = &actors.asked("Task B")[0].system;
    assert!(packaged.blocks.iter().any(|block| block.block_id == "agent_definition:default_sub_agent"));
    runtime.close().await;
}
