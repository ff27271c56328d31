use agent_core::EventType;
use agent_core::archive::{ReplayPage, TimelineFold, TimelineScope, TimelineTail};
use agent_core::event::{Level, Timestamp};
use agent_core::id::AgentId;
use agent_core::session::{ArtifactInfo, Node, Role};
use serde_json::{Value, json};

use super::*;
use crate::output::Width;

const PLAIN: Look = Look { width: None, colour: false };

/// The agent the user talks to.
fn own() -> AgentId {
    AgentId::parse("agent_1").unwrap()
}

/// Entries as the archive makes them, and their rows.
struct Told {
    fold: TimelineFold,
    rows: Timeline,
}

impl Told {
    fn new(look: Look, debug: bool) -> Self {
        let scope = TimelineScope { agent_id: own(), counts_runs: true, all_events: debug };
        Self { fold: TimelineFold::new(scope), rows: Timeline::new(look, "/p", "go on so".to_owned()) }
    }

    fn page(&mut self, page: &ReplayPage) -> String {
        self.rows.page(&self.fold.page(page))
    }

    fn end(&mut self, ending: TimelineTail) -> String {
        self.rows.page(&self.fold.end(ending))
    }
}

/// What a test says of an event, with all that is stored of one.
fn whole(event_type: EventType, said: Value) -> Value {
    let mut whole = match event_type {
        EventType::ToolCompleted => json!({"kind": "ok", "call": null, "summary": null, "metadata": {}}),
        EventType::ToolFailed => json!({"kind": "failed", "call": null, "summary": null, "metadata": {}}),
        EventType::ToolDenied => json!({"kind": "denied", "call": null, "summary": null, "metadata": {}}),
        EventType::PermissionRequested => json!({"reasons": []}),
        EventType::ModelRetry => json!({"attempt": 1, "wait_ms": 0}),
        EventType::CompactCompleted => json!({
            "kind": "window_slide", "first_kept_node_id": "node_1_1", "tokens_before": 9, "tokens_after": 5,
        }),
        _ => json!({}),
    };
    let Value::Object(said) = said else { panic!("{said}") };
    for (key, value) in said {
        whole[&key] = match key.as_str() {
            "error" => {
                let mut error = json!({"type": "common", "code": "internal_error", "retryable": false});
                error.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
                error
            }
            _ => value,
        };
    }
    whole
}

/// A session as it grows: events and nodes get their places in the order in which they are added.
#[derive(Default)]
struct Session {
    events: Vec<RuntimeEvent>,
    nodes: Vec<Node>,
    artifacts: Vec<ArtifactInfo>,
    tip: Option<String>,
    run: u64,
}

impl Session {
    fn event(&mut self, event_type: EventType, seconds: u64, payload: Value) -> &mut Self {
        let payload = whole(event_type, payload);
        let seq = self.events.len() as u64 + 1;
        let event = json!({
            "event_id": format!("evt_{seq}"), "seq": seq, "run_seq": seq, "session_id": "sess_1", "agent_id": "agent_1",
            "run_id": format!("run_{}", self.run), "level": Level::Info, "event_type": event_type, "node_id": null,
            "tool_call_id": payload.get("tool_call"), "payload": payload,
            "created_at": Timestamp::from_unix_millis(1_796_031_703_000 + self.run * 100_000_000 + seconds * 1000),
        });
        self.events.push(serde_json::from_value(event).unwrap());
        self
    }

    fn run(&mut self) -> &mut Self {
        self.run += 1;
        self.event(EventType::LoopStarted, 0, json!({}))
    }

