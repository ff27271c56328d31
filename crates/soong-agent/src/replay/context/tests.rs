use agent_core::archive::{CompactionBegun, PinnedNode, RequestContext};
use agent_core::event::{ContextBuilt, EventPayload};
use agent_core::id::NodeId;
use agent_core::model::Usage;
use agent_core::session::NodeType;
use serde_json::{Value, json};

use super::*;
use crate::output::Width;

/// The row of columns.
const HEADER: &str = "       turn    in   out  gone   sum  cut  estimated  counted      off  window";

const PLAIN: Look = Look { width: None, colour: false };

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_unix_millis(1_796_031_703_000 + seconds * 1000)
}

fn run_id(number: u64) -> RunId {
    RunId::parse(&format!("run_{number}")).unwrap()
}

fn node(id: &str) -> NodeId {
    NodeId::parse(id).unwrap()
}

fn begins(number: u64) -> ContextEntry {
    ContextEntry::Run(ContextRun { run_id: run_id(number), number: Some(number), purpose: None, mode: None, at: at(0) })
}

fn asks(seconds: u64, report: Value, outcome: RequestOutcome) -> RequestReport {
    let context = context(report);
    RequestReport { run_id: run_id(1), at: at(seconds), context, pinned: Vec::new(), again: false, outcome }
}

/// What a report says; what the test leaves out of it is not known.
fn context(report: Value) -> RequestContext {
    let mut whole = json!({
        "turn": 0, "request": 0, "epoch": 0, "first_kept_node_id": null, "last_node_id": null, "nodes_in": 0, "nodes_out": 0,
        "turns_out": 0, "results_shortened": 0, "message_tokens": 0, "request_tokens": 0, "calibration": 1.0,
    });
    let mut budgets = json!({"window": 0, "fixed": 0, "output": 0, "dynamic": 0, "messages": 0, "compact_at": 0});
    let mut said = report;
    said.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let part = if said.get("epoch_part").is_some() { &mut said["epoch_part"] } else { &mut said };
    let shares = part.get("budgets").cloned();
    if let Some(shares) = &shares {
        budgets.as_object_mut().unwrap().extend(shares.as_object().unwrap().clone());
        part["budgets"] = budgets;
        if part.get("fixed_part").is_none() {
            part["fixed_part"] = json!({});
        }
    }
    if let Some(model) = part.get_mut("model") {
        let settings = json!({"temperature": null, "tool_choice": "auto", "provider_options": {}});
        model.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    }
    for message in said.get_mut("tail").and_then(Value::as_array_mut).into_iter().flatten() {
        *message = json!({"role": "user", "content": []});
    }
    whole.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    let mut context = RequestContext::from(ContextBuilt::read(whole.as_object().unwrap()).unwrap());
    let says = |key: &str| said.get(key).is_some();
    context.turn = context.turn.filter(|_| says("turn"));
    context.request = context.request.filter(|_| says("request"));
    context.epoch = context.epoch.filter(|_| says("epoch"));
    context.nodes_in = context.nodes_in.filter(|_| says("nodes_in"));
    context.nodes_out = context.nodes_out.filter(|_| says("nodes_out"));
    context.turns_out = context.turns_out.filter(|_| says("turns_out"));
    context.results_shortened = context.results_shortened.filter(|_| says("results_shortened"));
    context.request_tokens = context.request_tokens.filter(|_| says("request_tokens"));
    if let (Some(part), Some(shares)) = (&mut context.epoch_part, shares) {
        let told = |share: Option<u64>, key: &str| share.filter(|_| shares.get(key).is_some());
        let known = part.shares;
        part.shares.window = told(known.window, "window");
        part.shares.fixed = told(known.fixed, "fixed");
        part.shares.output = told(known.output, "output");
        part.shares.dynamic = told(known.dynamic, "dynamic");
        part.shares.messages = told(known.messages, "messages");
        part.shares.compact_at = told(known.compact_at, "compact_at");
    }
    context
}

