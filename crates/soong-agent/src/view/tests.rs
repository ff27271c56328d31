use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::*;

#[path = "../../tests/it/screen.rs"]
mod screen;

use agent_core::event::{Level, Timestamp};
use agent_core::id::{EventId, RunId};
use serde_json::{Value, json};

use crate::output::Style;
use screen::Screen;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// FND-72: that nothing follows the beginning of an answer is said after ten seconds, once, and again only where more came meanwhile;
/// never before the answer begins, or behind its end.
#[test]
fn silence_in_an_answer_is_said() {
    for on_terminal in [true, false] {
        let said = Sink::default();
        let mut output = Output::to(io::sink(), said.clone(), on_terminal);
        let mut view = View::new(&mut output);
        let times =
            || String::from_utf8(said.0.lock().unwrap().clone()).unwrap().matches("sent nothing to show").count();
        let long_ago = || Instant::now().checked_sub(SILENT);
        view.say_if_silent();
        assert_eq!(times(), 0, "no answer has begun");
        view.delta("I think");
        view.say_if_silent();
        assert_eq!(times(), 0, "it has just come");
        view.said_at = long_ago();
        view.say_if_silent();
        view.say_if_silent();
        assert_eq!(times(), 1);
        view.delta(" that");
        view.said_at = long_ago();
        view.say_if_silent();
        assert_eq!(times(), 2);
        view.delta(".");
        view.said_at = long_ago();
        let tool_calls = Some(0);
        view.message_completed(&MessageCompleted { tool_calls, ..MessageCompleted::default() }, None);
        view.say_if_silent();
        assert_eq!(times(), 2, "it has ended");
    }
}

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

fn begins(run: &str, name: &str) -> RuntimeEvent {
    let created = json!({
        "child_agent_id": "agent_2", "child_run_id": run, "stream_id": run, "agent_type": "sub",
        "agent_definition_id": "default_sub_agent", "allowed_tools": [], "timeout_ms": 1, "definition_name": name,
        "asked": "Count them.",
    });
    event(EventType::ChildAgentCreated, "run_root", created)
}

fn completes(run: &str) -> RuntimeEvent {
    let ended = json!({"child_agent_id": "agent_2", "child_run_id": run, "turns": 2, "usage": {}});
    event(EventType::ChildAgentCompleted, "run_root", ended)
}

fn works(run: &str, on: &str) -> RuntimeEvent {
    event(EventType::ToolStarted, run, json!({"tool_name": "code.search", "summary": on}))
}

/// CLI-2: where nothing can be drawn over, a child has a plain line as it begins and one as it ends.
#[test]
fn children_in_plain_lines() {
    let said = Sink::default();
    let mut output = Output::to(io::sink(), said.clone(), false);
    let mut view = View::new(&mut output);
    view.event(&begins("run_1", "Explorer"));
    view.child_event(&works("run_1", "'needle'"));
    view.children.rewind(Duration::from_secs(3));
    view.tick();
    view.event(&completes("run_1"));
    let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], "agent  Explorer begins: Count them.");
    assert!(lines[1].starts_with("agent  Explorer completed; 2 turns, tokens unknown, 3.0"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

/// CLI-2: on a terminal each child has a line that is drawn over, and one that stays when it has ended; what is said meanwhile stands
/// alone, and nothing is written where nothing changed.
#[test]
fn children_in_live_lines() {
    let said = Sink::default();
    let mut output = Output::to(io::sink(), said.clone(), false);
    output.style = Style { colour: false, live: true };
    let mut view = View::new(&mut output);
    let screen = || {
        let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
        let screen = Screen::of(&text.replace('\n', "\r\n"), 80);
        assert!(screen.rows().iter().all(|row| !row.full), "{}", screen.text());
        screen.text().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    view.event(&begins("run_1", "Explorer"));
    view.tick();
    assert_eq!(screen(), [""], "one that ends at once would only flicker");
    view.event(&begins("run_2", "探索"));
    view.child_event(&works("run_1", "'needle'"));
    view.children.rewind(Duration::from_secs(3));
    view.tick();
    let two = ["2 agents at work 3 s", "  Explorer: code.search 'needle' 3 s", "  探 索 : begins 3 s"];
    let plain = |rows: Vec<String>| rows.iter().map(|row| row.replace(' ', "")).collect::<Vec<_>>();
    assert_eq!(plain(screen()), plain(two.map(str::to_owned).to_vec()));
    let written = said.0.lock().unwrap().len();
    view.tick();
    view.child_event(&works("run_1", "'needle'"));
    view.tick();
    assert_eq!(said.0.lock().unwrap().len(), written, "nothing has changed");

    view.note("something else");
    assert_eq!(screen(), ["note   something else", ""]);
    view.tick();
    assert_eq!(plain(screen())[1..], plain(two.map(str::to_owned).to_vec()));
    view.event(&completes("run_1"));
    view.tick();
    view.event(&completes("run_2"));
    view.tick();
    let rows = screen();
    assert!(rows[1].starts_with("agent  Explorer completed; 2 turns, tokens unknown, 3."), "{rows:?}");
    assert!(rows[2].starts_with("agent  探") && rows[2].contains("completed; 2 turns"), "{rows:?}");
    assert_eq!((rows.len(), rows[3].as_str()), (4, ""), "{rows:?}");
}