    fn says(&mut self, role: Role, seconds: u64, text: &str, payload: Value) -> &mut Self {
        let node_seq = self.nodes.len() as u64 + 1;
        let id = format!("node_{}_{node_seq}", self.run);
        let partial = payload.get("partial").is_some();
        let node = json!({
            "session_id": "sess_1", "node_seq": node_seq, "node_id": id, "parent_id": self.tip, "agent_id": "agent_1",
            "run_id": format!("run_{}", self.run), "role": role, "node_type": "message",
            "content": [{"type": "text", "text": text}], "metadata": if partial { json!({"partial": true}) } else { json!({}) },
            "token_count": 1, "created_at": "2026-11-30T09:41:43.120Z",
        });
        self.nodes.push(serde_json::from_value(node).unwrap());
        let created = if role == Role::User { EventType::MessageCreated } else { EventType::MessageCompleted };
        self.event(created, seconds, payload);
        self.events.last_mut().unwrap().node_id = Some(NodeId::parse(&id).unwrap());
        if !partial {
            self.tip = Some(id);
        }
        self
    }

    fn user(&mut self, text: &str) -> &mut Self {
        self.says(Role::User, 0, text, json!({"role": "user"}))
    }

    fn model(&mut self, seconds: u64, text: &str) -> &mut Self {
        self.says(Role::Assistant, seconds, text, json!({"tool_calls": 0}))
    }

    fn tool(&mut self, event_type: EventType, seconds: u64, payload: Value) -> &mut Self {
        self.event(event_type, seconds, payload)
    }

    fn done(&mut self, seconds: u64) -> &mut Self {
        let usage = json!({"input_tokens": 512, "output_tokens": 9});
        self.event(EventType::LoopCompleted, seconds, json!({"turns": 2, "usage": usage}))
    }

    /// The rows, with all of it in one page and with a page for each event: they must not differ.
    #[track_caller]
    fn shown(&self, debug: bool, ending: TimelineTail) -> String {
        let mut timeline = Told::new(PLAIN, debug);
        let whole = ReplayPage {
            events: self.events.clone(),
            nodes: self.nodes.clone(),
            artifacts: self.artifacts.clone(),
            damaged: Vec::new(),
            next: None,
        };
        let shown = timeline.page(&whole) + &timeline.end(ending);
        let mut timeline = Told::new(PLAIN, debug);
        let mut pieces = String::new();
        for event in &self.events {
            let own = |node: &&Node| Some(&node.node_id) == event.node_id.as_ref();
            let made = |artifact: &&ArtifactInfo| {
                event.node_id.is_some()
                    && artifact.tool_call_id.is_some()
                    && artifact.tool_call_id == event.tool_call_id
            };
            pieces += &timeline.page(&ReplayPage {
                events: vec![event.clone()],
                nodes: self.nodes.iter().filter(own).cloned().collect(),
                artifacts: self.artifacts.iter().filter(made).cloned().collect(),
                damaged: Vec::new(),
                next: None,
            });
        }
        if self.artifacts.is_empty() {
            assert_eq!(pieces + &timeline.end(ending), shown, "in pages");
        }
        shown
    }

    #[track_caller]
    fn check(&self, rows: &[&str]) {
        let shown = self.shown(false, TimelineTail::Ended);
        assert_eq!(shown.lines().collect::<Vec<_>>(), rows, "\n{shown}");
    }
}