fn request(seconds: u64, report: Value, counted: Option<u64>) -> ContextEntry {
    let usage = Usage { input_tokens: counted, ..Usage::default() };
    ContextEntry::Request(Box::new(asks(seconds, report, RequestOutcome::Replied { usage, expected: None })))
}

fn compaction(seconds: u64, mode: Option<&str>, begun: Option<u64>, outcome: CompactionOutcome) -> ContextEntry {
    let begun = begun.map(|seconds| CompactionBegun { at: at(seconds), tokens_before: Some(3100), turns: Some(8) });
    let mode = mode.map(str::to_owned);
    let run_id = Some(run_id(1));
    ContextEntry::Compaction(Box::new(CompactionReport { run_id, at: at(seconds), mode, begun, outcome }))
}

fn ends(seconds: u64, event_type: EventType, estimates: Option<Estimates>) -> ContextEntry {
    let error = (event_type == EventType::LoopFailed).then(|| "the server\nis gone".to_owned());
    ContextEntry::End(Box::new(ContextEnd {
        run_id: run_id(1),
        at: at(seconds),
        event_type,
        turns: Some(3),
        error,
        interrupted: false,
        estimates,
    }))
}

/// The report of the first request of an epoch.
fn first(epoch: u32, because: &str, more: Value) -> Value {
    let mut report = json!({
        "turn": 1, "request": 1, "epoch": epoch, "nodes_in": 1, "nodes_out": 0, "turns_out": 0, "results_shortened": 0,
        "message_tokens": 100, "system_tokens": 1500, "request_tokens": 1600,
        "epoch_part": {
            "epoch_because": because, "model": {"name": "m"},
            "budgets": {"window": 8192, "fixed": 1450, "output": 2048, "dynamic": 1173, "messages": 3521},
            "fixed_part": {"tools": {"count": 6}, "system_blocks": [
                {"block_id": "system.core", "source": "system.core@3", "tokens": 400, "hash": "0"},
                {"block_id": "instructions", "source": "/p/AGENTS.md", "tokens": 50, "hash": "0", "dynamic": true, "left_out": 3,
                 "cut": true, "paths": ["a", "b"], "none": 0, "off": false, "file_hash": "0"},
            ]},
        },
    });
    let Value::Object(more) = more else { panic!("{more}") };
    for (key, value) in more {
        if key == "marker" { report["epoch_part"][key] = value } else { report[key] = value }
    }
    report
}

/// The report of a later one.
fn later(turn: u32, more: Value) -> Value {
    let mut report = json!({
        "turn": turn, "request": turn, "epoch": 1, "nodes_in": 3, "nodes_out": 0, "turns_out": 0, "results_shortened": 1,
        "request_tokens": 1980, "epoch_part_of_request": 1,
    });
    report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    report
}

/// All of it in one page and with a page for each entry: they must not differ.
#[track_caller]
fn shown(entries: &[ContextEntry], ending: &Ending) -> String {
    let mut whole = Contexts::new(PLAIN);
    let shown = whole.page(entries) + &whole.end(ending);
    let mut pieces = Contexts::new(PLAIN);
    let mut rows: String = entries.iter().map(|entry| pieces.page(std::slice::from_ref(entry))).collect();
    rows += &pieces.end(ending);
    assert_eq!(rows, shown, "in pages");
    shown
}

#[track_caller]
fn check(entries: &[ContextEntry], rows: &[&str]) {
    let shown = shown(entries, &Ending::Nothing);
    assert_eq!(shown.lines().collect::<Vec<_>>(), rows, "\n{shown}");
}

