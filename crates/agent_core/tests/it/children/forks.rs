//! Forks: what the first request of one is made of (AGT-2, AGT-C07).

use agent_core::EventType;
use agent_core::model::ModelRequest;
use agent_core::permission::DecisionKind;
use agent_testkit::{Call, Protocol, Reply};
use serde_json::{Value, json};

use super::actors::{Actors, Say, text_of};
use crate::support::{World, run, run_in};

const FORK: &str = "agent.fork_agent";

/// No call without its result, and no result without its call (CTX-5).
#[track_caller]
fn assert_closed(request: &ModelRequest) {
    let mut open = Vec::new();
    for block in request.messages.iter().flat_map(|message| &*message.content) {
        match block {
            agent_core::message::ContentBlock::ToolCall(call) => open.push(call.tool_call_id.clone()),
            agent_core::message::ContentBlock::ToolResult(result) => {
                let at = open.iter().position(|id| *id == result.tool_call_id).expect("a result has a call");
                open.remove(at);
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// AGT-2, AGT-C07: laid beside what its parent was asked in the turn that made it, a fork's first request has the same messages up to
/// there, the same static system blocks, tools of its own without any that makes agents, and last its task, which says who it is. So
/// it is for two forks of one reply, beside a write that fails, behind a loaded skill, a plan and an earlier exchange.
#[tokio::test]
async fn a_fork_beside_its_parents_path() {
    let world = World::with("forks", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let skill = "---\nname: review\ndescription: For a test.\n---\nLook twice.\n";
    world.home.write(world.home.home.join("skills/review.md"), skill);
    let actors = Actors::default();
    actors.on("Before.", |_, _| Say::text("There was something before."));
    actors.on("Now I dispatch three helpers.", |turn, _| match turn {
        0 => Say::calls(&[
            ("internal.load_skill", json!({"name": "review"})),
            ("agent.plan_template", json!({"goal": "Send three helpers."})),
        ]),
        1 => Say::calls(&[
            (FORK, json!({"task": "Task A"})),
            (FORK, json!({"task": "Task B", "constraints": "Be short."})),
            ("code.write_file", json!({"path": "f.txt", "content": "x"})),
        ]),
        _ => Say::text("All is done."),
    });
    for task in ["Task A", "Task B"] {
        actors.on(task, move |_, _| Say::text(&format!("{task} is done.")));
    }
    let person = world.answering_with(DecisionKind::Deny);
    let runtime = actors.builder(&world).permission_callback(person).build().await.unwrap();
    let session = run(&runtime, "Before.").await.session_id;
    let ran = run_in(&runtime, &session, "Now I dispatch three helpers.").await;
    ran.assert_completed();
    let parent = actors.asked("Now I dispatch three helpers.");
    for task in ["Task A", "Task B"] {
        let fork = actors.asked(task).remove(0);
        assert_closed(&fork);
        let shared = parent[1].messages.len();
        assert_eq!(fork.messages[..shared], parent[1].messages[..], "the parent's path up to the reply that forks");
        assert_eq!(fork.messages.len(), shared + 1);
        let said = text_of(&fork.messages[shared].content);
        assert!(said.starts_with(task) && said.contains("[You are a fork: "), "{said}");
        assert!(said.contains("plans") && said.contains("cannot start agents"), "{said}");
        let fixed = parent[1].system.blocks.iter().take_while(|block| !block.dynamic);
        let own: Vec<_> =
            fork.system.blocks.iter().take_while(|block| !block.dynamic).map(|block| &block.content).collect();
        assert_eq!(own, fixed.map(|block| &block.content).collect::<Vec<_>>());
        let tools: Vec<_> = fork.tools.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert!(tools.contains(&"code.read_file") && !tools.contains(&"code.write_file"), "{tools:?}");
        assert!(tools.iter().all(|name| !name.starts_with("agent.")), "{tools:?}");
    }
    let results = text_of(&parent[2].messages.iter().flat_map(|message| message.content.to_vec()).collect::<Vec<_>>());
    assert!(results.contains("Task A is done.") && results.contains("Task B is done."), "{results}");
    assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), 2);
    runtime.close().await;
}

/// AGT-C07: for every protocol the first request of a fork begins with the bytes of its parent's messages and ends with its task.
#[tokio::test]
async fn a_fork_in_every_protocol() {
    for &protocol in Protocol::ALL {
        let world = World::new("fork_protocols", protocol).await;
        world.server.script([
            Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]),
            Reply::text("Now a fork.").calls([Call::new(FORK, json!({"task": "Task A"}))]),
            Reply::text("Forked."),
            Reply::text("All is done."),
        ]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Split it up.").await;
        ran.assert_completed();
        let requests = world.server.requests();
        let (parent, fork) = (requests[1].messages().to_vec(), requests[2].messages().to_vec());
        let conversation =
            |all: &[Value]| all.iter().filter(|one| one["role"] != "system").cloned().collect::<Vec<_>>();
        let (parent, fork) = (conversation(&parent), conversation(&fork));
        // The mark of what may be cached moves on with the end of a request.
        let plain = |message: &Value| message.to_string().replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        let begins = fork.iter().zip(&parent).take_while(|(own, of)| plain(own) == plain(of)).count();
        assert!(begins + 1 >= parent.len(), "{protocol:?}: {fork:?}");
        let last = fork.last().unwrap();
        assert_eq!(last["role"], "user", "{protocol:?}");
        assert!(last.to_string().contains("Task A"), "{protocol:?}");
        assert!(
            !fork.iter().any(|message| message.to_string().contains("Now a fork.")),
            "the reply at work is left out"
        );
        runtime.close().await;
    }
}

/// AGT-C07: in a small window a fork of a long conversation works as its parent does.
#[tokio::test]
async fn a_fork_in_a_small_window() {
    let extra = "model.provider = \"actors\"\nmodel.context_window = 8192\ncompact.enabled = false";
    let world = World::with("fork_window", Protocol::OpenAi, extra).await;
    let actors = Actors::default();
    let long = |n: usize| format!("Part {n}. {}", "words of an earlier turn ".repeat(60));
    for n in 0..12 {
        actors.on(&long(n), move |_, _| Say::text(&format!("Answer {n}. {}", "words of an answer ".repeat(60))));
    }
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[(FORK, json!({"task": "Task A"}))]),
        _ => Say::text("All is done."),
    });
    actors.on("Task A", |_, _| Say::text("Task A is done."));
    let runtime = actors.builder(&world).build().await.unwrap();
    let session = run(&runtime, &long(0)).await.session_id;
    for n in 1..12 {
        run_in(&runtime, &session, &long(n)).await.assert_completed();
    }
    let ran = run_in(&runtime, &session, "Split it up.").await;
    ran.assert_completed();
    assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), 1);
    let fork = actors.asked("Task A").remove(0);
    assert_closed(&fork);
    assert!(text_of(&fork.messages.last().unwrap().content).contains("Task A"));
    runtime.close().await;
}
