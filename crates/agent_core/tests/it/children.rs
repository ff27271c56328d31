//! Child agents beside the session's own: their conversations, their limits, their ends (AGT-1, AGT-2, AGT-4, STO-8).

pub(crate) mod actors;
mod compacted;
mod conflicts;
mod ends;
mod forks;
mod forms;
mod killed;
mod killed_workers;
mod reports;
mod restricted;
mod trips;
mod views;
mod watching;

use std::collections::HashSet;

use agent_core::event::{ChildAgentCreated, ChildAgentFailed};
use agent_core::id::SessionId;
use agent_core::session::{Node, NodeType, Role};
use agent_core::{EventType, RuntimeEvent, StartOptions};
use agent_store::SessionStore;
use agent_testkit::Protocol;
use serde_json::json;

use actors::{Actors, Say, text_of};

use crate::stored::Stored;
use crate::support::{World, run, run_in};

/// The user's conversation, three children beside it (one of them a fork), and their calls.
fn split_up(actors: &Actors) {
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[
            ("test.helper", json!({"task": "Task A", "kind": "sub"})),
            ("test.helper", json!({"task": "Task B", "kind": "sub"})),
            ("test.helper", json!({"task": "Task C", "kind": "fork"})),
        ]),
        _ => Say::text("All is done."),
    });
    for task in ["Task A", "Task B", "Task C"] {
        actors.on(task, move |turn, _| match turn {
            0 => Say::calls(&[
                ("code.list_dir", json!({"path": "."})),
                ("test.helper", json!({"task": "x", "kind": "sub"})),
            ]),
            _ => Say::text(&format!("{task} is done.")),
        });
    }
}

/// AGT-1, AGT-2, STO-8: children work beside their parent in one session, each in a tree of its own; the user's path is moved by
/// nobody else, the parent sees results only, a fork begins behind its parent's conversation, and all of it is replayed.
#[tokio::test]
async fn children_work_beside_their_parent() {
    let world = World::with("children", Protocol::OpenAi, "model.provider = \"actors\"").await;
    world.home.write("project/data.txt", "words\n");
    let actors = Actors::default();
    split_up(&actors);
    actors.on("And now?", |_, _| Say::text("Nothing more."));
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    assert_eq!(ran.result.answer.as_deref(), Some("All is done."));
    let root_run = ran.events[0].run_id.clone();
    assert!(ran.events.iter().all(|event| event.run_id == root_run), "the parent's stream is its own");
    let results: Vec<_> = ran.of_type(EventType::ToolCompleted);
    assert_eq!(results.len(), 3);
    assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), 3);
    let created: Vec<ChildAgentCreated> =
        ran.of_type(EventType::ChildAgentCreated).into_iter().map(|event| event.read().unwrap()).collect();

    let replay = runtime.replay_session(&ran.session_id, None, None, true).await.unwrap();
    let (root, active) = (replay.session().root_agent_id.clone(), replay.session().active_node_id.clone().unwrap());
    let children = replay.children().to_vec();
    let kinds: Vec<_> = children.iter().map(|child| (child.agent_type.as_str(), child.status.as_str())).collect();
    let mut sorted = kinds.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [("fork", "completed"), ("sub", "completed"), ("sub", "completed")]);
    let told =
        |child: &agent_core::session::AgentInfo| child.result.as_ref().unwrap()["summary"].as_str().unwrap().to_owned();
    let told: HashSet<_> = children.iter().map(told).collect();
    assert_eq!(told, ["Task A is done.", "Task B is done.", "Task C is done."].map(str::to_owned).into());

    for child in &children {
        let created = created.iter().find(|created| created.child_agent_id == child.agent_id).unwrap();
        assert_eq!(created.fork_from_node_id, child.fork_from_node_id);
        assert_eq!(created.stream_id, created.child_run_id);
        assert!(created.allowed_tools.contains(&"code.list_dir".to_owned()));
        assert!(!created.allowed_tools.contains(&"code.write_file".to_owned()), "AGT-8: not unless asked for");
    }

    // The user's conversation is the root agent's alone.
    let path = runtime.get_node_path(&active).await.unwrap();
    assert!(path.iter().all(|node| node.agent_id == root));
    let said: Vec<_> = path.iter().filter(|node| node.node_type == NodeType::Message).collect();
    assert_eq!(said.len(), 6, "a message, a reply with three calls, their results, an answer");
    let shown = replay.collect().await.unwrap();
    assert!(
        shown.nodes.iter().all(|node| node.agent_id == root),
        "STO-9: what children said is not in the user's timeline"
    );
    let whole = whole(&world, &ran.session_id).await;
    assert_places(&whole.events);
    for child in &children {
        let nodes: Vec<_> = whole.nodes.iter().filter(|node| node.agent_id == child.agent_id).collect();
        assert_eq!(nodes.last().map(|node| &node.node_id), child.active_node_id.as_ref());
        let run = runtime.replay_run(&nodes[0].run_id, false).await.unwrap().collect().await.unwrap();
        assert_eq!(run.nodes.len(), nodes.len(), "a child's run is replayed by its id");
        let first = nodes[0];
        assert_eq!(first.parent_id, child.fork_from_node_id);
        assert_eq!((first.role, child.parent_agent_id.as_ref()), (Role::User, Some(&root)));
        // Its own children are refused, and it goes on.
        let refused = nodes.iter().filter(|node| text_of(&node.content).contains("cannot start children of its own"));
        assert_eq!(refused.count(), 1);
    }

    // What a fork is asked begins as what its parent was asked, without the reply that is at work; a sub agent knows its task
    // alone.
    let parent = actors.asked("Split it up.");
    let fork = actors.asked("Task C");
    assert_eq!(fork[0].messages[..1], parent[0].messages[..]);
    assert_eq!(fork[0].messages.len(), 2);
    let said: Vec<_> = fork[0].messages[1].content.iter().filter_map(|block| block.as_text()).collect();
    assert!(said[0] == "Task C" && said[1].starts_with("[You are a fork: "), "{said:?}");
    assert_eq!(actors.asked("Task A")[0].messages.len(), 1);
    let reported: Vec<_> = parent[1].messages.iter().map(|message| text_of(&message.content)).collect();
    assert!(reported.iter().any(|text| text.contains("Task B is done.")), "{reported:?}");

    // The next message goes on where the user's conversation stands.
    run_in(&runtime, &ran.session_id, "And now?").await.assert_completed();
    let next = actors.asked("And now?").remove(0);
    assert!(next.messages.iter().all(|message| !text_of(&message.content).contains("Task A\n")));
    assert_eq!(next.messages[..parent[1].messages.len()], parent[1].messages[..]);
    runtime.close().await;
}

