//! `soong-agent replay --context` (CTX-1, CTX-9), and how replay tells of summaries.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::ChildStdout;

use agent_protocol::{
    AgentId, AgentType, CompactFailed, EndReason, ErrorCode, ErrorPayload, EventDraft, EventType, LoopCompleted,
    LoopStarted, ModelCompleted, Object, RunEnd, RunId, RunPatch, RunStatus, SessionId, Usage,
};
use agent_store::{Commit, NewRun, NewSession, SessionStore, Write};
use agent_testkit::{Call, RecordedRequest, Reply};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::process::Running;
use crate::replay::memory;
use crate::support::World;
use crate::terminal::Terminal;

const SUMMARY: &str =
    "## Goal\n- read data.txt\n\n## Progress\n- Done: some of it\n- Open: the rest\n\n## Next Steps\n- read on";

fn asks_for_a_summary(request: &RecordedRequest) -> bool {
    request.messages().last().is_some_and(|message| message.to_string().contains("# Write the summary now"))
}

/// A model that reads so often in each run, summarises when it is told to, and counts as most do.
fn reader(request: &RecordedRequest, reads: usize) -> Reply {
    let counted = request.body.to_string().len() as u64 / 4;
    if asks_for_a_summary(request) {
        return Reply::text(SUMMARY).usage(counted, 40);
    }
    let own = |message: &Value| {
        message["role"] == "user" && ["compaction", "left out"].iter().all(|word| !message.to_string().contains(word))
    };
    let messages = request.messages();
    let last = messages.iter().rposition(own).unwrap_or(0);
    let read = messages[last..].iter().filter(|message| message["role"] == "tool").count();
    if read >= reads {
        return Reply::text("Read.").usage(counted, 5);
    }
    let call = json!({"path": "data.txt", "start_line": 1 + request.turn() % 50, "max_lines": 100});
    Reply::empty().calls([Call::new("code.read_file", call)]).usage(counted, 20)
}

/// A world whose window of 8192 tokens is soon full, and a session of two runs in which that has happened.
fn full_window(name: &str, extra: &str) -> (World, String) {
    let world = World::new(name);
    world.configure(extra);
    world.home.write("project/data.txt", "line of text\n".repeat(150));
    world.server.respond_with(|request, answered| {
        let done = answered >= 16;
        reader(request, if done { 0 } else { 100 })
    });
    let session = world.run(&["run", "Read a lot."]).exits(0).session();
    world.run(&["run", "--session-id", &session, "And now?"]).exits(0);
    (world, session)
}

/// Rows of requests: the words that stand in them.
fn requests(shown: &str) -> Vec<Vec<&str>> {
    let rows = shown.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let is_one = |words: &Vec<&str>| words.len() > 8 && words[0].contains(':') && words[words.len() - 1].ends_with('%');
    rows.filter(is_one).collect()
}

/// CTX-1, CTX-7, CTX-9, CMP-5: a run whose window fills is told request by request, as it was stored and as the server was
/// asked: what went in, what was left out, which summary stands for it, what was counted.
#[test]
fn a_window_that_fills() {
    let (world, session) = full_window("context_full", "");
    let ended = world.run(&["replay", &session, "--context"]).exits(0);
    assert_eq!(ended.stderr, "");
    let shown = ended.stdout;
    for words in [
        &format!("session {session}\nproject ~/project\n"),
        "\nin, out   messages that went in",
        "\nrun 1  run_",
        "\nrun 2  run_",
        "  epoch    1: the run begins; model scripted\n       window   8192: system and tools ",
        "  system.core ",
        "  summary  ",
        " tokens became ",
        "; in need, ",
        "  epoch    2: earlier turns became a summary; model scripted\n",
        ", as before\n",
        "       covered  ",
        " turns by the summary in node_",
        "  end      completed; ",
        "       estimate ",
    ] {
        assert!(shown.contains(words), "{words:?} is missing in:\n{shown}");
    }
    assert!(!shown.contains("run 3") && !shown.contains("no sum"), "what summarises is no run of its own:\n{shown}");
    let events = world.events(&session);
    let stored: Vec<_> = events.iter().filter(|event| event.event_type == EventType::ContextBuilt).collect();
    let root = stored[0].agent_id.clone();
    let counted = events.iter().filter(|it| it.event_type == EventType::ModelCompleted && it.agent_id == root);
    let rows = requests(&shown);
    let asked = world.server.requests().iter().filter(|request| !asks_for_a_summary(request)).count();
    assert_eq!((rows.len(), stored.len()), (asked, asked), "{shown}");
    let covered = stored.iter().filter(|event| event.payload.contains_key("compaction_node_id")).count();
    assert!(covered > 3 && covered < asked, "{covered} of {asked} requests have a summary");
    for ((row, report), reply) in rows.iter().zip(&stored).zip(counted) {
        let number = |key: &str| match report.payload.get(key).map_or(0, |value| value.as_u64().unwrap()) {
            0 => "-".to_owned(),
            number => number.to_string(),
        };
        let counted = reply.payload["usage"]["input_tokens"].to_string();
        let turn = number("turn");
        let expected = [&turn, &number("nodes_in"), &number("nodes_out"), "-", &number("turns_summarised")];
        assert_eq!(row[1..6], expected, "{shown}");
        assert_eq!(row[7..9], [number("request_tokens"), counted], "{shown}");
    }
    assert!(shown.lines().all(|row| row.chars().count() <= 100), "{shown}");

    let second = world.run(&["replay", &session, "--context", "--run", "2"]).exits(0).stdout;
    let run = events.iter().rfind(|it| it.event_type == EventType::ContextBuilt).unwrap().run_id.clone().unwrap();
    assert!(second.contains(&format!("\nrun {run}  20")), "{second}");
    assert_eq!(requests(&second).len(), stored.iter().filter(|it| it.run_id.as_ref() == Some(&run)).count());
    assert_eq!(world.run(&["replay", "last", "--context"]).exits(0).stdout, shown);
}

