//! Older turns become a summary (CMP-*).

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_core::archive::SessionFilter;
use agent_core::id::SessionId;
use agent_core::runtime::RunStatus;
use agent_core::session::NodeType;
use agent_core::{AgentRuntime, EventType, StartOptions};
use agent_testkit::{Call, Gate, Protocol, RecordedRequest, Reply};
use serde_json::json;

use crate::support::{Ran, World, run, run_in, watch, whole};

const SUMMARY: &str =
    "## Goal\n- read data.txt\n\n## Progress\n- Done: some of it\n- Open: the rest\n\n## Next Steps\n- read on";
/// The server on this machine has one slot unless the configuration says otherwise.
const ONE_SLOT: &str = "";
const TWO_SLOTS: &str = "model.parallel_requests = 2";

fn asks_for_a_summary(request: &RecordedRequest) -> bool {
    request.messages().last().is_some_and(|message| message.to_string().contains("# Write the summary now"))
}

/// A model that reads another part of a file so often in each run, and gives `summary` when it is asked for one.
fn reader(reads: usize, summary: &'static str) -> impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static {
    let turns = AtomicUsize::new(0);
    move |request, _| {
        if asks_for_a_summary(request) {
            return Reply::text(summary);
        }
        let turn = turns.fetch_add(1, Ordering::SeqCst);
        if turn % (reads + 1) == reads {
            return Reply::text("Read.").no_usage();
        }
        let call = Call::new("code.read_file", json!({"path": "data.txt", "start_line": 1 + turn, "max_lines": 60}));
        Reply::text("").calls([call]).no_usage()
    }
}

/// Runs in one session until one of them asks for a summary at its end.
async fn until_asked_at_the_end(runtime: &AgentRuntime) -> Ran {
    let mut ran = run(runtime, "Read.").await;
    for _ in 0..12 {
        ran.assert_completed();
        if ran.of_type(EventType::CompactStarted).iter().any(|event| event.payload["mode"] == "at_end") {
            return ran;
        }
        ran = run_in(runtime, &ran.session_id, "Read on.").await;
    }
    panic!("no run asked for a summary at its end");
}

async fn world(name: &str, extra: &str) -> World {
    let world = World::with(name, Protocol::OpenAi, extra).await;
    world.home.write("project/data.txt", "line of text\n".repeat(400));
    world
}

/// A model that reads, and whose first summary waits for its gate.
fn holding_the_first_summary(world: &World) -> Gate {
    let (held, gate) = Reply::text(SUMMARY).gated();
    let held = Mutex::new(Some(held));
    let answer = reader(2, SUMMARY);
    world.server.respond_with(move |request, answered| {
        let first = held.lock().unwrap().take_if(|_| asks_for_a_summary(request));
        first.unwrap_or_else(|| answer(request, answered))
    });
    gate
}

/// The nodes of a session's active path.
async fn path(runtime: &AgentRuntime, session: &SessionId) -> Vec<agent_core::session::Node> {
    let listed = whole(runtime.archive().list_sessions(&SessionFilter::default(), 10, 0).await.unwrap());
    let row = listed.into_iter().find(|row| row.summary.session.session_id == *session).unwrap();
    runtime.get_node_path(&row.summary.session.active_node_id.unwrap()).await.unwrap()
}

fn summaries(ran: &Ran) -> Vec<&str> {
    let done = ran.of_type(EventType::CompactCompleted);
    done.iter().map(|event| event.payload["kind"].as_str().unwrap()).collect()
}

