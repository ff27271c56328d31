//! Children that are watched and inspected through the handle of their parent's run (API-4).

use agent_core::archive::{ChildInspection, ChildPlace};
use agent_core::event::{ChildAgentCreated, ChildEventsError, EventStream, MessageDelta};
use agent_core::id::RunId;
use agent_core::session::AgentRole;
use agent_core::{EventType, RunHandle, RuntimeEvent, StartOptions};
use agent_testkit::{Call, Protocol, Reply};
use serde_json::{Value, json};

use super::actors::{Actors, Say};
use crate::support::World;

async fn all(mut stream: EventStream) -> Vec<RuntimeEvent> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await.unwrap() {
        events.push(event);
    }
    events
}

/// The run's events up to that of its next child, and the child.
async fn next_child(events: &mut EventStream) -> ChildAgentCreated {
    loop {
        let event = events.next().await.unwrap().expect("the run makes a child");
        if event.event_type == EventType::ChildAgentCreated {
            return event.read().unwrap();
        }
    }
}

#[track_caller]
fn assert_whole(events: &[RuntimeEvent], child: &RunId) {
    let seqs: Vec<_> = events.iter().filter_map(|event| event.run_seq).collect();
    assert_eq!(seqs.first(), Some(&1));
    assert!(seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    assert_eq!(events.first().unwrap().event_type, EventType::LoopStarted);
    assert_eq!(events.iter().rfind(|event| event.seq.is_some()).unwrap().event_type, EventType::LoopCompleted);
    assert!(events.iter().all(|event| event.run_id.as_ref() == Some(child)));
}

fn calls(task: &str, kind: &str) -> Reply {
    Reply::empty().calls([Call::new("test.helper", json!({"task": task, "kind": kind}))])
}

fn text(events: &[RuntimeEvent]) -> String {
    let deltas = events.iter().filter(|event| event.event_type == EventType::MessageDelta);
    deltas.map(|event| event.read::<MessageDelta>().unwrap().text).collect()
}

/// API-4: a child is watched from its first event on, whether one begins to at the event that names it, while it speaks or after its
/// end; deltas come from then on. There is one consumer, of this run's children only.
#[tokio::test]
async fn a_child_is_watched_from_its_first_event() {
    for begins in ["at once", "while it speaks", "after its end"] {
        let world = World::new("watched_child", Protocol::OpenAi).await;
        let (speech, gate) = Reply::text("one two three four").chunks(4).gated();
        world.server.script([calls("Speak.", "sub"), speech, Reply::text("Heard.")]);
        let runtime = world.builder().tool(Actors::default().helper()).build().await.unwrap();
        let handle = runtime.start("Let it speak.", StartOptions::default()).await.unwrap();
        let mut events = handle.events(false).unwrap();
        let child = next_child(&mut events).await.child_run_id;
        let watch = |handle: &RunHandle| handle.child_events(&child, false).unwrap();
        let seen = match begins {
            "at once" => {
                let stream = watch(&handle);
                gate.release_all();
                all(stream).await
            }
            "while it speaks" => {
                // The request is made: its answer is on its way.
                world.server.wait_for_request(1).await;
                let stream = watch(&handle);
                gate.release_all();
                all(stream).await
            }
            _ => {
                gate.release_all();
                handle.wait().await;
                all(watch(&handle)).await
            }
        };
        assert_whole(&seen, &child);
        match begins {
            "after its end" => assert_eq!(text(&seen), "", "nothing was kept for nobody"),
            _ => assert_eq!(text(&seen), "one two three four"),
        }
        assert!(matches!(handle.child_events(&child, false), Err(ChildEventsError::Taken(_))));
        for other in [handle.run_id().clone(), RunId::parse("run_other").unwrap()] {
            let error = handle.child_events(&other, false).err().unwrap();
            assert_eq!(
                error.to_string(),
                format!(
                    "{other} is no child of run {}: its event `child_agent_created` names each of its children, as \
                     `child_run_id`",
                    handle.run_id()
                )
            );
        }
        assert_eq!(handle.wait().await.status.as_str(), "completed");
        runtime.close().await;
    }
}

/// API-4, EVT-1: a child's debug events are for a debugging consumer; its parent's stream is what it was without one.
#[tokio::test]
async fn a_child_is_debugged() {
    let world = World::new("debugged_child", Protocol::Ollama).await;
    world.server.script([calls("Speak.", "fork"), Reply::text("Said.").chunks(2), Reply::text("Heard.")]);
    let runtime = world.builder().tool(Actors::default().helper()).build().await.unwrap();
    let handle = runtime.start("Let it speak.", StartOptions::default()).await.unwrap();
    let mut events = handle.events(false).unwrap();
    let child = next_child(&mut events).await.child_run_id;
    let seen = all(handle.child_events(&child, true).unwrap()).await;
    let numbers: Vec<_> = seen.iter().filter_map(|event| event.run_seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "with debug events none is left out");
    assert!(seen.iter().any(|event| event.event_type == EventType::ContextBuilt));
    let rest = all(events).await;
    assert!(rest.iter().all(|event| event.run_id.as_ref() == Some(handle.run_id())));
    runtime.close().await;
}

/// API-4, EVT-5: the event that names a child says who it is and what it is asked; the child's run is inspected by the handle of its
/// parent's, with its place, its task and its result, and by no other run's.
#[tokio::test]
async fn a_child_is_inspected() {
    let world = World::with("inspected_child", Protocol::OpenAi, "model.provider = \"actors\"").await;
    let actors = Actors::default();
    let task = format!("Count them.\n{}", "word ".repeat(100));
    let asked = task.clone();
    actors.on("Split it up.", move |turn, _| match turn {
        0 => Say::calls(&[("test.helper", json!({"task": asked, "kind": "sub"}))]),
        _ => Say::text("All is done."),
    });
    actors.on(&task, |_, _| Say::text("Seven,\nas before."));
    actors.on("And now?", |_, _| Say::text("Nothing more."));
    let runtime = actors.builder(&world).tool(actors.helper()).build().await.unwrap();
    let handle = runtime.start("Split it up.", StartOptions::default()).await.unwrap();
    let mut events = handle.events(false).unwrap();
    let created = next_child(&mut events).await;
    assert_eq!((created.role, created.agent_definition_id.as_str()), (Some(AgentRole::Sub), "default_sub_agent"));
    let line = created.asked.unwrap();
    assert!(line.starts_with("Count them. word word") && line.ends_with('…'), "{line}");
    assert_eq!(line.chars().count(), 200);
    handle.wait().await;

    let inspected = handle.inspect_child(&created.child_run_id, false).await.unwrap();
    let ChildInspection { place: child, inspection } = &inspected;
    let ChildPlace { agent, role, agent_definition_id, parent_run_id, parent_tool_call_id, .. } = child;
    assert_eq!((&agent.agent_id, *role), (&created.child_agent_id, Some(AgentRole::Sub)));
    assert_eq!(agent_definition_id.as_deref(), Some("default_sub_agent"));
    assert_eq!((parent_run_id, child.parent_agent_id.as_ref()), (handle.run_id(), Some(handle.agent_id())));
    assert_eq!(parent_tool_call_id.as_ref().map(|call| call.as_str()), Some("call_0"));
    assert_eq!((child.asked.as_deref(), child.answered.as_deref()), (Some(task.as_str()), Some("Seven,\nas before.")));
    assert_eq!((inspection.turns.len(), child.worker.as_ref()), (1, None));
    let shown: Value = json!(inspected);
    assert_eq!(shown["parent_run_id"], json!(handle.run_id()));
    assert_eq!(shown["run"]["run_id"], json!(created.child_run_id), "one object for programs");

    let own = handle.inspect_child(handle.run_id(), false).await.unwrap_err();
    assert_eq!(own.code().as_str(), "validation_error");
    assert!(own.to_string().contains("is no child's"), "{own}");
    let session_id = Some(handle.session_id().clone());
    let next = runtime.start("And now?", StartOptions { session_id, mode: None }).await.unwrap();
    let others = next.inspect_child(&created.child_run_id, false).await.unwrap_err();
    assert!(others.to_string().contains(&format!("run {} asked for it", handle.run_id())), "{others}");
    assert!(matches!(next.child_events(&created.child_run_id, false), Err(ChildEventsError::NoChild { .. })));
    next.wait().await;
    runtime.close().await;
}
