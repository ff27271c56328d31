//! One run at a time per session, the others in their order (RUN-1…3, DB-07, DB-11).

use std::sync::Arc;

use agent_core::error::ErrorCode;
use agent_core::id::SessionId;
use agent_core::permission::DecisionKind;
use agent_core::runtime::{EndReason, RunStatus};
use agent_core::tool::Permission;
use agent_core::{AgentRuntime, EventType, RunHandle, StartOptions};
use agent_testkit::{Call, Delivery, Protocol, Reply};
use serde_json::json;

use crate::support::{Ran, World, counting, run, watch};

async fn start(runtime: &AgentRuntime, session_id: &SessionId, message: &str) -> RunHandle {
    let options = StartOptions { session_id: Some(session_id.clone()), mode: None };
    runtime.start(message, options).await.expect("the run starts")
}

/// The stored events of a run, in the order of the session.
fn places(ran: &Ran) -> Vec<u64> {
    ran.events.iter().filter_map(|event| event.seq).collect()
}

/// RUN-1, RUN-2, API-13: a second message waits, says so as its first event, and starts when the first has ended.
#[tokio::test]
async fn first_come_first_served() {
    for &protocol in Protocol::ALL {
        let world = World::new("queue", protocol).await;
        let (reply, gate) = Reply::text("One.").gated();
        world.server.script([reply, Reply::text("Two."), Reply::text("Three.")]);
        let runtime = world.runtime().await;
        let first = runtime.start("First?", StartOptions::default()).await.unwrap();
        world.server.wait_for_request(0).await;
        let second = start(&runtime, first.session_id(), "Second?").await;
        let third = start(&runtime, first.session_id(), "Third?").await;
        assert_eq!((second.status(), third.status()), (RunStatus::Queued, RunStatus::Queued));
        let mut events = second.events(true).unwrap();
        let queued = events.next().await.unwrap().unwrap();
        assert_eq!((queued.event_type, &queued.payload["position"]), (EventType::RunQueued, &json!(1)));
        assert_eq!(world.server.requests().len(), 1, "no request while queued");

        gate.release_all();
        let first = watch(&first).await;
        let mut types = vec![];
        while let Some(event) = events.next().await.unwrap() {
            if event.seq.is_some() {
                types.push(event.event_type);
            }
        }
        assert_eq!(types[..2], [EventType::RunDequeued, EventType::LoopStarted]);
        assert_eq!(second.wait().await.status, RunStatus::Completed);
        let third = watch(&third).await;
        for ran in [&first, &third] {
            ran.assert_completed();
        }
        let of_loop = |ran: &Ran| ran.of_type(EventType::LoopStarted)[0].seq;
        assert!(of_loop(&third) > places(&first).last().copied(), "nothing of two loops is mixed");
        let said: Vec<_> = world.server.requests()[2].messages().iter().map(ToString::to_string).collect();
        let order = ["First?", "One.", "Second?", "Two.", "Third?"];
        let found: Vec<_> = order.iter().map(|text| said.iter().position(|said| said.contains(text))).collect();
        assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{protocol:?}: {found:?} in {said:?}");
        runtime.close().await;
    }
}

/// RUN-2: cancelled while queued: two events, no request, no question, no end reason.
#[tokio::test]
async fn cancelled_while_queued() {
    let world = World::new("queue_cancel", Protocol::OpenAi).await;
    let (reply, gate) = Reply::text("One.").gated();
    world.server.script([reply, Reply::text("Three.")]);
    let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
    let first = runtime.start("First?", StartOptions::default()).await.unwrap();
    world.server.wait_for_request(0).await;
    let second = start(&runtime, first.session_id(), "Second?").await;
    let third = start(&runtime, first.session_id(), "Third?").await;
    let cancelled = second.cancel().await;
    assert_eq!((cancelled.status, cancelled.timed_out), (RunStatus::Cancelled, false));
    assert_eq!(second.cancel().await.status, RunStatus::Cancelled, "twice is fine");
    let ran = watch(&second).await;
    assert_eq!(ran.types(), ["run_queued", "run_cancelled", "run_dequeued"]);
    assert_eq!((ran.result.end_reason, ran.result.error), (None, None));
    gate.release_all();
    watch(&first).await.assert_completed();
    watch(&third).await.assert_completed();
    let requests = world.server.requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[1].body.to_string().contains("Second?"));
    assert!(person.asked().is_empty());
    runtime.close().await;
}

/// RUN-3: a message for a session at work neither joins nor ends what runs.
#[tokio::test]
async fn a_new_message_does_not_interrupt() {
    let world = World::new("queue_no_interrupt", Protocol::OpenAi).await;
    let (reply, gate) = Reply::text("").calls([Call::new("count", json!({"n": 1}))]).gated();
    world.server.script([reply, Reply::text("Counted."), Reply::text("Second.")]);
    let (tool, count) = counting("count", Permission::Readonly);
    let runtime = world.builder().tool(tool).build().await.unwrap();
    let first = runtime.start("Count.", StartOptions::default()).await.unwrap();
    world.server.wait_for_request(0).await;
    let second = start(&runtime, first.session_id(), "And now?").await;
    gate.release_all();
    let ran = watch(&first).await;
    ran.assert_completed();
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert!(!world.server.requests()[1].body.to_string().contains("And now?"), "it did not join");
    watch(&second).await.assert_completed();
    runtime.close().await;
}