/// FND-49, CMP-5: the command leaves right after its run. So with the default configuration it asks for summaries in need only,
/// where a program that lives on asks for them as runs end.
#[test]
fn summaries_in_need_only() {
    let world = World::new("context_in_need");
    world.home.write("project/data.txt", "line of text\n".repeat(150));
    world.server.respond_with(|request, _| reader(request, 2));
    let session = world.run(&["run", "Read."]).exits(0).session();
    let started = || {
        let events = world.events(&session).into_iter();
        events.filter(|event| event.event_type == EventType::CompactStarted).collect::<Vec<_>>()
    };
    for _ in 0..12 {
        world.run(&["run", "--session-id", &session, "Read on."]).exits(0);
        if started().len() > 1 {
            break;
        }
    }
    let modes: Vec<_> = started().iter().map(|event| event.payload["mode"].clone()).collect();
    assert!(modes.len() > 1 && modes.iter().all(|mode| mode == "recovery"), "{modes:?}");
}

/// CTX-9, CMP-8: without summaries the window slides, and that is told with its marker.
#[test]
fn a_window_that_slides() {
    let (world, session) = full_window("context_slides", "compact.enabled = false");
    let shown = world.run(&["replay", &session, "--context"]).exits(0).stdout;
    for words in [
        "  slide    the window is full: ",
        ": the window was full, so the oldest turns were left out; model scripted\n",
        " turns: the window slid past them\n       marker   the model reads: [",
        "       pinned   node_",
        " (the run's message)",
    ] {
        assert!(shown.contains(words), "{words:?} is missing in:\n{shown}");
    }
    assert!(!shown.contains("summary  "), "{shown}");
    assert!(shown.lines().all(|row| row.chars().count() <= 100), "{shown}");
}

/// CLI-5, CMP-4: what summarises is no run of the conversation: it has no number and no row of its own in a timeline, which
/// says once that there is a summary; with --debug it is there with all its events, and by its id it can be looked at.
#[test]
fn internal_runs() {
    let (world, session) = full_window("context_internal", "");
    let events = world.events(&session);
    let begun: Vec<_> = events.iter().filter(|event| event.event_type == EventType::LoopStarted).collect();
    let internal: Vec<_> = begun.iter().filter(|event| event.payload.contains_key("purpose")).collect();
    assert!(!internal.is_empty() && begun.len() == internal.len() + 2, "{begun:?}");
    let inner = internal[0].run_id.clone().unwrap().to_string();
    let summaries = events.iter().filter(|event| event.event_type == EventType::CompactCompleted).count();

    let plain = world.run(&["replay", &session]).exits(0).stdout;
    assert!(plain.contains("\nrun 2  ") && !plain.contains("\nrun 3  "), "{plain}");
    assert!(!plain.contains(&inner) && !plain.contains("child"), "{plain}");
    assert_eq!(plain.matches(" in summary from here on ").count(), summaries, "{plain}");
    let second = world.run(&["replay", &session, "--run", "2"]).exits(0).stdout;
    assert!(second.contains("> And now?\n"), "{second}");
    world.run(&["replay", &session, "--run", "3"]).exits(2).says(&["2 runs"]);

    let debug = world.run(&["replay", &session, "--debug"]).exits(0).stdout;
    let of_it: Vec<_> = debug.lines().filter(|row| row.contains("  other  ") && row.contains(&inner)).collect();
    let stored = events.iter().filter(|event| event.run_id.as_ref().is_some_and(|run| run.as_str() == inner));
    assert_eq!(of_it.len(), stored.count(), "{debug}");
    assert!(debug.contains("\nrun 2  ") && !debug.contains("\nrun 3  "), "{debug}");
    assert!(debug.contains("\nchild   agent_") && debug.contains(" (fork): completed"), "{debug}");
    let alone = world.run(&["replay", &session, "--run", &inner]).exits(0).stdout;
    assert!(alone.contains("  (summarises earlier turns)\n") && alone.contains("  end    completed"), "{alone}");
    assert!(world.run(&["replay", &session, "--run", &inner, "--context"]).exits(0).stdout.contains("(summarises"));
}