/// CMP-1, CMP-4, CMP-5, CTX-9: a run whose conversation outgrows its window goes on with a summary of it: made by an internal
/// agent whose run is stored, announced by events, with the user's words in it, and told to the model in a frame.
#[tokio::test]
async fn a_run_that_outgrows_its_window() {
    let world = world("outgrows", ONE_SLOT).await;
    world.server.respond_with(|request, answered| {
        if asks_for_a_summary(request) {
            return Reply::text(SUMMARY);
        }
        if answered >= 14 {
            return Reply::text("Read.").no_usage();
        }
        let call =
            Call::new("code.read_file", json!({"path": "data.txt", "start_line": 1 + answered, "max_lines": 100}));
        Reply::text("").calls([call]).no_usage()
    });
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Read a lot. Never write anything.").await;
    ran.assert_completed();
    assert!(summaries(&ran).contains(&"summary"), "{:?}", ran.types());
    let started = ran.of_type(EventType::CompactStarted)[0];
    assert_eq!(started.payload["mode"], "recovery");
    let last = world.server.requests().into_iter().rfind(|request| !asks_for_a_summary(request)).unwrap();
    let first_message = last.messages()[1].to_string();
    for part in ["<compaction>", "## Progress", "Never write anything."] {
        assert!(first_message.contains(part), "{part}: {first_message}");
    }
    let nodes = path(&runtime, &ran.session_id).await;
    assert!(nodes.iter().any(|node| node.node_type == NodeType::Compaction), "it is stored");
    assert!(nodes.iter().any(|node| node.role.as_str() == "tool"), "nothing was removed");
    let asked = world.server.requests().iter().filter(|request| asks_for_a_summary(request)).count();
    let tree = runtime.archive().agent_tree(&ran.session_id, false).await.unwrap();
    let made: Vec<_> = tree.root.runs.iter().flat_map(|run| &run.children).collect();
    let runs: Vec<_> = made.iter().flat_map(|agent| &agent.runs).collect();
    assert_eq!(runs.len(), asked, "a run for each summary that was asked for: {tree:?}");
    assert!(made.iter().all(|agent| agent.purpose.as_deref() == Some("compact")), "{tree:?}");
    assert!(runs.iter().all(|run| run.status == RunStatus::Completed), "{tree:?}");
    runtime.close().await;
}

/// CMP-5: where the server takes one request at a time, a summary is asked for when the run is over; the next run begins with it.
#[tokio::test]
async fn at_the_end_of_a_run() {
    let world = world("at_end", ONE_SLOT).await;
    world.server.respond_with(reader(2, SUMMARY));
    let runtime = world.runtime().await;
    let ran = until_asked_at_the_end(&runtime).await;
    assert!(summaries(&ran).is_empty(), "the run does not wait for it");
    runtime.background_work().await;
    let nodes = path(&runtime, &ran.session_id).await;
    assert_eq!(nodes.last().unwrap().node_type, NodeType::Compaction);
    let asked = world.server.request_count();
    let next = run_in(&runtime, &ran.session_id, "And now?").await;
    next.assert_completed();
    assert!(world.server.requests()[asked].messages()[1].to_string().contains("<compaction>"));
    // What is stored is what another process reads.
    runtime.close().await;
    let runtime = world.runtime().await;
    let asked = world.server.request_count();
    run_in(&runtime, &ran.session_id, "Still there?").await.assert_completed();
    assert!(world.server.requests()[asked].messages()[1].to_string().contains("<compaction>"));
    runtime.close().await;
}

/// CMP-5, CMP-6: where the server takes several, it is made beside the running turns, once at a time.
#[tokio::test]
async fn beside_the_turns() {
    let world = world("beside", TWO_SLOTS).await;
    world.server.respond_with(reader(14, SUMMARY));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Read a lot.").await;
    ran.assert_completed();
    let started = ran.of_type(EventType::CompactStarted);
    assert!(started.iter().any(|event| event.payload["mode"] == "background"), "{:?}", ran.types());
    assert!(summaries(&ran).contains(&"summary"), "{:?}", ran.types());
    runtime.close().await;
}

/// CMP-5: a summary that is still being made when the next message comes is taken over by its run.
#[tokio::test]
async fn taken_over_by_the_next_run() {
    let world = world("taken_over", ONE_SLOT).await;
    let gate = holding_the_first_summary(&world);
    let runtime = world.runtime().await;
    let ran = until_asked_at_the_end(&runtime).await;
    let options = StartOptions { session_id: Some(ran.session_id.clone()), mode: None };
    let handle = runtime.start("And now read on.", options).await.unwrap();
    gate.release_all();
    let next = watch(&handle).await;
    next.assert_completed();
    runtime.background_work().await;
    assert_eq!(summaries(&next), ["summary"], "it is written by the run that took it over");
    let asked = world.server.requests().iter().filter(|request| asks_for_a_summary(request)).count();
    assert_eq!(asked, 1);
    let nodes = path(&runtime, &ran.session_id).await;
    assert_eq!(nodes.iter().filter(|node| node.node_type == NodeType::Compaction).count(), 1);
    runtime.close().await;
}

