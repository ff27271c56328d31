use agent_protocol::{Level, SessionId};
use agent_store::ReplayPage;
use serde_json::{Value, json};

use super::*;

/// A session as it grows.
#[derive(Default)]
struct Told {
    events: Vec<Value>,
}

impl Told {
    fn event(&mut self, event_type: &str, seconds: u64, payload: Value) -> &mut Self {
        let seq = self.events.len() as u64 + 1;
        let at = agent_protocol::Timestamp::from_unix_millis(1_796_031_703_000 + seconds * 1000);
        self.events.push(json!({
            "event_id": format!("evt_{seq}"), "seq": seq, "run_seq": seq, "session_id": "sess_1", "agent_id": "agent_1",
            "run_id": "run_1", "level": Level::Info, "event_type": event_type, "node_id": null,
            "tool_call_id": payload.get("tool_call"), "payload": payload, "created_at": at,
        }));
        self
    }

    fn page(&self) -> ReplayPage {
        let events = self.events.iter().map(|event| serde_json::from_value(event.clone()).unwrap()).collect();
        ReplayPage { events, nodes: Vec::new(), artifacts: Vec::new(), damaged: Vec::new(), next: None }
    }

    fn entries(&self, all_events: bool, tail: TimelineTail) -> Value {
        let agent_id = agent_protocol::AgentId::parse("agent_1").unwrap();
        let mut fold = TimelineFold::new(TimelineScope { agent_id, counts_runs: true, all_events });
        let mut entries = fold.page(&self.page());
        entries.extend(fold.end(tail));
        serde_json::to_value(entries).unwrap()
    }
}

fn asked() -> Value {
    json!({"request_id": "perm_1", "tool_name": "code.write_file", "target_scope": "/p/a\n/p/b", "reasons": []})
}

/// What each step is called and has to say, as programs in other languages read it.
#[test]
fn entries_as_json() {
    let mut told = Told::default();
    told.event("loop_started", 0, json!({}));
    told.event("tool_started", 1, json!({"tool_name": "code.run_command", "tool_call": "c1", "summary": "make"}));
    let end = json!({"tool_name": "code.run_command", "tool_call": "c1", "kind": "ok", "call": "make", "summary": null,
        "metadata": {"exit_code": 2}});
    told.event("tool_completed", 4, end).event("permission_requested", 5, asked());
    told.event("permission_resolved", 9, json!({"request_id": "perm_1", "decision": "allow_once", "reason": null}));
    let usage = json!({"input_tokens": 5, "output_tokens": 7});
    let child = json!({"child_agent_id": "agent_2", "child_run_id": "run_2", "turns": 3, "usage": usage});
    told.event("child_agent_completed", 10, child);
    told.event("loop_completed", 12, json!({"end_reason": "completed", "turns": 2, "usage": usage}));
    let shown = told.entries(false, TimelineTail::Ended);
    let at = |n: usize| told.events[n]["created_at"].clone();
    let usage = shown[4]["usage"].clone();
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(5), &json!(7)));
    assert_eq!(
        shown,
        json!([
            {"run_id": "run_1", "at": at(0), "since_start_ms": 0, "step": "began", "number": 1, "purpose": null,
             "mode": "normal"},
            {"run_id": "run_1", "at": at(2), "since_start_ms": 4000, "step": "called", "tool_call_id": "c1",
             "tool_name": "code.run_command", "kind": "ok", "call": "make", "summary": null,
             "metadata": {"exit_code": 2}, "duration_ms": 3000, "files": [], "children": []},
            {"run_id": "run_1", "at": at(4), "since_start_ms": 9000, "step": "asked", "request_id": "perm_1",
             "tool_name": "code.write_file", "targets": ["/p/a", "/p/b"], "decision": "allow_once", "reason": null},
            {"run_id": "run_1", "at": at(5), "since_start_ms": 10_000, "step": "child_ended",
             "child_agent_id": "agent_2", "child_run_id": "run_2", "status": "completed", "turns": 3, "usage": usage,
             "error": null, "step_id": null, "step_status": null},
            {"run_id": "run_1", "at": at(6), "since_start_ms": 12_000, "step": "ended", "outcome": "completed",
             "duration_ms": 12_000, "end_reason": "completed", "turns": 2, "usage": usage},
        ])
    );
}

/// API-3: each run of the user says how it works; internal runs have no mode, and a mode that nobody knows is not taken for another.
#[test]
fn modes_of_runs() {
    let mut told = Told::default();
    told.event("loop_started", 0, json!({})).event("loop_started", 1, json!({"mode": "orchestrator"}));
    told.event("loop_started", 2, json!({"purpose": "compact"})).event("loop_started", 3, json!({"mode": "other"}));
    let shown = told.entries(false, TimelineTail::Ended);
    let steps: Vec<_> = shown.as_array().unwrap().iter().map(|entry| (&entry["step"], &entry["mode"])).collect();
    assert_eq!(
        steps,
        [
            (&json!("began"), &json!("normal")),
            (&json!("began"), &json!("orchestrator")),
            (&json!("began"), &json!(null)),
            (&json!("unreadable"), &json!(null)),
        ]
    );
}

/// RUN-20: what a run left open comes at its end, without a time.
#[test]
fn open_ends() {
    let mut told = Told::default();
    told.event("loop_started", 0, json!({})).event("permission_requested", 1, asked());
    told.event("tool_started", 1, json!({"tool_name": "code.run_command", "tool_call": "c1", "summary": "make"}));
    let shown = told.entries(false, TimelineTail::Interrupted);
    let open = json!({"run_id": "run_1", "at": null, "since_start_ms": null});
    let with = |more: Value| {
        let mut whole = open.clone();
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    };
    let question = json!({"request_id": "perm_1", "tool_name": "code.write_file", "targets": ["/p/a", "/p/b"],
        "decision": null, "reason": null});
    let mut asked = with(question.clone());
    asked["step"] = "asked".into();
    let lost = json!({"step": "call_lost", "tool_call_id": "c1", "tool_name": "code.run_command", "call": "make",
        "children": []});
    assert_eq!(shown.as_array().unwrap()[1..], [asked, with(lost), with(json!({"step": "interrupted"}))]);
    let shown = told.entries(false, TimelineTail::AtWork);
    assert_eq!(
        shown.as_array().unwrap()[1..],
        [with(json!({"step": "at_work", "question": question, "children": []}))]
    );
}

/// An event that cannot be read takes nothing else with it, and what has no entry comes where all events are asked for.
#[test]
fn damaged_and_other_events() {
    let mut told = Told::default();
    told.event("loop_started", 0, json!({})).event("tool_completed", 1, json!({"tool_name": 7}));
    told.event("model_started", 2, json!({"model": "m"})).event("cancel_timeout", 3, json!({}));
    let shown = told.entries(true, TimelineTail::Ended);
    let steps: Vec<_> = shown.as_array().unwrap().iter().map(|entry| entry["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["began", "unreadable", "event", "did_not_stop"]);
    assert_eq!((&shown[1]["event_id"], &shown[1]["event_type"]), (&json!("evt_2"), &json!("tool_completed")));
    assert!(shown[1]["message"].as_str().unwrap().contains("tool_name"), "{shown}");
    assert_eq!(shown[2]["event"]["payload"], json!({"model": "m"}));
    let shown = told.entries(false, TimelineTail::Ended);
    assert_eq!(shown.as_array().unwrap().len(), 3, "{shown}");
    assert_eq!(told.page().events[0].session_id, SessionId::parse("sess_1").unwrap());
}