/// A run that stored these events in between.
fn writes(run_id: &RunId, agent_id: &AgentId, events: Vec<EventDraft>) -> Vec<Write> {
    let mut writes = vec![Write::Run(NewRun {
        run_id: run_id.clone(),
        agent_id: agent_id.clone(),
        status: RunStatus::Running,
        start_node_id: None,
        metadata: Object::new(),
    })];
    let (first, last) = (EventDraft::of(LoopStarted::default()), EventDraft::of(LoopCompleted(RunEnd::default())));
    writes.extend([first].into_iter().chain(events).chain([last]).map(Write::Event));
    writes.push(Write::RunPatch(RunPatch {
        status: RunStatus::Completed,
        end_reason: Some(EndReason::Completed),
        end_node_id: None,
        turn_count: 1,
        usage: Usage::default(),
        error: None,
    }));
    writes
}

/// A session of such runs.
fn stored(world: &World, runs: impl IntoIterator<Item = Vec<EventDraft>>) -> String {
    let (session_id, agent_id) = (SessionId::parse("sess_made").unwrap(), AgentId::parse("agent_made").unwrap());
    let new = NewSession {
        session_id: session_id.clone(),
        cwd: world.home.project.canonicalize().unwrap().to_string_lossy().into_owned(),
        root_agent_id: agent_id.clone(),
        agent_type: AgentType::Main,
        metadata: Object::new(),
    };
    world.in_store(async |store| {
        let lease = store.create_session(new).await.unwrap();
        for (number, events) in (1..).zip(runs) {
            let run_id = RunId::parse(&format!("run_{number}")).unwrap();
            let writes = writes(&run_id, &agent_id, events);
            store.commit(&lease, Commit { agent_id: agent_id.clone(), run_id, writes }).await.unwrap();
        }
    });
    session_id.to_string()
}

/// A report that says this besides what every build has said.
fn built(more: Value) -> EventDraft {
    let mut report = json!({
        "turn": 1, "request": 1, "epoch": 1, "first_kept_node_id": null, "last_node_id": null, "nodes_in": 1, "nodes_out": 0,
        "turns_out": 0, "results_shortened": 0, "message_tokens": 50, "request_tokens": 101, "calibration": 1.0,
    });
    let Value::Object(more) = more else { panic!("{more}") };
    let report = report.as_object_mut().unwrap();
    report.extend(more);
    EventDraft::raw(EventType::ContextBuilt, report.clone())
}

/// As the first builds told them.
fn budgets(window: u64) -> Value {
    json!({"window": window, "fixed": 0, "output": 0, "dynamic": 0, "messages": window, "compact_at": window})
}

/// STO-10: what looks like a secret is shown only where that is asked for.
#[test]
fn secrets() {
    let world = World::new("context_secrets");
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    let blocks = json!([{"block_id": "instructions", "source": format!("/p/{token}/AGENTS.md"), "tokens": 5}]);
    let part = json!({
        "epoch_because": "run_start", "fixed_part": {"system_blocks": blocks}, "marker": token, "budgets": budgets(1000),
    });
    let error = ErrorPayload::new(ErrorCode::ProviderError, format!("no: {token}"));
    let failed = EventDraft::of(CompactFailed { mode: None, error });
    let session = stored(&world, [vec![built(json!({"epoch_part": part})), failed]]);
    let hidden = world.run(&["replay", &session, "--context"]).exits(0).stdout;
    assert!(hidden.contains("AGENTS.md") && !hidden.contains("aB3dE9xY"), "{hidden}");
    let shown = world.run(&["replay", &session, "--context", "--include-sensitive"]).exits(0).stdout;
    assert_eq!(shown.matches(&token).count(), 3, "{shown}");
}