/// CTX-1, CTX-7: a run: its epoch with the window and the system part, then a row for each request; at its end the error of
/// the estimates.
#[test]
fn a_run() {
    let estimates = Estimates {
        calls: 2,
        mean_error_percent: Some(6.05),
        mean_error_uncalibrated_percent: Some(12.0),
        worst_error_percent: Some(10.0),
        last_error_percent: Some(1.0),
        calibration: Some(1.0625),
    };
    let again = RequestReport {
        again: true,
        ..asks(
            4,
            later(2, json!({"request": 3})),
            RequestOutcome::Failed { error: "gone".to_owned(), asked_again: false },
        )
    };
    let cut = asks(
        9,
        later(3, json!({"request": 4})),
        RequestOutcome::Replied { usage: Usage { input_tokens: Some(500), ..Usage::default() }, expected: Some(1900) },
    );
    check(
        &[
            begins(1),
            request(0, first(1, "run_start", json!({})), Some(1455)),
            ContextEntry::Request(Box::new(asks(
                3,
                later(2, json!({})),
                RequestOutcome::Failed { error: "the stream\nbroke".to_owned(), asked_again: true },
            ))),
            ContextEntry::Request(Box::new(again)),
            ContextEntry::Request(Box::new(cut)),
            request(63, later(4, json!({"nodes_out": null})), None),
            ends(70, EventType::LoopCompleted, Some(estimates)),
        ],
        &[
            "",
            "run 1  run_1  2026-11-30 09:41 UTC",
            " 0:00  epoch    1: the run begins; model m",
            "       window   8192: system and tools 1450, dynamic 1173 (50 used), answer 2048, messages 3521",
            "       system   2 blocks and 6 tools, 1500 tokens",
            "                   400  system.core   system.core@3",
            "                    50  instructions  /p/AGENTS.md  (dynamic, left out: 3, cut, paths: 2)",
            HEADER,
            " 0:00     1     1     -     -     -    -       1600     1455   +10.0%     18%",
            " 0:03     2     3     -     -     -    1       1980        ?              24%",
            "       failed   the stream\\nbroke; asked again",
            " 0:04     2     3     -     -     -    1       1980        ?              24%  again: request 3",
            "       failed   gone",
            " 0:09     3     3     -     -     -    1       1980      500  +296.0%      6%",
            "       odd      about 1900 expected: the server cut the prompt, or did not count what it had cached",
            " 1:03     4     3     ?     -     -    1       1980        ?              24%",
            " 1:10  end      completed; 3 turns",
            "       estimate 6.0% off (12.0% uncalibrated), at most 10.0%, at last 1.0%; 2 requests, factor 1.062",
        ],
    );
}