/// Everything that is stored of a session, of all its agents.
struct Whole {
    events: Vec<RuntimeEvent>,
    nodes: Vec<Node>,
}

async fn whole(world: &World, session_id: &SessionId) -> Whole {
    let store = Stored::open(&world.home.home).await.store;
    let events = store.events(session_id, 0, 10_000).await.unwrap();
    let nodes = store.nodes_between(session_id, 0, 1_000_000, 10_000).await.unwrap();
    store.close().await;
    Whole { events, nodes }
}

/// EVT-4: places are gapless in the session and in each run.
fn assert_places(events: &[RuntimeEvent]) {
    let places: Vec<_> = events.iter().map(|event| event.seq.unwrap()).collect();
    assert_eq!(places, (1..=events.len() as u64).collect::<Vec<_>>());
    let runs: HashSet<_> = events.iter().map(|event| event.run_id.clone()).collect();
    assert!(runs.len() > 3);
    for run in runs {
        let of_run: Vec<_> =
            events.iter().filter(|event| event.run_id == run).map(|event| event.run_seq.unwrap()).collect();
        assert_eq!(of_run, (1..=of_run.len() as u64).collect::<Vec<_>>());
    }
}

/// AGT-4: who cancels a run cancels its children, and theirs is the first end.
#[tokio::test]
async fn a_cancel_ends_the_children() {
    let world = World::with("children_cancel", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    split_up(&actors);
    for task in ["Task A", "Task B", "Task C"] {
        actors.on(task, |_, _| Say::Nothing);
    }
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let handle = runtime.start("Split it up.", StartOptions::default()).await.unwrap();
    for task in ["Task A", "Task B", "Task C"] {
        actors.wait_for(task).await;
    }
    let cancelled = handle.cancel().await;
    assert_eq!((cancelled.status.as_str(), cancelled.timed_out), ("aborted", false));
    let stored = whole(&world, handle.session_id()).await.events;
    let of_type = |event_type| stored.iter().filter(|event| event.event_type == event_type).count();
    assert_eq!(of_type(EventType::ChildAgentCancelRequested), 3);
    assert_eq!(of_type(EventType::ChildAgentCancelled), 3);
    let ends = ends(&world, handle.session_id()).await;
    assert_eq!(types(&ends), ["loop_aborted"; 4]);
    assert_eq!(ends[3].run_id.as_ref(), Some(handle.run_id()));
    let replay = runtime.replay_session(handle.session_id(), None, None, false).await.unwrap();
    assert!(replay.children().iter().all(|child| child.status.as_str() == "cancelled"));
    runtime.close().await;
}

/// The last events of all runs of a session, in their order.
async fn ends(world: &World, session_id: &SessionId) -> Vec<RuntimeEvent> {
    let ends = [EventType::LoopAborted, EventType::LoopCompleted, EventType::LoopFailed];
    let events = whole(world, session_id).await.events.into_iter();
    events.filter(|event| ends.contains(&event.event_type)).collect()
}

fn types(events: &[RuntimeEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.event_type.as_str()).collect()
}

/// AGT-7: limits count the children that live; a call over a limit is told so at once, and the others go on.
#[tokio::test]
async fn limits_count_the_living() {
    let extra = "model.provider = \"actors\"\nagents.max_children_per_run = 2";
    let world = World::with("children_limit", Protocol::OpenAi, extra).await;
    let actors = Actors::default();
    split_up(&actors);
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    // The two that were there first live until the third was refused.
    for task in ["Task A", "Task B", "Task C"] {
        actors.on(task, move |_, all| if all.refused() == 1 { Say::text("Done.") } else { Say::Again });
    }
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    let failed = ran.of_type(EventType::ToolFailed);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].payload["error"]["code"], "child_agent_limit_exceeded");
    // Those that have ended do not count.
    actors.on("Once more.", |turn, _| match turn {
        0 => Say::calls(&[("test.helper", json!({"task": "Task A", "kind": "sub"}))]),
        _ => Say::text("Done."),
    });
    let ran = run_in(&runtime, &ran.session_id, "Once more.").await;
    ran.assert_completed();
    assert!(ran.of_type(EventType::ToolFailed).is_empty());
    runtime.close().await;
}

