//! Watching a run: one consumer, nothing lost, nothing stalled (EVT-2, API-4, API-13).

use agent_core::{EventType, StartOptions};
use agent_testkit::{Call, Protocol, Reply};
use serde_json::json;

use crate::support::{World, watch};

/// API-4, API-13: one consumer; it may come late and still sees everything from the first event on.
#[tokio::test]
async fn a_late_consumer_sees_everything() {
    let world = World::new("late_consumer", Protocol::OpenAi).await;
    world.server.push(Reply::text("All of it, in several pieces.").chunks(7));
    let runtime = world.runtime().await;
    let handle = runtime.start("Talk.", StartOptions::default()).await.unwrap();
    handle.wait().await;
    let ran = watch(&handle).await;
    assert_eq!(ran.types().first(), Some(&"loop_started"));
    assert_eq!(ran.types().last(), Some(&"loop_completed"));
    assert_eq!(ran.text(), "All of it, in several pieces.");
    assert!(handle.events(false).is_err(), "a second consumer is refused");
    runtime.close().await;
}

/// EVT-1: without debug no debug event is seen, and the text is the same.
#[tokio::test]
async fn debug_events_are_for_debugging() {
    let world = World::new("debug_events", Protocol::Ollama).await;
    world.server.script([
        Reply::text("Hm.").thinking("secretly thinking").calls([Call::new("code.list_dir", json!({"path": "."}))]),
        Reply::text("Done."),
    ]);
    let runtime = world.runtime().await;
    let handle = runtime.start("Think.", StartOptions::default()).await.unwrap();
    let mut events = handle.events(false).unwrap();
    let (mut text, mut types) = (String::new(), Vec::new());
    while let Some(event) = events.next().await.unwrap() {
        types.push(event.event_type);
        if event.event_type == EventType::MessageDelta {
            text.push_str(event.payload["text"].as_str().unwrap());
        }
    }
    assert!(types.iter().all(|event_type| !event_type.is_debug_only()), "{types:?}");
    assert_eq!(text, "Hm.Done.");
    runtime.close().await;
}

/// EVT-2: a run with far more events and text than is kept in memory is watched from its beginning after its end, and
/// nothing of it is missing.
#[tokio::test]
async fn a_slow_consumer_loses_nothing() {
    let world =
        World::with("slow_consumer", Protocol::OpenAi, "model.context_window = 1000000\nruntime.max_turns = 200").await;
    let turns = 60;
    world.server.respond_with(move |request, _| {
        let turn = request.turn();
        let text = format!("<{turn}>").repeat(12_000);
        if turn < turns {
            let call = Call::new("code.list_dir", json!({"path": ".", "limit": turn + 1}));
            Reply::text(text).calls([call])
        } else {
            Reply::text(text)
        }
    });
    let runtime = world.runtime().await;
    let handle = runtime.start("Talk a lot.", StartOptions::default()).await.unwrap();
    assert_eq!(handle.wait().await.status.as_str(), "completed", "a stream nobody takes stalls nothing");
    let ran = watch(&handle).await;
    let seqs: Vec<_> = ran.events.iter().filter_map(|event| event.run_seq).collect();
    assert!(seqs.len() > 300, "more events than are kept in memory: {}", seqs.len());
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let expected: String = (0..=turns).map(|turn| format!("<{turn}>").repeat(12_000)).collect();
    assert!(ran.text() == expected, "the text differs");
    runtime.close().await;
}
