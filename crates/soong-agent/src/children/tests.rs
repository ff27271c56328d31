use agent_core::event::{EventPayload, Level, MessageDelta, Timestamp};
use agent_core::id::{AgentId, EventId, SessionId};
use agent_core::message::Object;
use serde_json::{Value, json};

use super::*;
use crate::output::Output;

fn event(event_type: EventType, run: &str, payload: Value) -> RuntimeEvent {
    let Value::Object(payload) = payload else { panic!("an object") };
    RuntimeEvent {
        event_id: EventId::parse("evt_1").unwrap(),
        seq: Some(1),
        run_seq: Some(1),
        session_id: SessionId::parse("sess_1").unwrap(),
        agent_id: None,
        run_id: Some(RunId::parse(run).unwrap()),
        level: Level::Info,
        event_type,
        node_id: None,
        tool_call_id: None,
        payload,
        created_at: Timestamp::from_unix_millis(0),
    }
}

fn created(run: &str, name: &str) -> ChildAgentCreated {
    let payload: Object = serde_json::from_value(json!({
        "child_agent_id": "agent_2", "child_run_id": run, "stream_id": run, "agent_type": "sub",
        "agent_definition_id": "default_sub_agent", "allowed_tools": [], "timeout_ms": 1, "definition_name": name,
        "asked": "Count them.",
    }))
    .unwrap();
    ChildAgentCreated::read(&payload).unwrap()
}

fn tool(run: &str, name: &str, about: &str) -> RuntimeEvent {
    event(EventType::ToolStarted, run, json!({"tool_name": name, "summary": about}))
}

fn width(columns: usize) -> Width {
    Width::new(columns, false)
}

/// CLI-2: each child has a line: who it is, its step, what it does and for how long; when it ended, one line is left.
#[test]
fn a_line_each() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut children = Children::default();
    let patience = Duration::from_millis(400);
    assert_eq!(children.begin(&created("run_1", "Explorer"), start), "Explorer begins: Count them.");
    assert_eq!(children.begin(&created("run_2", "Explorer"), at(2)), "Explorer 2 begins: Count them.");
    let worker = ChildAgentCreated {
        worker_id: Some("builder".to_owned()),
        task_id: Some(agent_core::archive::TaskId::parse("release").unwrap()),
        ..created("run_3", "Builder of things")
    };
    assert_eq!(children.begin(&worker, at(2)), "builder begins for task release: Count them.");
    children.happened(&tool("run_1", "code.search", "'needle'")).unwrap();
    children
        .happened(&event(EventType::ModelStarted, "run_2", json!({"turn": 1, "request": 1, "model": "m"})))
        .unwrap();
    let claimed = json!({
        "task_id": "release", "step_id": "build", "wal_seq": 4, "previous_status": "ready", "claimed_by_agent_id": "agent_2",
        "claimed_by_run_id": "run_3", "lease_expires_at": "1970-01-01T00:00:01.000Z",
    });
    children.happened(&event(EventType::TaskStepClaimed, "run_3", claimed)).unwrap();
    children.happened(&event(MessageDelta::EVENT_TYPE, "run_3", json!({"text": "x"}))).unwrap();
    children.happened(&tool("run_other", "code.search", "of nobody's")).unwrap();
    let drawing = children.drawing(at(5), patience, width(80), 10).unwrap();
    assert_eq!((drawing.what.as_str(), drawing.seconds), ("3 agents at work", 5));
    assert_eq!(
        drawing.lines,
        ["  Explorer: code.search 'needle' 5 s", "  Explorer 2: waits for m 3 s", "  builder [build]: writes 3 s"]
    );
    assert_eq!(children.drawing(start, patience, width(80), 10), None, "short ones do not flicker");

    let ended = |run: &str| json!({"child_agent_id": "agent_2", "child_run_id": run, "turns": 2, "usage": {"input_tokens": 7, "output_tokens": 2}});
    let (_, line) = children.end(&event(EventType::ChildAgentCompleted, "run_root", ended("run_1")), at(6)).unwrap();
    assert_eq!(line, "Explorer completed; 2 turns, 7 tokens in, 2 out, 6.0 s");
    let mut failed = ended("run_2");
    failed["error"] =
        json!({"type": "provider", "code": "provider_error", "message": "gone", "retryable": false, "redacted": false});
    let (_, line) = children.end(&event(EventType::ChildAgentFailed, "run_root", failed), at(6)).unwrap();
    assert!(line.starts_with("Explorer 2 failed: ") && line.contains("gone") && line.contains("; 2 turns"), "{line}");
    let mut cancelled = ended("run_3");
    (cancelled["step_id"], cancelled["step_status"]) = ("build".into(), "failed".into());
    children.stops(&RunId::parse("run_3").unwrap());
    assert!(children.drawing(at(6), patience, width(80), 10).unwrap().lines[0].contains("builder [build]: stops"));
    let (_, line) = children.end(&event(EventType::ChildAgentCancelled, "run_root", cancelled), at(6)).unwrap();
    assert_eq!(line, "builder cancelled; step build is failed; 2 turns, 7 tokens in, 2 out, 4.0 s");
    assert!(children.is_empty());
    assert_eq!(AgentId::parse("agent_2").unwrap(), worker.child_agent_id);
}

/// CLI-2: however many children there are, however long and wide their names and whatever they do, the lines fit the terminal, each has
/// its time, and the rest is counted.
#[test]
fn lines_fit_whatever_happens() {
    let start = Instant::now();
    let now = start + Duration::from_secs(12_345);
    let names = [
        "e",
        "Explorer",
        "探索する人の長い名前です本当に",
        "👩‍👩‍👧 family",
        "a\u{301}\u{302} b",
        "\x1b[31mred\n\tx",
        &"n".repeat(300),
    ];
    for count in [1, 2, 7, 64] {
        let mut children = Children::default();
        for number in 0..count {
            let run = format!("run_{number}");
            children.begin(&created(&run, names[number % names.len()]), start);
            children.happened(&tool(&run, "code.run_command", &"日本語 make ".repeat(number + 1))).unwrap();
        }
        for columns in [1, 20, 21, 33, 40, 80, 200] {
            for most in [1, 2, 5, 22, 100] {
                let width = width(columns);
                let drawing = children.drawing(now, Duration::ZERO, width, most).unwrap();
                assert_eq!(drawing.lines.len(), count.min(most));
                let shown = if count <= most { count } else { most - 1 };
                for (at, line) in drawing.lines.iter().enumerate() {
                    assert!(width.of_all(line) <= width.usable(), "{columns}: {line:?}");
                    assert!(!line.contains(['\x1b', '\n', '\t']), "{line:?}");
                    match at < shown {
                        true => assert!(line.ends_with(" 12345 s"), "{line:?}"),
                        false => assert!(line.contains(&format!("and {} more", count - shown)), "{line:?}"),
                    }
                }
            }
        }
    }
    // The output that draws them knows the size of no terminal in a test.
    assert!(Output::to(std::io::sink(), std::io::sink(), false).rows_of_stderr() > 0);
}
