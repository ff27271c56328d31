//! Runs looked at from within: what the model was asked in each turn (STO-11).

use std::sync::{Arc, Mutex};

use agent_core::EventType;
use agent_core::archive::{Archive, CompactionOutcome, ContextEntry, SessionFilter};
use agent_core::config::Location;
use agent_core::error::{ArchiveError, ErrorCode, ErrorPayload, Missing, RebuildError};
use agent_core::id::{RunId, SessionId, ToolCallId};
use agent_core::message::{ContentBlock, Object};
use agent_core::model::{
    ModelEvent, ModelFault, ModelRequest, ModelStream, ProviderAdapter, ProviderFactory, Reply, StopKind, StopReason,
    Usage,
};
use agent_core::tool::{Permission, ToolCall};
use agent_engine::{BudgetConfig, Budgets};
use agent_protocol::EventDraft;
use agent_store::Write;
use agent_testkit::Protocol;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::stored::Stored;
use crate::support::{Ran, World, counting, run, run_in, whole};

/// An adapter that keeps what it is asked, and answers as it is told; a summary it gives by itself.
struct Recorder {
    asked: Arc<Mutex<Vec<ModelRequest>>>,
    answers: fn(usize) -> ModelEvent,
}

const SUMMARY: &str =
    "## Goal\n- read data.txt\n\n## Progress\n- Done: some of it\n- Open: the rest\n\n## Next Steps\n- read on";

fn asks_for_a_summary(request: &ModelRequest) -> bool {
    let last = request.messages.last().and_then(|message| message.content.last()?.as_text());
    last.is_some_and(|text| text.starts_with("# Write the summary now"))
}