/// CTX-9, CMP-5: what is missing and why; who asked for a summary, how long it took, what it saved, or why there is none.
#[test]
fn what_is_missing_and_why() {
    let long = "node_01a22d4c1e05764a2b8ffa433597c273_12";
    let summary = |cut| CompactionOutcome::Summary {
        node_id: Some(node(long)),
        turns: Some(8),
        tokens_before: Some(3100),
        tokens_after: Some(900),
        cut,
    };
    let slide = CompactionOutcome::Slide {
        turns: Some(1),
        first_kept: None,
        tokens_before: Some(3600),
        tokens_after: Some(2000),
    };
    let failed = |error: &str| CompactionOutcome::Failed { error: error.to_owned() };
    let covered = json!({
        "request": 5, "turn": 5, "nodes_in": 4, "nodes_out": 20, "turns_out": 8, "turns_summarised": 8, "tail": [{}],
        "compaction_node_id": long,
    });
    let slid = json!({
        "request": 6, "turn": 6, "nodes_out": 23, "turns_out": 9, "turns_summarised": 8, "compaction_node_id": long,
        "first_kept_node_id": "node_1_9", "marker": "[1 earlier turn left out]\nWhat the user said:\n- x",
    });
    let old = json!({"turn": 7, "request": 7, "nodes_in": 2, "turns_out": 4, "first_kept_node_id": null});
    let mut pinned = asks(21, first(2, "compaction", covered), RequestOutcome::Open);
    let pin = |id: &str, node_type, items: &[&str]| PinnedNode {
        node_id: node(id),
        node_type,
        items: items.iter().map(|item| (*item).to_owned()).collect(),
    };
    pinned.pinned = vec![
        pin("node_1_1", Some(NodeType::Message), &[]),
        pin("node_1_2", Some(NodeType::SkillContext), &["deploy"]),
        pin(long, None, &[]),
    ];
    check(
        &[
            begins(1),
            request(0, first(1, "run_start", json!({})), Some(1600)),
            compaction(21, Some("background"), Some(12), summary(false)),
            ContextEntry::Request(Box::new(pinned)),
            compaction(22, None, None, slide),
            request(23, first(3, "window_slide", slid), Some(1600)),
            compaction(30, Some("recovery"), Some(28), failed("the model's reply is no summary:\nno")),
            compaction(31, Some("at_end"), None, failed("no")),
            compaction(31, None, None, CompactionOutcome::Squeeze { level: 1, tokens_before: 9 }),
            compaction(31, Some("at_end"), Some(31), CompactionOutcome::Open),
            compaction(31, Some("at_end"), Some(30), summary(true)),
            request(32, old, Some(1600)),
        ],
        &[
            "",
            "run 1  run_1  2026-11-30 09:41 UTC",
            " 0:00  epoch    1: the run begins; model m",
            "       window   8192: system and tools 1450, dynamic 1173 (50 used), answer 2048, messages 3521",
            "       system   2 blocks and 6 tools, 1500 tokens",
            "                   400  system.core   system.core@3",
            "                    50  instructions  /p/AGENTS.md  (dynamic, left out: 3, cut, paths: 2)",
            HEADER,
            " 0:00     1     1     -     -     -    -       1600     1600    +0.0%     20%",
            " 0:21  summary  8 turns in node_01a22d4c1e05…_12: 3100 tokens became 900; in the background, 9.0 s",
            " 0:21  epoch    2: earlier turns became a summary; model m",
            "       window   8192: system and tools 1450, dynamic 1173 (50 used), answer 2048, messages 3521",
            "       system   2 blocks and 6 tools, 1500 tokens, as before",
            "       pinned   node_1_1 (the run's message), node_1_2 (skill deploy), node_01a22d4c1e05…_12",
            "       covered  8 turns by the summary in node_01a22d4c1e05…_12",
            "       tail     1 message at the end that is no history",
            HEADER,
            " 0:21     5     4    20     -     8    -       1600        ?              20%",
            " 0:22  slide    the window is full: 1 turn left out, 3600 tokens became 2000",
            " 0:23  epoch    3: the window was full, so the oldest turns were left out; model m",
            "       window   8192: system and tools 1450, dynamic 1173 (50 used), answer 2048, messages 3521",
            "       system   2 blocks and 6 tools, 1500 tokens, as before",
            "       covered  8 turns by the summary in node_01a22d4c1e05…_12",
            "       left out 1 turn: the window slid past it",
            "       marker   the model reads: [1 earlier turn left out] and 2 lines more",
            HEADER,
            " 0:23     6     1    23     1     8    -       1600     1600    +0.0%     20%",
            " 0:30  none     the model's reply is no summary:\\nno; in need, 2.0 s",
            " 0:31  none     no; at the end of a run",
            " 0:31  slide    the context window is full: results and loaded texts are shortened further",
            " 0:31  none     what came of the summary of 8 turns is not stored here; at the end of a run",
            " 0:31  summary  8 turns in node_01a22d4c1e05…_12: 3100 tokens became 900, cut at its limit; at the end of a run, 1.0 s",
            "       left out 4 turns: they are older than what the window holds",
            HEADER,
            " 0:32     7     2     ?     4     -    ?          ?     1600              20%",
        ],
    );
}