/// CMPT-06, CMP-7: what is no summary is not written; the run goes on without its oldest turns and says so.
#[tokio::test]
async fn what_is_no_summary() {
    for (name, said) in [("empty", " "), ("refused", "I'm sorry, I cannot do that."), ("json", "{\"ok\": true}")] {
        let world = world(&format!("no_summary_{name}"), ONE_SLOT).await;
        world.server.respond_with(reader(14, said));
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read a lot. Never write anything.").await;
        ran.assert_completed();
        assert!(!ran.of_type(EventType::CompactFailed).is_empty(), "{name}: {:?}", ran.types());
        assert!(summaries(&ran).iter().all(|kind| *kind == "window_slide"), "{name}");
        let last = world.server.requests().into_iter().rfind(|request| !asks_for_a_summary(request)).unwrap();
        assert!(last.body.to_string().contains("earlier turns left out"));
        assert!(last.body.to_string().contains("Never write anything."));
        let nodes = path(&runtime, &ran.session_id).await;
        assert!(nodes.iter().all(|node| node.node_type != NodeType::Compaction), "{name}");
        runtime.close().await;
    }
}

/// CMP-8: switched off, nothing asks for a summary; without recovery such a run ends, and says what to do.
#[tokio::test]
async fn switched_off() {
    for (extra, completes) in [("compact.enabled = false", true), ("compact.recovery_sync = false", false)] {
        let world = world("switched_off", extra).await;
        world.server.respond_with(reader(14, SUMMARY));
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read a lot.").await;
        assert_eq!(ran.result.status.as_str() == "completed", completes, "{extra}: {:?}", ran.result.error);
        if !completes {
            assert_eq!(ran.result.end_reason.unwrap().as_str(), "prompt_too_long");
        }
        assert!(!world.server.requests().iter().any(asks_for_a_summary), "{extra}");
        runtime.close().await;
    }
}

/// CMP-4, CFG-4: another model gets the conversation as one text, with the compact agent's words as its system part and no tools.
#[tokio::test]
async fn another_model_summarises() {
    let world =
        world("another_model", "model_overrides.compact = { name = \"smaller\" }\ncompact.model_profile = \"compact\"")
            .await;
    world.server.respond_with(reader(14, SUMMARY));
    let runtime = world.runtime().await;
    run(&runtime, "Read a lot.").await.assert_completed();
    let requests = world.server.requests();
    let asked = requests.iter().find(|request| asks_for_a_summary(request)).expect("it was asked");
    assert_eq!(asked.model(), "smaller");
    assert!(asked.tools().is_empty() && asked.messages().len() == 2);
    assert!(asked.body.to_string().contains("<transcript>"));
    runtime.close().await;
}

/// STO-12, RUN-4: a session whose summary is being made can be deleted; the summary goes nowhere.
#[tokio::test]
async fn a_session_that_goes_away() {
    let world = world("goes_away", ONE_SLOT).await;
    let gate = holding_the_first_summary(&world);
    let runtime = world.runtime().await;
    let ran = until_asked_at_the_end(&runtime).await;
    runtime.delete_session(&ran.session_id).await.unwrap();
    gate.release_all();
    runtime.background_work().await;
    assert!(whole(runtime.list_sessions(10, 0).await.unwrap()).is_empty());
    runtime.close().await;
}

/// CMPT-11: a session that was at home in a big window goes on in a small one: it is summarised in steps, or its oldest turns go,
/// and no request is sent that the window cannot hold.
#[tokio::test]
async fn a_smaller_window() {
    let big = "model.context_window = 131072\ncontext.reserve_output_tokens = 4096";
    let world = world("smaller_window", big).await;
    world.server.respond_with(reader(60, SUMMARY));
    let runtime = world.runtime().await;
    let first = run(&runtime, "Read everything. Never write anything.").await;
    first.assert_completed();
    let asked = world.server.request_count();
    let tokens = first.of_type(EventType::ContextBuilt).last().unwrap().payload["request_tokens"].as_u64().unwrap();
    assert!(tokens > 15_000, "{tokens}");
    runtime.close().await;

    world.configure("model.context_window = 8192");
    let runtime = world.runtime().await;
    let second = run_in(&runtime, &first.session_id, "What did you find?").await;
    second.assert_completed();
    let requests = world.server.requests();
    for request in &requests[asked..] {
        // A token is rarely less than three bytes here.
        assert!(
            request.body["messages"].to_string().len() < 8192 * 5,
            "{}",
            request.body["messages"].to_string().len()
        );
    }
    assert!(requests.last().unwrap().body.to_string().contains("Never write anything."));
    runtime.close().await;
}