/// CLI-5: what was said, done, asked and paid for, in one row each.
#[test]
fn a_run() {
    let mut session = Session::default();
    session.run().user("How many brews?\nCount them.");
    session.event(EventType::ModelStarted, 1, json!({"model": "m"}));
    session.model(2, "I shall *look*.\n");
    let read = json!({"tool_name": "code.read_file", "tool_call": "c1", "summary": "brews.csv", "call": "brews.csv"});
    session.tool(EventType::ToolStarted, 2, read.clone());
    session.tool(
        EventType::ToolCompleted,
        3,
        json!({"tool_name": "code.read_file", "tool_call": "c1", "call": "brews.csv", "summary": "8 lines"}),
    );
    let asked = json!({"request_id": "perm_1", "tool_name": "code.write_file", "target_scope": "/p/a.txt\n/q/b.txt"});
    session.event(EventType::PermissionRequested, 4, asked);
    session.event(
        EventType::PermissionResolved,
        64,
        json!({"request_id": "perm_1", "decision": "allow_once", "reason": null}),
    );
    session.tool(
        EventType::ToolFailed,
        65,
        json!({"tool_name": "code.write_file", "call": "a.txt", "error": {"message": "no room\nat all"}}),
    );
    session.tool(
        EventType::ToolFailed,
        65,
        json!({"tool_name": "code.read_file", "call": "b", "kind": "skipped", "error": {"message": "x"}}),
    );
    session.tool(
        EventType::ToolDenied,
        66,
        json!({"tool_name": "code.run_command", "call": "rm -r .", "error": {"message": "denied"}}),
    );
    session.tool(EventType::ToolCompleted, 67, json!({"tool_name": "code.run_command", "call": "false", "summary": "exit code 1", "metadata": {"exit_code": 1}}));
    session.event(EventType::ModelRetry, 68, json!({"wait_ms": 1500, "error": {"message": "busy"}}));
    session.event(EventType::ModelFailed, 70, json!({"will_retry": true, "error": {"message": "gone"}}));
    session.event(EventType::CompactCompleted, 71, json!({"turns_left_out": 3}));
    session.model(3723, "There are 7.").done(3723);
    session.check(&[
        "",
        "run 1  run_1  2026-12-01 13:28 UTC",
        "> How many brews?",
        "> Count them.",
        "| I shall *look*.",
        " 0:03  ok     code.read_file brews.csv: 8 lines",
        " 1:04  asked  code.write_file a.txt, /q/b.txt: allow once",
        " 1:05  failed code.write_file a.txt: no room",
        " 1:05  skip   code.read_file b",
        " 1:06  denied code.run_command rm -r .: denied",
        " 1:07  exit   code.run_command false: exit code 1",
        " 1:08  note   busy; asking again in 1.5 s",
        " 1:10  note   the answer broke off here: gone; asking again",
        " 1:11  note   the context window is full: 3 earlier turns left out from here on",
        "| There are 7.",
        "1:02:03  end    completed; 2 turns, 512 tokens in, 9 out, 3723.0 s",
    ]);
}

/// CLI-5: a run that failed says why, once.
#[test]
fn failed_and_cancelled_runs() {
    let mut session = Session::default();
    let error = json!({"message": "the server is gone", "details": {}});
    session.run().user("hi").event(EventType::Error, 1, json!({"error": error}));
    session.event(EventType::LoopFailed, 1, json!({"error": error, "turns": 1}));
    session.run().user("again").says(Role::Assistant, 1, "I was about", json!({"partial": true}));
    session.event(EventType::RunCancelled, 1, json!({}));
    session.event(EventType::LoopAborted, 2, json!({"turns": 1, "error": {"message": "cancelled"}}));
    session.run().user("hi").event(EventType::LoopFailed, 1, json!({"error": error, "turns": 1}));
    session.check(&[
        "",
        "run 1  run_1  2026-12-01 13:28 UTC",
        "> hi",
        " 0:01  error  the server is gone",
        " 0:01  end    failed; 1 turn, tokens unknown, 1.0 s",
        "",
        "run 2  run_2  2026-12-02 17:15 UTC",
        "> again",
        "| I was about",
        " 0:01  note   it broke off here; a later prompt only quotes it, in a note",
        " 0:02  end    cancelled; 1 turn, tokens unknown, 2.0 s",
        "",
        "run 3  run_3  2026-12-03 21:01 UTC",
        "> hi",
        " 0:01  end    failed: the server is gone; 1 turn, tokens unknown, 1.0 s",
    ]);
}

/// CLI-5, RUN-20: a run whose process ended says so, and what it left open.
#[test]
fn interrupted_runs() {
    let begun = json!({"tool_name": "code.run_command", "tool_call": "c1", "summary": "make", "call": "make"});
    let asked = json!({"request_id": "perm_1", "tool_name": "code.write_file", "target_scope": "/p/a.txt"});
    let mut session = Session::default();
    session.run().user("Build.").tool(EventType::ToolStarted, 1, begun).event(EventType::PermissionRequested, 2, asked);
    let rows = [
        "",
        "run 1  run_1  2026-12-01 13:28 UTC",
        "> Build.",
        "       asked  code.write_file a.txt: not answered",
        "       lost   code.run_command make: began; what came of it was not stored",
        "       end    interrupted: the process ended during the run",
    ];
    let shown = session.shown(false, TimelineTail::Interrupted);
    assert_eq!(shown.trim_end(), format!("{}; go on so", rows.join("\n")));
    let asks = session.shown(false, TimelineTail::AtWork);
    assert!(asks.ends_with("> Build.\n       now    waits for an answer: code.write_file a.txt\n"), "{asks}");

    let error = json!({"message": "process ended during the run", "details": {"kind": "interrupted"}});
    session.event(EventType::LoopFailed, 90_000, json!({"error": error}));
    session.check(&rows);
    let next = session.run().user("Again.").done(1).shown(false, TimelineTail::Interrupted);
    assert!(next.ends_with("end    completed; 2 turns, 512 tokens in, 9 out, 1.0 s\n"), "{next}");
}