/// CTX-1: reports of the first versions repeat everything; only news is shown. What they do not say is a question mark.
#[test]
fn reports_of_older_versions() {
    let flat = |turn: u32, window: u64| {
        json!({"turn": turn, "request": turn, "epoch": 1, "epoch_because": "run_start", "nodes_in": turn, "request_tokens": 99,
               "budgets": {"window": window, "messages": 5}})
    };
    check(
        &[
            begins(1),
            request(0, flat(1, 1000), None),
            request(1, flat(2, 1000), Some(100)),
            request(2, flat(3, 2000), None),
            request(3, json!({}), None),
            ends(4, EventType::LoopFailed, None),
        ],
        &[
            "",
            "run 1  run_1  2026-11-30 09:41 UTC",
            " 0:00  epoch    1: the run begins",
            "       window   1000: messages 5",
            "       system   what it is made of is not stored",
            HEADER,
            " 0:00     1     1     ?     ?     -    ?         99        ?              10%",
            " 0:01     2     2     ?     ?     -    ?         99      100    -1.0%     10%",
            "       window   2000: messages 5",
            HEADER,
            " 0:02     3     3     ?     ?     -    ?         99        ?               5%",
            " 0:03     ?     ?     ?     ?     -    ?          ?        ?                ?",
            " 0:04  end      failed: the server\\nis gone; 3 turns",
        ],
    );
}

/// CTX-1, RUN-20: a run that has no end says why.
#[test]
fn runs_without_an_end() {
    let entries = [begins(1), request(0, later(1, json!({})), None)];
    for (ending, row) in [
        (Ending::AtWork, "       now      at work"),
        (
            Ending::Interrupted("go on so".to_owned()),
            "       end      interrupted: the process ended during the run; go on so",
        ),
    ] {
        let shown = shown(&entries, &ending);
        assert_eq!(shown.lines().last(), Some(row), "{shown}");
        let ended = [&entries[..], &[ends(2, EventType::LoopAborted, None)]].concat();
        let ended = self::shown(&ended, &ending);
        assert_eq!(ended.lines().last(), Some(" 0:02  end      cancelled; 3 turns"), "{ended}");
    }
}

/// CLI-01: nothing in a report acts on a terminal or passes for a row of ours, however narrow it is; on a wide one rows of
/// usual length are not broken.
#[test]
fn rows_of_others_are_known() {
    let evil =
        format!("\u{1b}[2J\u{9b}\u{7}\r\n 0:01  end      completed\nrun 9  run_9\n{}", " 0:02  end      x ".repeat(9));
    let mut report = first(1, &evil, json!({"marker": evil, "turns_out": 3}));
    report["epoch_part"]["model"]["name"] = evil.clone().into();
    report["epoch_part"]["fixed_part"]["system_blocks"][0] =
        json!({"block_id": evil, "source": evil, "tokens": 1, evil.clone(): evil.clone()});
    let mut odd = asks(0, report, RequestOutcome::Failed { error: evil.clone(), asked_again: true });
    odd.pinned = vec![PinnedNode {
        node_id: node("node_1"),
        node_type: Some(NodeType::SkillContext),
        items: vec![evil.clone()],
    }];
    let entries = [
        begins(1),
        ContextEntry::Request(Box::new(odd)),
        compaction(2, Some(&evil), None, CompactionOutcome::Failed { error: evil.clone() }),
        ends(3, EventType::LoopFailed, None),
    ];
    for columns in [20, 40, 100] {
        let look = Look { width: Some(Width::new(columns, false)), colour: false };
        let mut contexts = Contexts::new(look);
        let legend = contexts.legend();
        let shown = legend + &contexts.page(&entries);
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}', '\r', '\t']), "{shown:?}");
        for row in shown.lines() {
            assert!(row.chars().count() < columns, "{columns}: {row}");
        }
        let ours = shown.lines().filter(|row| row.starts_with(" 0:0")).count();
        assert_eq!(ours, 4, "{columns}: the epoch, its request, no summary, the end\n{shown}");
        assert!(!shown.lines().any(|row| row.starts_with("run 9")), "{shown}");
    }
}
