//! What is stored with each request: its report and its start.

use agent_protocol::{ContextBuilt, EventDraft, EventPayload, EventType};
use serde_json::json;

use super::script_testing::Script;
use super::*;

fn of_type(script: &Script, wanted: EventType) -> Vec<&EventDraft> {
    script.events.iter().filter(|event| event.event_type == wanted).collect()
}

fn turn(script: &mut Script, n: usize, words: usize) {
    let text = "word ".repeat(words);
    script.play(&format!("calls look:t{n}={n}; ready t{n}; allow t{n}; done t{n} {text}; sources"));
    if script.trace.last().unwrap().contains("slid ") {
        script.play("sources");
    }
}

/// CTX-1, PRV-15: what an epoch's requests have in common is reported with the first of them; later reports name that one. A
/// slide begins a new epoch; a change that begins none is reported in full all the same.
#[test]
fn an_epoch_is_described_once() {
    let mut script = Script::new();
    script.messages = 600;
    script.play("start hi; sources");
    turn(&mut script, 1, 10);
    script.play("breaks; sources");
    for n in 2..8 {
        turn(&mut script, n, 80);
    }
    script.messages = 580;
    turn(&mut script, 9, 1);
    turn(&mut script, 10, 1);
    let reports: Vec<_> = of_type(&script, EventType::ContextBuilt);
    let reports: Vec<_> = reports.into_iter().map(|event| ContextBuilt::read(&event.payload).unwrap()).collect();
    let mut full: Vec<&ContextBuilt> = Vec::new();
    for report in &reports {
        match (&report.epoch_part, report.epoch_part_of_request) {
            (Some(_), None) => full.push(report),
            (None, Some(named)) => {
                let last = full.last().unwrap();
                assert_eq!((named, report.epoch), (last.request, last.epoch));
            }
            other => panic!("{other:?}"),
        }
    }
    let why: Vec<_> = full.iter().map(|report| report.epoch_part.as_ref().unwrap().epoch_because.as_str()).collect();
    assert_eq!(why[0], "run_start");
    assert_eq!(why[1], "window_slide");
    assert_eq!(full.len(), usize::try_from(reports.last().unwrap().epoch).unwrap() + 1, "{why:?}");
    let [before, after] = &full[full.len() - 2..] else { panic!() };
    assert_eq!(before.epoch, after.epoch);
    let limits = |report: &ContextBuilt| {
        report.epoch_part.as_ref().map(|part| (part.budgets.messages, part.results_limit.unwrap()))
    };
    assert_eq!((limits(before), limits(after)), (Some((600, 240)), Some((580, 232))));
    // RUN-23: a request that is made again is of the same turn.
    assert_eq!((reports[1].turn, reports[2].turn), (2, 2));
    assert_eq!((reports[1].request, reports[2].request), (2, 3));
}

/// CTX-1: the report that every turn repeats is small.
#[test]
fn later_reports_are_small() {
    let mut script = Script::on(Path::new(), "run_0198f00daaaa7bbb8ccc0123456789ab");
    script.play("start hi; sources");
    turn(&mut script, 1, 10);
    let reports = of_type(&script, EventType::ContextBuilt);
    let size = |event: &EventDraft| serde_json::to_string(&event.payload).unwrap().len();
    assert!(size(reports[1]) < 440, "{}: {:?}", size(reports[1]), reports[1].payload);
}

/// TYP-7: a model's start is stored with the request's report, once for each request: the first, one after a broken stream, one
/// after room was made.
#[test]
fn every_request_starts_once() {
    let mut script = Script::new();
    script.messages = 600;
    script.play("start hi; sources; breaks; sources");
    turn(&mut script, 1, 100);
    turn(&mut script, 2, 100);
    script.play("overflow; sources; text so");
    assert!(script.trace.iter().any(|line| line.starts_with("overflow -> [slid ")), "{:?}", script.trace);
    let started: Vec<_> = of_type(&script, EventType::ModelStarted);
    let started: Vec<_> = started.into_iter().map(|event| serde_json::Value::from(event.payload.clone())).collect();
    let expected = [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3)];
    assert_eq!(started, expected.map(|(request, turn)| json!({"model": "m", "request": request, "turn": turn})));
    let order: Vec<_> = script.events.iter().map(|event| event.event_type).collect();
    for at in (0..order.len()).filter(|at| order[*at] == EventType::ModelStarted) {
        assert_eq!(order[at - 1], EventType::ContextBuilt);
    }
}

/// FND-54, PRV-15: the date goes with the message that begins a run. Another day changes no byte of what was sent before, a run keeps
/// the day it began with, and the date is none of the user's words.
#[test]
fn a_date_belongs_to_its_message() {
    let sent = |script: &Script| -> Vec<String> {
        let messages = &script.last_request.as_ref().unwrap().messages;
        messages.iter().map(|message| serde_json::to_string(message).unwrap()).collect()
    };
    let mut path = Path::new();
    let mut before: Vec<String> = Vec::new();
    let days = ["2026-11-30 (Monday)", "2026-12-01 (Tuesday)", "2026-12-01 (Tuesday)", "2027-01-01 (Friday)"];
    for (n, day) in days.iter().enumerate() {
        let mut script = Script::on(path, &format!("run_{n}"));
        script.run = script.run.with_today((*day).to_owned());
        script.play(&format!("start say {n}; sources"));
        let first = sent(&script);
        assert_eq!(first[..before.len()], before, "run {n}");
        let message = script.last_request.as_ref().unwrap().messages.last().unwrap();
        let texts: Vec<_> = message.content.iter().filter_map(ContentBlock::as_text).collect();
        assert_eq!(texts, [format!("say {n}"), format!("[The user's local date: {day}]")]);
        script.play(&format!("calls look:c{n}={n}; ready c{n}; allow c{n}; done c{n} x; sources"));
        assert_eq!(sent(&script)[..first.len()], first, "run {n}");
        script.play("text ok");
        before = sent(&script);
        let words: Vec<_> = script.run.path.words(0, usize::MAX).map(|(_, text)| text).collect();
        assert_eq!(words, (0..=n).map(|n| format!("say {n}")).collect::<Vec<_>>());
        path = script.run.into_path().0;
    }
}

/// FND-16: a name of any length that an adapter lets through is cut before it is stored and sent back, so that it is no reason why
/// the next request does not fit.
#[test]
fn a_long_name_is_no_end() {
    for length in [255, 256, 257, 40_000, 3_000_000] {
        let name = "é".repeat(length / 2);
        let mut script = Script::new();
        script.messages = 2_000;
        script.play("start hi; sources").play(&format!("calls {name}:a; sources"));
        let messages = &script.last_request.as_ref().unwrap().messages;
        let calls: Vec<_> =
            messages.iter().flat_map(|m| m.content.iter()).filter_map(ContentBlock::as_tool_call).collect();
        let [call] = calls[..] else { panic!("{calls:?}") };
        assert!(call.name.len() <= agent_protocol::MAX_NAME);
        assert_eq!(call.name == name, name.len() <= agent_protocol::MAX_NAME);
        assert!(messages.len() == 3 && messages[2].role == Role::Tool, "the call is answered");
        assert!(serde_json::to_string(messages).unwrap().len() < 4_000);
    }
}