/// CMPT-14: after a compaction tools, system part and permissions are what they were.
#[tokio::test]
async fn the_agent_stays_what_it_is() {
    let world = world("stays", ONE_SLOT).await;
    world.server.respond_with(reader(14, SUMMARY));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Read a lot.").await;
    assert!(summaries(&ran).contains(&"summary"));
    let requests: Vec<_> = world.server.requests();
    let (first, last) = (&requests[0], requests.last().unwrap());
    assert!(last.messages()[1].to_string().contains("<compaction>"));
    assert_eq!(first.tools(), last.tools());
    assert_eq!(first.messages()[0], last.messages()[0]);
    runtime.close().await;
}

/// CTX-7: what was learned about the model's token counts is known to the next process, and how far the estimates were off is
/// told at a run's end.
#[tokio::test]
async fn counts_are_remembered() {
    let world = world("counts", ONE_SLOT).await;
    // About half again as many as estimated.
    world.server.respond_with(|request, answered| {
        let counted = request.body.to_string().len() as u64 * 3 / 8;
        if answered % 6 == 5 {
            return Reply::text("Read.").usage(counted, 5);
        }
        let call =
            Call::new("code.read_file", json!({"path": "data.txt", "start_line": 1 + answered, "max_lines": 10}));
        Reply::text("").calls([call]).usage(counted, 5)
    });
    let runtime = world.runtime().await;
    let first = run(&runtime, "Read.").await;
    let end = first.of_type(EventType::LoopCompleted)[0].payload["estimates"].clone();
    let learned = end["calibration"].as_f64().unwrap();
    assert!(learned > 1.1 && end["last_error_percent"].as_f64() < end["worst_error_percent"].as_f64(), "{end}");
    runtime.close().await;
    let runtime = world.runtime().await;
    let second = run_in(&runtime, &first.session_id, "And?").await;
    let known = second.of_type(EventType::ContextBuilt)[0].payload["calibration"].as_f64().unwrap();
    assert!((known - learned).abs() < 0.1, "{known} {learned}");
    runtime.close().await;
}

/// CMP-8: with `auto_background = false` nothing is summarised ahead of need, neither beside the turns nor at the end.
#[tokio::test]
async fn only_in_need() {
    for slots in [ONE_SLOT, TWO_SLOTS] {
        let world = world("only_in_need", &format!("compact.auto_background = false\n{slots}")).await;
        world.server.respond_with(reader(14, SUMMARY));
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read a lot.").await;
        ran.assert_completed();
        let modes: Vec<_> =
            ran.of_type(EventType::CompactStarted).iter().map(|event| event.payload["mode"].clone()).collect();
        assert!(!modes.is_empty() && modes.iter().all(|mode| mode == "recovery"), "{modes:?}");
        runtime.close().await;
    }
}

/// CMP-6: a summary that failed is not asked for again after every run, only once the conversation has grown.
#[tokio::test]
async fn a_failure_is_not_repeated() {
    let world = world("not_repeated", ONE_SLOT).await;
    world.server.respond_with(reader(2, "I cannot do that."));
    let runtime = world.runtime().await;
    let ran = until_asked_at_the_end(&runtime).await;
    runtime.background_work().await;
    let asked = || world.server.requests().iter().filter(|request| asks_for_a_summary(request)).count();
    let before = asked();
    // Answers without reading: hardly anything is added.
    world.server.respond_with(|request, _| {
        let text = if asks_for_a_summary(request) { "I cannot do that." } else { "Yes." };
        Reply::text(text).no_usage()
    });
    for _ in 0..3 {
        run_in(&runtime, &ran.session_id, "Sure?").await.assert_completed();
        runtime.background_work().await;
    }
    assert_eq!(asked(), before);
    let events =
        runtime.replay_session(&ran.session_id, None, None, true).await.unwrap().collect().await.unwrap().events;
    let told = events.iter().filter(|event| event.event_type == EventType::CompactFailed).count();
    assert!(told > 0, "also what fails while no run is there is told");
    runtime.close().await;
}