/// CLI-5, RUN-21: a call whose result could not be stored is told as lost, whatever ended the run.
#[test]
fn lost_results() {
    let begun = |call: &str| json!({"tool_name": "code.run_command", "tool_call": call, "summary": call, "call": call});
    let mut session = Session::default();
    session.run().user("Build.").tool(EventType::ToolStarted, 1, begun("make"));
    session.tool(EventType::ToolStarted, 1, begun("true")).tool(EventType::ToolCompleted, 2, begun("true"));
    session.event(EventType::LoopFailed, 3, json!({"error": {"message": "the disk is full"}, "turns": 1}));
    session.check(&[
        "",
        "run 1  run_1  2026-12-01 13:28 UTC",
        "> Build.",
        " 0:02  ok     code.run_command true: true",
        "       lost   code.run_command make: began; what came of it was not stored",
        " 0:03  end    failed: the disk is full; 1 turn, tokens unknown, 3.0 s",
    ]);
}

/// CLI-5, STO-7: where another branch begins is seen, and on what it goes on.
#[test]
fn branches() {
    let mut session = Session::default();
    session.run().user("One.").model(1, "First.").done(1);
    session.run().user("Two.").says(Role::Assistant, 1, "half", json!({"partial": true})).model(2, "Second.").done(2);
    session.tip = Some("node_1_2".to_owned());
    session.run().user("Two, otherwise.").model(1, "Third.").done(1);
    let shown = session.shown(false, TimelineTail::Ended);
    let branches: Vec<_> = shown.lines().filter(|row| row.contains("branch")).collect();
    assert_eq!(branches, [" 0:00  note   another branch begins here: it goes on from node_1_2, in run 1"], "{shown}");
    assert!(
        shown.find("another branch") > shown.find("run 3")
            && shown.find("another branch") < shown.find("> Two, otherwise.")
    );
}

/// CLI-5: what waits for an earlier run is no run yet.
#[test]
fn queued_runs() {
    let mut session = Session::default();
    session.run().user("One.");
    session.run = 7;
    session.event(EventType::RunQueued, 0, json!({"position": 1})).event(EventType::RunCancelled, 0, json!({}));
    let error = json!({"message": "process ended while the run was queued", "details": {"kind": "interrupted"}});
    session.run = 8;
    session.event(EventType::LoopFailed, 0, json!({"error": error}));
    session.run = 1;
    session.model(1, "First.").done(1);
    let shown = session.shown(false, TimelineTail::Ended);
    for words in ["waits: run_7", "cancelled: run_7", "run_8: process ended while the run was queued", "| First.\n"] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    assert!(shown.ends_with(" 0:01  end    completed; 2 turns, 512 tokens in, 9 out, 1.0 s\n"), "{shown}");
}

/// CLI-5: events for debugging have their payload with them, in one row, and only where asked for.
#[test]
fn debugging() {
    let mut session = Session::default();
    session.run().event(EventType::ContextBuilt, 1, json!({"turn": 1, "said": "a\nb\u{1b}"})).user("hi").done(2);
    let shown = session.shown(true, TimelineTail::Ended);
    assert!(shown.contains(" 0:01  debug  context_built {\"turn\":1,\"said\":\"a\\nb\\u001b\"}\n"), "{shown}");
    assert!(!session.shown(false, TimelineTail::Ended).contains("debug"));
}

