//! When it is found out what is to be remembered (MEM-3), and when not.

use agent_core::id::SessionId;
use agent_core::{AgentRuntime, EventType, StartOptions};
use agent_testkit::Reply;
use serde_json::{Value, json};

use super::{extracting, extractions, failed, payloads, rest, world};
use crate::support::{run, run_in};

async fn reasons(runtime: &AgentRuntime, session: &SessionId) -> Vec<Value> {
    let started = payloads(runtime, session, EventType::MemoryExtractionStarted).await;
    started.iter().map(|said| said["reason"].clone()).collect()
}

/// MEM-3: so many messages since the last look; not one sooner, and then anew.
#[tokio::test]
async fn a_backlog_of_messages() {
    let world = world("memory_messages", "memory.extract_every_messages = 3").await;
    extracting(&world, |_| json!([]));
    let runtime = world.runtime().await;
    let first = run(&runtime, "Message 1.").await;
    let session = &first.session_id;
    for n in 2..=7 {
        rest(&runtime).await;
        assert_eq!(extractions(&world).len(), (n - 1) / 3, "before message {n}");
        run_in(&runtime, session, &format!("Message {n}.")).await.assert_completed();
    }
    rest(&runtime).await;
    assert_eq!(reasons(&runtime, session).await, ["message_backlog"; 2]);
    let shown: Vec<_> = extractions(&world).iter().map(|told| told.texts().join(" ")).collect();
    assert_eq!(shown, ["Message 1. Message 2. Message 3.", "Message 4. Message 5. Message 6."]);
    runtime.close().await;
}

/// MEM-3: so many tokens.
#[tokio::test]
async fn a_backlog_of_tokens() {
    let world = world("memory_tokens", "memory.extract_every_tokens = 100").await;
    extracting(&world, |_| json!([]));
    let runtime = world.runtime().await;
    let ran = run(&runtime, &"Read this. ".repeat(20)).await;
    rest(&runtime).await;
    assert_eq!(extractions(&world).len(), 0);
    run_in(&runtime, &ran.session_id, &"And this. ".repeat(30)).await.assert_completed();
    rest(&runtime).await;
    assert_eq!(reasons(&runtime, &ran.session_id).await, ["token_backlog"]);
    assert_eq!(extractions(&world)[0].messages().len(), 2);
    runtime.close().await;
}

/// MEM-3: quiet, with something new.
#[tokio::test]
async fn quiet() {
    let world = world("memory_quiet", "memory.idle_seconds = 1").await;
    extracting(&world, |_| json!([]));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Read the README.").await;
    rest(&runtime).await;
    assert_eq!(world.server.request_count(), 1, "a clock is no work, and nobody waits for it");
    world.server.wait_for_request(1).await;
    rest(&runtime).await;
    assert_eq!(reasons(&runtime, &ran.session_id).await, ["idle"]);
    assert_eq!(extractions(&world).len(), 1);
    runtime.close().await;
}

/// MEM-3: what users say counts however a run ends, and only what they say: a model's "remember" is no wish.
#[tokio::test]
async fn whatever_becomes_of_the_run() {
    let world = world("memory_failed_run", "model.retry.max_attempts = 1").await;
    world.server.script([
        Reply::error(400, "no"),
        Reply::text("{\"decisions\":[]}"),
        Reply::text("Remember: from now on!"),
    ]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "记住我喜欢用制表符").await;
    assert_eq!(ran.result.status.as_str(), "failed");
    rest(&runtime).await;
    assert_eq!(reasons(&runtime, &ran.session_id).await, ["explicit_wish"]);
    run_in(&runtime, &ran.session_id, "Go on.").await.assert_completed();
    rest(&runtime).await;
    assert_eq!(extractions(&world).len(), 1);
    runtime.close().await;
}

/// A broken server is not asked again for the same words; what is said next is reason enough.
#[tokio::test]
async fn a_failure_is_not_repeated_at_once() {
    let world = world("memory_broken", "model.retry.max_attempts = 1").await;
    world.server.script([Reply::text("Yes."), Reply::error(500, "broken")]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Remember the word mango.").await;
    rest(&runtime).await;
    assert_eq!(world.server.request_count(), 2);
    assert_eq!(failed(&runtime, &ran.session_id).await[0]["error"]["code"], "provider_error");
    world.server.script([Reply::text("Yes."), Reply::text("{\"decisions\":[]}")]);
    run_in(&runtime, &ran.session_id, "Go on.").await.assert_completed();
    rest(&runtime).await;
    assert_eq!(extractions(&world)[1].texts(), ["Remember the word mango.", "Go on."]);
    runtime.close().await;
}

/// MEM-09: ten quick turns, each over the threshold: one job at a time, and in the end everything was looked at.
#[tokio::test]
async fn ten_quick_turns() {
    let world = world("memory_ten", "memory.extract_every_messages = 1\nmodel.parallel_requests = 2").await;
    let (first, gate) = Reply::text("{\"decisions\":[]}").gated();
    let first = std::sync::Mutex::new(Some(first));
    world.server.respond_with(move |request, _| match super::extraction(request) {
        Some(_) => first.lock().unwrap().take().unwrap_or_else(|| Reply::text("{\"decisions\":[]}")),
        None => Reply::text("Done."),
    });
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Message 1.").await;
    world.server.wait_for_request(1).await;
    for n in 2..=10 {
        run_in(&runtime, &ran.session_id, &format!("Message {n}.")).await.assert_completed();
    }
    // Another session of the same home waits, too.
    let other = run(&runtime, "Message of another session.").await;
    assert_eq!(extractions(&world).len(), 1);
    assert!(runtime.background().remembering);
    gate.release_all();
    rest(&runtime).await;
    assert_eq!(runtime.background(), agent_core::runtime::Background::default());
    let looks = extractions(&world);
    assert_eq!(looks.iter().map(|told| told.messages().len()).sum::<usize>(), 11, "each message once");
    assert!(looks.len() <= 3, "{} jobs", looks.len());
    assert_eq!(reasons(&runtime, &other.session_id).await, ["message_backlog"]);
    runtime.close().await;
}

/// MEM-9: `close()` ends a job that is at work, and it says so; nothing it had not finished counts as done.
#[tokio::test]
async fn closed_during_a_job() {
    let world = world("memory_closed", "").await;
    let (stuck, gate) = Reply::text("{\"decisions\":[]}").gated();
    world.server.script([Reply::text("Yes."), stuck]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Remember the word mango.").await;
    world.server.wait_for_request(1).await;
    tokio::time::timeout(std::time::Duration::from_secs(10), runtime.close()).await.expect("it closes");
    assert_eq!(world.server.wait_for_end(1).await, agent_testkit::Delivery::ClosedByClient);
    drop(gate);

    let runtime = world.runtime().await;
    assert_eq!(failed(&runtime, &ran.session_id).await.len(), 1);
    extracting(&world, |_| json!([]));
    let options = StartOptions { session_id: Some(ran.session_id.clone()), mode: None };
    runtime.start("Go on.", options).await.unwrap().wait().await;
    rest(&runtime).await;
    assert_eq!(extractions(&world).pop().unwrap().texts(), ["Remember the word mango.", "Go on."]);
    runtime.close().await;
}