/// AGT-5: a child that failed is no completed one for its parent, which goes on.
#[tokio::test]
async fn a_failed_child_is_told() {
    let world = World::with("children_fail", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    split_up(&actors);
    actors.on("Task B", |_, _| Say::Fault);
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    let failed = ran.of_type(EventType::ToolFailed);
    assert_eq!(failed.len(), 1);
    let told: ChildAgentFailed = ran.of_type(EventType::ChildAgentFailed)[0].read().unwrap();
    assert_eq!(told.error.message, "the server is gone");
    let asked = actors.asked("Split it up.");
    let results: Vec<_> = asked[1].messages.iter().map(|message| text_of(&message.content)).collect();
    assert!(results.iter().any(|text| text.contains("the child failed: the server is gone")), "{results:?}");
    let replay = runtime.replay_session(&ran.session_id, None, None, false).await.unwrap();
    let statuses: HashSet<_> = replay.children().iter().map(|child| child.status.as_str()).collect();
    assert_eq!(statuses, HashSet::from(["completed", "failed"]));
    runtime.close().await;
}

/// AGT-3: tools that do not exist, or that no child may have, are refused before anything starts.
#[tokio::test]
async fn tools_a_child_cannot_have() {
    let world = World::with("children_tools", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[
            ("test.helper", json!({"task": "Task A", "kind": "sub", "tools": ["code.read_file", "code.fly"]})),
            ("test.helper", json!({"task": "Task A", "kind": "fork", "tools": ["agent.plan_template"]})),
        ]),
        _ => Say::text("Then not."),
    });
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    let failed = ran.of_type(EventType::ToolFailed);
    let messages: Vec<_> = failed.iter().map(|event| event.payload["error"]["message"].as_str().unwrap()).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages[0].contains("code.fly") && messages[1].contains("agent.plan_template"), "{messages:?}");
    assert!(failed.iter().all(|event| event.payload["error"]["code"] == "validation_error"));
    assert!(ran.of_type(EventType::ChildAgentCreated).is_empty());
    let replay = runtime.replay_session(&ran.session_id, None, None, false).await.unwrap();
    assert!(replay.children().is_empty(), "nothing was started");
    runtime.close().await;
}

/// PRM-5, RUN-22: what nobody answered in a child went unanswered in the run of the user as well.
#[tokio::test]
async fn a_child_that_nobody_answers() {
    let world = World::with("children_unanswered", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    actors.on("Split it up.", |turn, _| match turn {
        0 => Say::calls(&[("test.helper", json!({"task": "Task A", "kind": "sub", "tools": ["code.write_file"]}))]),
        _ => Say::text("All is done."),
    });
    actors.on("Task A", |turn, _| match turn {
        0 => Say::calls(&[("code.write_file", json!({"path": "f.txt", "content": "x"}))]),
        _ => Say::text("I may not."),
    });
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    assert_eq!(world.file("f.txt"), None);
    let unanswered: Vec<_> = ran.result.unanswered.iter().map(|call| call.tool_name.as_str()).collect();
    assert_eq!(unanswered, ["code.write_file"]);
    runtime.close().await;
}