/// EVT-5: an event that cannot be read is told as such, and takes nothing else with it.
#[test]
fn damaged_events() {
    let mut session = Session::default();
    session.run().user("hi").event(EventType::ToolCompleted, 1, json!({"tool_name": 7}));
    session.model(2, "Done.").done(2);
    session.check(&[
        "",
        "run 1  run_1  2026-12-01 13:28 UTC",
        "> hi",
        " 0:01  damage event evt_3 (tool_completed) cannot be read: at \"tool_name\": invalid type: integer `7`, expected a string",
        "| Done.",
        " 0:02  end    completed; 2 turns, 512 tokens in, 9 out, 2.0 s",
    ]);
}

/// ART-2: what was stored beside a result is named.
#[test]
fn artifacts_of_calls() {
    let mut session = Session::default();
    session.run().tool(
        EventType::ToolCompleted,
        1,
        json!({"tool_name": "code.run_command", "call": "make", "tool_call": "c1"}),
    );
    session.artifacts.push(ArtifactInfo {
        artifact_id: agent_core::id::ArtifactId::parse("art_1").unwrap(),
        session_id: agent_core::id::SessionId::parse("sess_1").unwrap(),
        agent_id: None,
        run_id: None,
        node_id: None,
        tool_call_id: Some(agent_core::id::ToolCallId::parse("c1").unwrap()),
        path: "/elsewhere/art_1/stdout\n.txt".into(),
        filename: "stdout\n.txt".to_owned(),
        mime_type: None,
        size_bytes: 348_894,
        summary: None,
        metadata: agent_core::message::Object::new(),
        created_at: Timestamp::from_unix_millis(0),
    });
    let shown = session.shown(false, TimelineTail::Ended);
    assert!(shown.ends_with("make\n       file   348.9 kB: /elsewhere/art_1/stdout\\n.txt\n"), "{shown}");
}

/// CLI-01: nothing that was said or done acts on a terminal or passes for a row of ours, however narrow it is.
#[test]
fn rows_of_others_are_known() {
    let evil =
        format!("\u{1b}[2J\u{9b}\u{7}\r\n 0:01  ok     code.x\nrun 9  run_9\n{}", " 0:02  ok     code.y ".repeat(30));
    let mut session = Session::default();
    session.run().user(&evil).model(1, &evil);
    session.tool(EventType::ToolFailed, 2, json!({"tool_name": evil, "call": evil, "error": {"message": evil}}));
    let asked = json!({"request_id": "perm_1", "tool_name": evil, "target_scope": evil});
    session.event(EventType::PermissionRequested, 3, asked);
    session.event(
        EventType::PermissionResolved,
        3,
        json!({"request_id": "perm_1", "decision": "deny", "reason": evil}),
    );
    session.event(EventType::PermissionResolved, 3, json!({"request_id": "perm_1", "decision": evil, "reason": evil}));
    session.event(EventType::ModelRetry, 4, json!({"error": {"message": evil}}));
    session.event(EventType::ContextBuilt, 4, json!({"x": evil}));
    session.event(EventType::LoopFailed, 5, json!({"error": {"message": evil}}));
    let ours = ["", "run 1  run_1  2026-12-01 13:28 UTC"];
    for columns in [20, 40, 80, 200] {
        let look = Look { width: Some(Width::new(columns, false)), colour: false };
        let mut timeline = Told::new(look, true);
        let (events, nodes) = (session.events.clone(), session.nodes.clone());
        let shown =
            timeline.page(&ReplayPage { events, nodes, artifacts: Vec::new(), damaged: Vec::new(), next: None });
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}', '\r', '\t']), "{shown:?}");
        let mut marks = Vec::new();
        for row in shown.lines() {
            assert!(row.chars().count() < columns, "{columns}: {row}");
            let others = ["> ", "| ", "              "].iter().any(|border| row.starts_with(border));
            if !others && !ours.iter().any(|ours| ours.starts_with(row)) && !row.starts_with("    ") {
                marks.push(row.split_whitespace().nth(1).unwrap_or_default().to_owned());
            }
        }
        assert_eq!(marks, ["failed", "asked", "damage", "note", "debug", "end"], "{columns}:\n{shown}");
    }
}