/// CTX-1, RUN-21: a database that cannot be written is looked at all the same, and so are reports that say less.
#[test]
fn a_database_that_cannot_be_written() {
    let world = World::new("context_read_only");
    let older = json!({"epoch_because": "run_start", "fixed_part": {}, "budgets": budgets(4096)});
    let damaged = EventDraft::raw(EventType::ContextBuilt, Object::new());
    let session = stored(&world, [vec![built(older), damaged]]);
    let mode = |folder, file| {
        for name in world.left_in_home() {
            let mode = if name == "sessions" { folder } else { file };
            fs::set_permissions(world.home.home.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&world.home.home, fs::Permissions::from_mode(folder)).unwrap();
    };
    mode(0o500, 0o400);
    let ended = Running::start(world.powerless(["replay", &session, "--context"])).ends();
    mode(0o700, 0o600);
    let shown = ended.exits(0).stdout;
    assert!(shown.contains("  epoch    1: the run begins\n       window   4096: "), "{shown}");
    assert!(shown.contains("  damage   event evt_") && shown.contains("missing field `turn`"), "{shown}");
    assert!(shown.contains("  end      completed"), "{shown}");
    world.run(&["replay", &session, "--context", "--turn", "1"]).exits(2).says(&["--context"]);
}

/// Runs of the session that is long.
const RUNS: usize = 100;
/// Requests of each.
const REQUESTS: usize = 100;

/// Such a run, with reports of 1.5 kB each.
fn long_run() -> Vec<EventDraft> {
    let tail = json!([{"role": "user", "content": [{"type": "text", "text": "state ".repeat(250)}]}]);
    let request = |turn: usize| {
        let usage = Usage { input_tokens: Some(100), ..Usage::default() };
        let mut report = json!({"turn": turn, "request": turn, "nodes_in": turn, "tail": tail});
        match turn {
            1 => {
                report["epoch_part"] =
                    json!({"epoch_because": "run_start", "fixed_part": {}, "budgets": budgets(1000)});
            }
            _ => report["epoch_part_of_request"] = json!(1),
        }
        [
            built(report),
            EventDraft::of(ModelCompleted { stop: None, stop_raw: None, usage, prompt_tokens_expected: None }),
        ]
    };
    (1..=REQUESTS).flat_map(request).collect()
}

/// STO-9, CLI-4: a long session is told while it is read, and is never in memory as a whole; a reader may leave.
#[test]
fn a_long_session() {
    let world = World::new("context_long");
    let session = stored(&world, (0..RUNS).map(|_| long_run()));
    let (running, stdout) = Running::read_by_hand(world.agent(["replay", &session, "--context"]));
    let mut reader = BufReader::new(stdout);
    let read_up_to = |reader: &mut BufReader<ChildStdout>, start: &str| {
        let mut line = String::new();
        while !line.starts_with(start) {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "{start} never came");
        }
    };
    // It waits for us to read on, before the end of the session.
    read_up_to(&mut reader, "session sess_made");
    let early = memory(&running);
    read_up_to(&mut reader, "run 80 ");
    let late = memory(&running);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\nrun 100 ") && rest.trim_end().ends_with("end      completed"), "the end is there");
    assert_eq!(requests(&rest).len(), 21 * REQUESTS);
    running.ends().exits(0);
    assert!(late < 48_000 && late < early + 16_000, "{early} kB, then {late} kB");

    let (running, stdout) = Running::read_by_hand(world.agent(["replay", &session, "--context"]));
    BufReader::new(stdout).read_line(&mut rest).unwrap();
    assert_eq!(running.ends().exits(0).stderr, "");
}

/// CLI-01, CLI-2: no row is wider than the terminal; colours are for terminals only.
#[test]
fn on_a_terminal() {
    let (world, session) = full_window("context_terminal", "");
    for columns in [60, 110] {
        let mut command = world.on_terminal(["replay", &session, "--context"]);
        command.env("NO_COLOR", "1");
        let (code, screen) = Terminal::start_of(columns, command).ends();
        assert_eq!(code, 0, "{screen}");
        let rows = screen.split_terminator("\r\n");
        assert!(rows.clone().all(|row| row.width() < usize::from(columns)), "{columns}: {screen}");
        assert!(rows.clone().all(|row| !row.chars().any(char::is_control)), "{screen}");
    }
    let (_, colourful) = Terminal::start_of(110, world.on_terminal(["replay", &session, "--context"])).ends();
    assert!(colourful.contains("\u{1b}[32msummary\u{1b}[0m"), "{colourful}");
}