/// RUN-1: different sessions run in parallel.
#[tokio::test]
async fn sessions_run_side_by_side() {
    let world = World::with("queue_parallel", Protocol::OpenAi, "model.parallel_requests = 3").await;
    let runtime = world.runtime().await;
    let gates: Vec<_> = (0..3)
        .map(|number| {
            let (reply, gate) = Reply::text(format!("Answer {number}.")).gated();
            world.server.push(reply);
            gate
        })
        .collect();
    let mut handles = Vec::new();
    for number in 0..3 {
        handles.push(runtime.start(format!("Question {number}?"), StartOptions::default()).await.unwrap());
    }
    // All three are at the server although none has been answered.
    world.server.wait_for_request(2).await;
    drop(gates);
    for handle in &handles {
        watch(handle).await.assert_completed();
    }
    runtime.close().await;
}

/// DB-07: two starts in the same moment, many times: their nodes never mix.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_in_the_same_moment() {
    let world =
        World::with("queue_same_moment", Protocol::OpenAi, "memory.enabled = false\ncompact.enabled = false").await;
    let runtime = Arc::new(world.runtime().await);
    world.server.push(Reply::text("Begun."));
    let session_id = run(&runtime, "Begin.").await.session_id;
    for round in 0..50 {
        world.server.script([Reply::text(format!("a{round}")), Reply::text(format!("b{round}"))]);
        let both = ["A", "B"].map(|name| {
            let (runtime, session_id) = (Arc::clone(&runtime), session_id.clone());
            tokio::spawn(async move { watch(&start(&runtime, &session_id, &format!("{name}{round}")).await).await })
        });
        let both = futures::future::join_all(both).await;
        let mut spans: Vec<(u64, u64)> = both
            .into_iter()
            .map(|ran| {
                let ran = ran.unwrap();
                ran.assert_completed();
                let begun = ran.of_type(EventType::LoopStarted)[0].seq.unwrap();
                (begun, *places(&ran).last().unwrap())
            })
            .collect();
        spans.sort_unstable();
        assert!(spans[0].1 < spans[1].0, "round {round}: {spans:?}");
    }
    runtime.close().await;
}

/// API-7, RUN-2: closing cancels what waits, and nothing of it is asked.
#[tokio::test]
async fn closing_ends_the_queue() {
    let world = World::new("queue_close", Protocol::OpenAi).await;
    let (reply, _gate) = Reply::text("Never.").gated();
    world.server.push(reply);
    let runtime = world.runtime().await;
    let first = runtime.start("First?", StartOptions::default()).await.unwrap();
    world.server.wait_for_request(0).await;
    let second = start(&runtime, first.session_id(), "Second?").await;
    runtime.close().await;
    assert_eq!(second.wait().await.status, RunStatus::Cancelled);
    assert_eq!(first.wait().await.end_reason, Some(EndReason::AbortedStreaming));
    assert_eq!(world.server.wait_for_end(0).await, Delivery::ClosedByClient);
    assert_eq!(world.server.requests().len(), 1);
}

/// The queue has an end, and says so; what waits is not disturbed.
#[tokio::test]
async fn the_queue_has_an_end() {
    let world = World::new("queue_full", Protocol::OpenAi).await;
    let (reply, _gate) = Reply::text("Slow.").gated();
    world.server.push(reply);
    let runtime = world.runtime().await;
    let first = runtime.start("First?", StartOptions::default()).await.unwrap();
    let options = || StartOptions { session_id: Some(first.session_id().clone()), mode: None };
    let mut waiting = Vec::new();
    let error = loop {
        match runtime.start("More?", options()).await {
            Ok(handle) => waiting.push(handle),
            Err(error) => break error,
        }
    };
    assert_eq!((waiting.len(), error.code()), (256, ErrorCode::SessionActive));
    assert!(error.to_string().contains("256 runs wait"), "{error}");
    waiting[0].cancel().await;
    assert!(runtime.start("More?", options()).await.is_ok(), "one that left made room");
    runtime.close().await;
}

/// PERF-4 in kind: a session that rests gives up its lock once others are used, keeps its grants, and wakes with its history.
#[tokio::test]
async fn sessions_that_rest_are_put_to_sleep() {
    let world = World::new("queue_sleep", Protocol::OpenAi).await;
    let (runtime, person) = world.answering(DecisionKind::AllowForSession).await;
    let write = |n: u32| Call::new("code.write_file", json!({"path": format!("{n}.txt"), "content": "x"}));
    world.server.script([Reply::text("").calls([write(1)]), Reply::text("Written.")]);
    let sleeper = run(&runtime, "Write.").await;
    sleeper.assert_completed();
    for _ in 0..20 {
        world.server.push(Reply::text("Hi."));
        run(&runtime, "Hi?").await.assert_completed();
    }
    // Another runtime can have it now.
    let other = world.runtime().await;
    world.server.push(Reply::text("Elsewhere."));
    watch(&start(&other, &sleeper.session_id, "Who is there?").await).await.assert_completed();
    other.close().await;
    drop(other);
    world.server.script([Reply::text("").calls([write(2)]), Reply::text("Again.")]);
    let again = watch(&start(&runtime, &sleeper.session_id, "Write again.").await).await;
    again.assert_completed();
    assert_eq!(person.asked().len(), 1, "the grant is still there");
    let last = world.server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("Written.") && last.contains("Elsewhere."), "{last}");
    runtime.close().await;
}