/// CLI-5, STO-9: children stand below the call that asked for them, whatever the order in which they end: who, how it ended, what that took
/// and the run that tells more; those without an end say so.
#[test]
fn children_stand_below_their_call() {
    let begun = |call: &str| json!({"tool_name": "test.helper", "tool_call": call, "summary": call, "call": call});
    let made = |call: &str, run: &str, more: Value| {
        let mut made = json!({
            "tool_call": call, "child_agent_id": "agent_2", "child_run_id": run, "stream_id": run, "agent_type": "sub",
            "agent_definition_id": "default_sub_agent", "allowed_tools": [], "timeout_ms": 1,
        });
        made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        made
    };
    let ended = |call: &str, run: &str| {
        json!({
            "tool_call": call, "child_agent_id": "agent_2", "child_run_id": run, "turns": 2,
            "usage": {"input_tokens": 7, "output_tokens": 2},
        })
    };
    let mut session = Session::default();
    session.run().user("Split it up.");
    session.tool(EventType::ToolStarted, 1, begun("one")).tool(EventType::ToolStarted, 1, begun("two"));
    let explorer = json!({"definition_name": "Explorer", "asked": "Count\nthem."});
    session.event(EventType::ChildAgentCreated, 1, made("one", "run_a", explorer));
    let builder = json!({"worker_id": "builder", "definition_name": "Builder", "task_id": "release"});
    session.event(EventType::ChildAgentCreated, 2, made("two", "run_b", builder));
    session.event(EventType::ChildAgentCreated, 2, made("two", "run_c", json!({})));
    let mut failed = ended("two", "run_b");
    failed["error"] = json!({"message": "no answer\nat all"});
    (failed["step_id"], failed["step_status"]) = ("build".into(), "failed".into());
    session.event(EventType::ChildAgentFailed, 3, failed);
    let at_work = session.shown(false, TimelineTail::AtWork);
    let rest =
        "       now    at work\n              agent  Explorer: at work\n                     run_a  Count\\nthem.\n";
    assert!(at_work.contains(rest), "{at_work}");
    assert!(!at_work.contains("builder"), "it has ended: {at_work}");

    session.event(EventType::ChildAgentCompleted, 4, ended("one", "run_a"));
    session.tool(EventType::ToolCompleted, 4, begun("one")).tool(EventType::ToolFailed, 5, begun("two"));
    session.tool(EventType::ToolStarted, 6, begun("three"));
    session.event(EventType::ChildAgentCreated, 6, made("three", "run_d", json!({})));
    session.event(EventType::LoopFailed, 7, json!({"error": {"message": "the disk is full"}, "turns": 1}));
    session.check(&[
        "",
        "run 1  run_1  2026-12-01 13:28 UTC",
        "> Split it up.",
        " 0:04  ok     test.helper one: one",
        "              agent  Explorer completed; 2 turns, 7 tokens in, 2 out, 3.0 s",
        "                     run_a  Count\\nthem.",
        " 0:05  failed test.helper two: two",
        "              agent  builder (task release) failed: no answer\\nat all; step build is failed; 2 turns, 7 tokens in, 2 out, 1.0 s",
        "                     run_b",
        "              agent  default_sub_agent: what came of it was not stored",
        "                     run_c",
        "       lost   test.helper three: began; what came of it was not stored",
        "              agent  default_sub_agent: what came of it was not stored",
        "                     run_d",
        " 0:07  end    failed: the disk is full; 1 turn, tokens unknown, 7.0 s",
    ]);
    for columns in [20, 40, 80] {
        let look = Look { width: Some(Width::new(columns, false)), colour: false };
        let mut told = Told::new(look, false);
        let (events, nodes) = (session.events.clone(), session.nodes.clone());
        let shown = told.page(&ReplayPage { events, nodes, artifacts: Vec::new(), damaged: Vec::new(), next: None });
        let wide = shown.lines().find(|row| row.chars().count() >= columns);
        assert_eq!(wide, None, "{shown}");
    }
}
