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