impl ProviderAdapter for Recorder {
    fn key(&self) -> &str {
        "recorder"
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        if asks_for_a_summary(&request) {
            return Box::pin(futures::stream::iter([says(SUMMARY)]));
        }
        let mut asked = self.asked.lock().unwrap();
        asked.push(request);
        let answer = (self.answers)(asked.len() - 1);
        Box::pin(futures::stream::iter([answer]))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

type Asked = Arc<Mutex<Vec<ModelRequest>>>;

/// A factory for it, and what it is asked.
fn recorder(answers: fn(usize) -> ModelEvent) -> (ProviderFactory, Asked) {
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    let factory: ProviderFactory =
        Arc::new(move |_| Ok(Arc::new(Recorder { asked: Arc::clone(&kept), answers }) as Arc<dyn ProviderAdapter>));
    (factory, asked)
}

fn reply(content: Vec<ContentBlock>) -> Reply {
    let metadata = Object::new();
    Reply { content, usage: Usage::default(), stop: StopReason::new(StopKind::EndTurn), metadata }
}

fn says(text: &str) -> ModelEvent {
    ModelEvent::Completed(reply(vec![ContentBlock::text(text)]))
}

fn calls(n: usize, name: &str, arguments: Value) -> ModelEvent {
    let Value::Object(arguments) = arguments else { unreachable!() };
    let tool_call_id = ToolCallId::parse(&format!("call_{n}")).unwrap();
    let call = ToolCall { tool_call_id, name: name.to_owned(), arguments, metadata: Object::new() };
    ModelEvent::Completed(reply(vec![ContentBlock::ToolCall(call)]))
}

fn broken() -> ModelEvent {
    let error = ErrorPayload::new(ErrorCode::ProviderError, "the stream broke off");
    let partial = Some(reply(vec![ContentBlock::text("Half")]));
    ModelEvent::Failed { fault: ModelFault::Retryable, error, partial }
}

/// A first run with a call, a second one that fills the window and breaks off in between, a third that is quick.
fn a_long_story(n: usize) -> ModelEvent {
    match n {
        0 => calls(n, "code.list_dir", json!({"path": "."})),
        1 => says("There is a file."),
        5 => broken(),
        2..=20 => calls(n, "code.read_file", json!({"path": "data.txt", "start_line": n, "max_lines": 90})),
        21 => says("Read."),
        // An empty answer is asked for again, with a note.
        22 => ModelEvent::Completed(reply(Vec::new())),
        _ => says("Done."),
    }
}

/// Compares every turn of these runs, rebuilt, with what the model was asked. How many there are.
async fn compare(archive: &Archive, runs: &[RunId], asked: &[ModelRequest]) -> usize {
    let mut at = 0;
    for run_id in runs {
        let inspection = archive.inspect_run(run_id, false).await.unwrap();
        for report in &inspection.turns {
            at += report.requests as usize;
            for include_sensitive in [true, false] {
                let turn = archive.inspect_turn(run_id, report.turn, include_sensitive).await.unwrap();
                assert_eq!(turn.request, asked[at - 1], "turn {} of {run_id}", report.turn);
                assert_eq!(turn.report, *report);
            }
        }
    }
    at
}

/// STO-11, STO-13: every request of every turn is made again as it was: after tools, after the window slid, after a stream
/// that broke off, after the session has gone on and been opened again with other tools, and without any provider.
#[tokio::test]
async fn past_requests_are_rebuilt() {
    let extra = "model.provider = \"recorder\"\ncompact.enabled = false";
    let world = World::with("rebuilt", Protocol::OpenAi, extra).await;
    world.home.write("project/data.txt", "line of text\n".repeat(150));
    let (factory, asked) = recorder(a_long_story);
    let builder = || world.builder().register_provider("recorder", Arc::clone(&factory)).unwrap();
    let runtime = builder().build().await.unwrap();
    let first = run(&runtime, "Look around.").await;
    let second = run_in(&runtime, &first.session_id, "Read a lot.").await;
    let third = run_in(&runtime, &first.session_id, "And now?").await;
    for ran in [&first, &second, &third] {
        ran.assert_completed();
    }
    assert!(!second.of_type(EventType::CompactCompleted).is_empty(), "the window has slid");
    assert!(!second.of_type(EventType::ModelFailed).is_empty(), "a stream broke off");
    let mut runs: Vec<_> = [first, second, third].map(|ran| ran.events[0].run_id.clone().unwrap()).into();
    let seen = asked.lock().unwrap().clone();
    assert_eq!(compare(&runtime.archive(), &runs, &seen).await, seen.len());
    let session_id = whole(runtime.archive().list_sessions(&SessionFilter::default(), 1, 0).await.unwrap()).remove(0);
    let session_id = session_id.summary.session.session_id;
    runtime.close().await;

    let (tool, _) = counting("ping", Permission::Readonly);
    let runtime = builder().tool(tool).build().await.unwrap();
    let fourth = run_in(&runtime, &session_id, "Still there?").await;
    runs.push(fourth.events[0].run_id.clone().unwrap());
    runtime.close().await;
    let seen = asked.lock().unwrap().clone();
    assert_ne!(seen[0].tools, seen.last().unwrap().tools, "the tools have changed");
    let archive = agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.unwrap();
    assert_eq!(compare(&archive, &runs, &seen).await, seen.len());
    archive.close().await;
}

/// A run that reads until its window is full, twice over, one in which a stream breaks off, and short ones with a call each.
fn a_longer_story(n: usize) -> ModelEvent {
    match n {
        20 | 27 => says("Read."),
        24 => broken(),
        28.. if n % 2 == 1 => says("Done."),
        _ => calls(n, "code.read_file", json!({"path": "data.txt", "start_line": n % 50 + 1, "max_lines": 90})),
    }
}

/// STO-11, CMP-1: every request of every turn is made again as it was where a summary stands for earlier turns: asked for in
/// need, at the end of a run or beside the turns; before and after it came; after the session has been opened again.
#[tokio::test]
async fn requests_with_a_summary_are_rebuilt() {
    for (name, slots, mode) in [("one_slot", 1, "recovery"), ("two_slots", 2, "background")] {
        let extra = format!("model.provider = \"recorder\"\nmodel.parallel_requests = {slots}");
        let world = World::with(&format!("summary_{name}"), Protocol::OpenAi, &extra).await;
        world.home.write("project/data.txt", "line of text\n".repeat(150));
        // A catalog of it is in the system part, with facts of its own.
        world.home.write("project/docs/AGENTS.md", "Be brief.\n");
        let (factory, asked) = recorder(a_longer_story);
        let builder = || world.builder().register_provider("recorder", Arc::clone(&factory)).unwrap();
        let runtime = builder().build().await.unwrap();
        let asked_for = |ran: &Ran, mode: &str| {
            let started = ran.of_type(EventType::CompactStarted).into_iter();
            started.filter(|event| event.payload["mode"] == mode).count()
        };
        let mut ran = vec![run(&runtime, "Read a lot.").await];
        assert!(asked_for(&ran[0], mode) > 1, "{name}: there is a summary of a summary");
        let session_id = ran[0].session_id.clone();
        let is_enough = |ran: &[Ran]| slots > 1 || asked_for(ran.last().unwrap(), "at_end") == 1;
        while ran.len() < 3 || (!is_enough(&ran) && ran.len() < 20) {
            ran.push(run_in(&runtime, &session_id, "Read on.").await);
            runtime.background_work().await;
        }
        assert!(is_enough(&ran), "{name}: a run's end was a reason");
        runtime.close().await;
        let runtime = builder().build().await.unwrap();
        ran.push(run_in(&runtime, &session_id, "Still there?").await);
        // A summary that is still being made when the runtime closes is given up.
        runtime.background_work().await;
        runtime.close().await;
        ran.iter().for_each(Ran::assert_completed);

        let runs: Vec<_> = ran.iter().map(|ran| ran.events[0].run_id.clone().unwrap()).collect();
        let seen = asked.lock().unwrap().clone();
        let archive = agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.unwrap();
        assert_eq!(compare(&archive, &runs, &seen).await, seen.len(), "{name}");
        let last = archive.inspect_run(runs.last().unwrap(), false).await.unwrap().turns[0].request_context().unwrap();
        assert!(last.summary.is_some() && last.turns_gone() == Some(0), "{name}: {last:?}");
        if slots == 1 {
            // What was written after a run is what the next one begins with.
            let end = ran[ran.len() - 2].of_type(EventType::CompactStarted)[0].payload["turns"].as_u64();
            assert_eq!(Some(last.turns_summarised), end, "{name}: {last:?}");
        }
        let blocks = last.epoch_part.unwrap().blocks;
        assert!(
            blocks.iter().any(|block| block.facts.get("entries").is_some_and(|entries| entries == 1)),
            "{blocks:?}"
        );
        told(&archive, &session_id, ran.len(), seen.len()).await;
        archive.close().await;
    }
}

/// CTX-1: the report of contexts has every request once, each with what it is made of, and every summary with what it was
/// for and what came of it.
async fn told(archive: &Archive, session_id: &SessionId, ran: usize, asked: usize) {
    let entries = archive.session_context(session_id, false).await.unwrap().collect().await.unwrap();
    let (mut runs, mut requests, mut summaries, mut window) = (0, 0, 0, None);
    for entry in entries {
        match entry {
            ContextEntry::Run(run) => {
                runs += 1;
                assert_eq!(run.number, Some(runs), "runs that summarise do not count");
            }
            ContextEntry::Request(request) => {
                requests += 1;
                window = request.context.epoch_part.map(|part| part.shares.window).unwrap_or(window);
                assert_eq!(window, Some(8192));
                let covered = request.context.turns_summarised > 0;
                assert_eq!(covered, request.context.summary.is_some());
                assert!(!covered || summaries > 0, "a summary is told before it is used");
            }
            ContextEntry::Compaction(compaction) => {
                summaries += 1;
                assert!(matches!(compaction.outcome, CompactionOutcome::Summary { .. }), "{compaction:?}");
                assert!(compaction.begun.unwrap().at <= compaction.at);
            }
            ContextEntry::End(end) => assert_eq!(end.event_type, EventType::LoopCompleted),
            ContextEntry::Unreadable(event) => panic!("{}", event.error),
            ContextEntry::Damaged { message } => panic!("{message}"),
        }
    }
    assert_eq!((runs, requests), (ran as u64, asked));
}

/// STO-11: a turn tells how often the model was asked, what it answered and what that cost; one that failed tells why.
#[tokio::test]
async fn turns_tell_what_happened() {
    let world = World::with("turns_tell", Protocol::OpenAi, "model.provider = \"recorder\"").await;
    let (factory, _) = recorder(|n| match n {
        0 => calls(n, "code.list_dir", json!({"path": "."})),
        1 => broken(),
        2 => {
            let usage = Usage { input_tokens: Some(70), output_tokens: Some(7), ..Usage::default() };
            ModelEvent::Completed(Reply { usage, ..reply(vec![ContentBlock::text("Fine.")]) })
        }
        _ => {
            let error = ErrorPayload::new(ErrorCode::ProviderAuthFailed, "bad key AKIAIOSFODNN7ABCDEFG");
            ModelEvent::Failed { fault: ModelFault::Fatal, error, partial: None }
        }
    });
    let builder = world.builder().register_provider("recorder", factory).unwrap();
    let runtime = builder.build().await.unwrap();
    let fine = run(&runtime, "Well?").await;
    let failed = run_in(&runtime, &fine.session_id, "And?").await;
    let archive = runtime.archive();
    let of = |ran: &Ran| ran.events[0].run_id.clone().unwrap();

    let inspection = archive.inspect_run(&of(&fine), false).await.unwrap();
    let told: Vec<_> = inspection.turns.iter().map(|turn| (turn.turn, turn.requests)).collect();
    assert_eq!(told, [(1, 1), (2, 2)]);
    let answer = inspection.turns[1].reply.clone().unwrap();
    assert_eq!((answer.usage.input_tokens, answer.stop.kind), (Some(70), StopKind::EndTurn));
    assert_eq!(answer.node_id, inspection.run.end_node_id);
    assert!(inspection.turns.iter().all(|turn| turn.error.is_none()), "what went wrong was put right");

    for include_sensitive in [true, false] {
        let inspection = archive.inspect_run(&of(&failed), include_sensitive).await.unwrap();
        let error = inspection.turns[0].error.clone().unwrap();
        assert_eq!((error.code, inspection.turns[0].reply.is_none()), (ErrorCode::ProviderAuthFailed, true));
        let shown = format!("{inspection:?}");
        assert_eq!(shown.contains("AKIAIOSFODNN7ABCDEFG"), include_sensitive, "STO-10: {shown}");
    }
    runtime.close().await;
}

/// STO-10, STO-11: what a tool read is in the rebuilt request as it was asked, and shown only to who asks for it.
#[tokio::test]
async fn rebuilt_requests_hide_secrets() {
    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let world = World::with("rebuilt_secrets", Protocol::OpenAi, "model.provider = \"recorder\"").await;
    world.home.write("project/notes.txt", format!("the token is {TOKEN}\n"));
    let (factory, asked) = recorder(|n| match n {
        0 => calls(n, "code.read_file", json!({"path": "notes.txt"})),
        _ => says("Read."),
    });
    let runtime = world.builder().register_provider("recorder", factory).unwrap().build().await.unwrap();
    let ran = run(&runtime, "Read the notes.").await;
    let run_id = ran.events[0].run_id.clone().unwrap();
    let whole = runtime.inspect_turn(&run_id, 2, true).await.unwrap();
    assert_eq!(whole.request, asked.lock().unwrap()[1]);
    let hidden = runtime.inspect_turn(&run_id, 2, false).await.unwrap().request;
    let shown = serde_json::to_string(&hidden).unwrap();
    assert!(!shown.contains(TOKEN) && shown.contains("the token is"), "{shown}");
    assert_eq!(hidden.metadata["redacted"], true);
    runtime.close().await;
}

/// A report as this version writes it, of a request whose system block and tools are stored nowhere.
fn report() -> Object {
    let hash = "0".repeat(64);
    let config = BudgetConfig {
        context_window: 8192,
        max_output_tokens: 2048,
        reserve_output_tokens: 4096,
        dynamic_system: 0,
        compact_reserve: 0,
        keep_recent: 0,
        max_summary: 0,
    };
    let budgets = serde_json::to_value(Budgets::derive(&config, &[]).unwrap()).unwrap();
    let report = json!({
        "turn": 1, "request": 1, "epoch": 1, "first_kept_node_id": null, "last_node_id": null, "nodes_in": 0, "nodes_out": 0,
        "turns_out": 0, "results_shortened": 0, "message_tokens": 0, "request_tokens": 0, "calibration": 1.0,
        "call_id_prefix": "call_1",
        "epoch_part": {
            "epoch_because": "run_start", "max_output_tokens": 2048, "results_limit": 1000, "budgets": budgets,
            "model": {"name": "m", "temperature": null, "tool_choice": "auto", "provider_options": {}},
            "fixed_part": {
                "system_blocks": [{"block_id": "system.core", "source": "here", "tokens": 5, "hash": hash}],
                "tools": {"count": 0, "hash": hash},
            },
        },
    });
    let Value::Object(report) = report else { unreachable!() };
    report
}

/// STO-11: where a part of a past request is missing, the error names it; nothing is made up in its place.
#[tokio::test]
async fn what_is_missing_is_named() {
    let world = World::new("missing_parts", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let without = |path: &[&str]| {
        let mut report = Value::Object(report());
        let (last, folders) = path.split_last().unwrap();
        let inner = folders.iter().fold(&mut report, |value, key| &mut value[*key]);
        inner.as_object_mut().unwrap().remove(*last);
        report.as_object().unwrap().clone()
    };
    let blob = |part: &str| Missing::Blob { part: part.to_owned(), hash: "0".repeat(64) };
    let empty = agent_store::ContentHash::of(b"[]");
    let mut no_tools = report();
    no_tools["epoch_part"]["fixed_part"]["system_blocks"] = json!([]);
    let mut fine = no_tools.clone();
    fine["epoch_part"]["fixed_part"]["tools"]["hash"] = empty.as_str().into();
    let mut strange = fine.clone();
    strange["nodes_in"] = 3.into();
    let reports = [
        ("block", report()),
        ("tools", no_tools),
        ("older", without(&["call_id_prefix"])),
        ("epoch", without(&["epoch_part"])),
        ("fixed", without(&["epoch_part", "fixed_part", "tools"])),
        ("strange", strange),
        ("fine", fine),
    ];
    for (name, report) in reports {
        let kept = stored.session(name, "Hi?").await;
        let event = EventDraft::raw(EventType::ContextBuilt, report);
        let blob = Write::Blob { hash: empty.clone(), bytes: b"[]".as_slice().into() };
        stored.commit(&kept, vec![Write::Event(event), blob]).await;
    }
    let archive = agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.unwrap();
    let of = |name: &str| RunId::parse(&format!("run_{name}")).unwrap();
    let missing = async |name: &str, turn| match archive.inspect_turn(&of(name), turn, false).await {
        Err(error @ ArchiveError::NotRebuilt { .. }) => {
            assert_eq!(error.code(), ErrorCode::StorageError);
            let ArchiveError::NotRebuilt { missing, .. } = error else { unreachable!() };
            Some(missing)
        }
        Err(other) => panic!("{name}: {other}"),
        Ok(_) => None,
    };
    assert_eq!(missing("block", 1).await, Some(blob("system block system.core")));
    assert_eq!(missing("tools", 1).await, Some(blob("the tool list")));
    assert_eq!(missing("fine", 2).await, Some(Missing::Turn));
    for (name, is) in [
        ("older", (|missing| matches!(missing, Missing::Report(RebuildError::Report { .. }))) as fn(&Missing) -> bool),
        ("epoch", |missing| matches!(missing, Missing::Report(RebuildError::NoEpochPart { .. }))),
        ("fixed", |missing| matches!(missing, Missing::FixedPart(_))),
        ("strange", |missing| matches!(missing, Missing::Report(RebuildError::Differs { .. }))),
    ] {
        let missing = missing(name, 1).await.unwrap();
        assert!(is(&missing), "{name}: {missing:?}");
    }
    assert_eq!(missing("fine", 1).await, None);
    let unknown = archive.inspect_run(&of("nobody"), false).await.unwrap_err();
    assert!(matches!(unknown, ArchiveError::NotFound { kind: "run", .. }), "{unknown}");
    archive.close().await;
}
