//! The loop against a real small model (TST-3): the effects are asserted, not the wording.
//!
//! Asked for by name through `scripts/real-model-suite`, which serves the model and says where; then it never skips.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's world is broken where these fail")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use agent_core::id::SessionId;
use agent_core::message::ContentBlock;
use agent_core::model::Usage;
use agent_core::session::{Node, NodeType, Role};
use agent_core::{EventType, RuntimeEvent};
use agent_store::{Clock, SessionStore, SqliteStore, StoreSettings};
use agent_testkit::TestHome;

/// The server has one slot: one run at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct World {
    home: TestHome,
}

impl World {
    fn new(name: &str) -> Self {
        // As the configuration of ./quickstart has it for this model: one that small makes agents of plain requests.
        Self::with(
            name,
            "model.max_output_tokens = 1024\n\
             tools.disabled = ['agent.create_sub_agent', 'agent.fork_agent', 'agent.list_agent_definitions']",
        )
    }

    /// A world with this in its configuration besides.
    fn with(name: &str, settings: &str) -> Self {
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/real-model-suite"))
        };
        let home = TestHome::new(name);
        let model = variable("SOONG_AGENT_TEST_MODEL");
        let extra = format!("model.name = \"{model}\"\nmodel.temperature = 0.0\nruntime.max_turns = 12\n{settings}");
        home.write_config(&variable("SOONG_AGENT_TEST_BASE_URL"), &variable("SOONG_AGENT_TEST_PROVIDER"), &extra);
        Self { home }
    }

    fn run(&self, answers: &str, arguments: &[&str]) -> Output {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("the command starts");
        child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.agent();
        command.arg("run").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn agent(&self) -> Command {
        self.home.command(env!("CARGO_BIN_EXE_soong-agent"))
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.home.project.join(name)).ok()
    }

    /// The nodes on the active path of a session, as they are stored.
    fn stored(&self, session: &str) -> Vec<Node> {
        self.in_store(session, async |store, id| {
            let active = store.session(id).await.unwrap().unwrap().active_node_id.unwrap();
            store.load_path(id, &active).await.unwrap()
        })
    }

    /// The events of a session, as they are stored.
    fn events(&self, session: &str) -> Vec<RuntimeEvent> {
        self.in_store(session, async |store, id| store.events(id, 0, 10_000).await.unwrap())
    }

    fn in_store<T>(&self, session: &str, look: impl AsyncFnOnce(&SqliteStore, &SessionId) -> T) -> T {
        let settings = StoreSettings {
            database: self.home.home.join("sessions.sqlite"),
            sessions_dir: self.home.home.join("sessions"),
            busy_timeout: std::time::Duration::from_secs(5),
            clock: Clock::system(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(settings).await.unwrap();
            let found = look(&store, &SessionId::parse(session).unwrap()).await;
            store.close().await;
            found
        })
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The session that the last line on stderr names.
fn session_of(output: &Output) -> String {
    let said = stderr(output);
    let at = said.rfind("session sess_").unwrap_or_else(|| panic!("no session in: {said}"));
    said[at + "session ".len()..].split_whitespace().next().unwrap().to_owned()
}

const TASK: &str = "Create a file named hello.txt that contains the line: hello world";

/// TST-3: a message in, a real model working on a folder, the answer out: the file exists with the right content after it
/// was allowed, the tool result is in the store, and the session goes on.
#[test]
fn a_file_is_created_and_the_session_goes_on() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let world = World::new("real_model_creates");
    let output = world.run("1\n1\n1\n1\n", &[TASK]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(world.file("hello.txt").as_deref().map(str::trim_end), Some("hello world"), "{said}");
    assert!(said.contains("allow? code."), "it asked before it wrote: {said}");
    assert!(!output.stdout.is_empty(), "there is an answer");

    let session = session_of(&output);
    let path = world.stored(&session);
    let written = path.iter().filter(|node| node.role == Role::Tool).any(|node| match &node.content[0] {
        ContentBlock::ToolResult(result) => !result.is_error,
        _ => false,
    });
    assert!(written, "the tool result is in the store: {path:#?}");
    assert_eq!(path.last().unwrap().role, Role::Assistant, "the active node is the answer");

    let again = world.run("", &["--session-id", &session, "In one sentence: what did you just do?"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(world.stored(&session).len() >= path.len() + 2);
}

/// PRM-2, CLI-3: what is denied does not happen, whatever the model says about it.
#[test]
fn a_denied_file_is_not_created() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let world = World::new("real_model_denied");
    let output = world.run(&"3\n".repeat(12), &[TASK]);
    assert!(stderr(&output).contains("denied"), "{}", stderr(&output));
    assert_eq!(world.file("hello.txt"), None);
    let files: Vec<PathBuf> = std::fs::read_dir(&world.home.project).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(files, Vec::<PathBuf>::new());
}

/// CLI-4, RUN-18: Ctrl-C while a real model answers ends the run within moments, and the session is usable afterwards.
#[test]
fn ctrl_c_and_on() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let world = World::new("real_model_cancel");
    let mut child =
        world.command(&["Count from one to five hundred in words, one a line."]).stdin(Stdio::null()).spawn().unwrap();
    // The session exists once the run is stored; the model is answering or about to.
    let sessions = world.home.home.join("sessions");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !sessions.exists() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = {
        let status = child.wait().unwrap();
        let mut said = Vec::new();
        std::io::Read::read_to_end(child.stderr.as_mut().unwrap(), &mut said).unwrap();
        Output { status, stdout: Vec::new(), stderr: said }
    };
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let again = world.run("", &["--session-id", &session_of(&output), "Say hello."]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
}

/// Most that a request and its answer may take. The prompts and the tools that are left take a quarter of it.
const WINDOW: u64 = 4096;

/// Nothing but reading, so that no model however small does more than it is asked for, and short summaries.
const SMALL_WINDOW: &str = "
    model.context_window = 4096
    model.max_output_tokens = 512
    context.dynamic_system_budget = 0
    compact.max_summary_tokens = 256
    memory.enabled = false
    tools.disabled = [
        'agent.create_sub_agent', 'agent.fork_agent', 'agent.list_agent_definitions', 'agent.plan_template', 'code.edit_file',
        'code.list_dir', 'code.run_command', 'code.search', 'code.write_file',
    ]
";

/// The user's first words. Core keeps them to the letter, whatever a summary makes of them.
const CONSTRAINT: &str = "Never write into the folder archive, whatever I say later. Say OK.";

/// What the user is told when older turns have become a summary.
const IN_SUMMARY: &str = " in summary from here on ";

/// A model that is still without a summary after so many messages has failed at four of them.
const MOST_MESSAGES: usize = 24;

/// Most tokens of a request for a summary that a server with one slot has to read: the message that asks takes less than half
/// of it. A reply just before it is read again if its text makes other tokens than those it was written in.
const MOST_READ_ANEW: u64 = 1024;

/// What happened in week `week`, so many lines of it.
fn diary(week: usize, lines: usize) -> String {
    const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    const WHO: [&str; 8] = ["Ada", "Bela", "Cleo", "Dario", "Edda", "Femi", "Gita", "Hugo"];
    const DID: [&str; 8] = [
        "repaired the pump in the cellar",
        "counted the tickets of the evening show",
        "painted the door of the workshop",
        "asked for a new lamp above the stage",
        "moved the chairs into the small hall",
        "called the school about the guided tour",
        "found a key below the carpet",
        "cleaned the windows on the north side",
    ];
    const BUT: [&str; 6] = [
        "but the rain came in through the roof",
        "and nobody answered the telephone",
        "although the lift was out of order",
        "so the work took until the evening",
        "and the guests were content",
        "but two screws are still missing",
    ];
    let line = |at: usize| {
        let (who, did, but) = (WHO[(week + at * 3) % 8], DID[(week * 5 + at) % 8], BUT[(week + at) % 6]);
        format!("{}: {who} {did}, {but}.\n", DAYS[at % 7])
    };
    (0..lines).map(line).collect()
}

/// What the user says: the constraint, then a week of the diary each time, and of every third week also to read its file.
fn message(at: usize) -> String {
    match at {
        0 => CONSTRAINT.to_owned(),
        _ if at % 3 == 1 => {
            format!("These are my notes of week {at}:\n{}Show me the content of the file week{at}.md.", diary(at, 6))
        }
        _ => format!(
            "This is what happened in week {at}:\n{}In one short sentence: what was the worst of it?",
            diary(at, 24)
        ),
    }
}

/// A conversation, and what was said on stderr meanwhile.
struct Talk {
    session: String,
    path: Vec<Node>,
    said: String,
    last_message: String,
}

/// Talks until all of it together would not fit the window, and two messages were answered with a summary in place of what
/// came before them.
fn outgrow_the_window(world: &World) -> Talk {
    for week in 1..MOST_MESSAGES {
        world.home.write(format!("project/week{week}.md"), format!("# Week {week}\n\n{}", diary(week, 14)));
    }
    let (mut session, mut said, mut with_summary) = (None::<String>, String::new(), 0);
    for at in 0..MOST_MESSAGES {
        let last_message = message(at);
        let goes_on = session.iter().flat_map(|id| ["--session-id", id]);
        let arguments: Vec<_> = goes_on.chain([last_message.as_str()]).collect();
        let output = world.run("", &arguments);
        assert_eq!(output.status.code(), Some(0), "message {at}: {}", stderr(&output));
        let session = session.insert(session_of(&output));
        with_summary += usize::from(said.contains(IN_SUMMARY));
        said.push_str(&stderr(&output));
        let path = world.stored(session);
        if with_summary >= 2 && spoken(&path) > WINDOW {
            return Talk { session: session.clone(), path, said, last_message };
        }
    }
    panic!("{MOST_MESSAGES} messages did not outgrow the window, or there was no summary of them: {said}");
}

/// CMP-1, CMP-5, CTX-4, CTX-9: a session that is longer than its window goes on. Older turns become a summary that the model
/// writes (where it fails at one, they are left out), every run completes, no request is longer than the window, and the newest
/// summary and the user's first words go to the model, these to the letter.
#[test]
fn a_session_longer_than_its_window() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let world = World::with("real_model_long", SMALL_WINDOW);
    let Talk { session, path, said, last_message } = outgrow_the_window(&world);
    let events = world.events(&session);

    let summaries: Vec<_> = path.iter().filter(|node| node.node_type == NodeType::Compaction).map(text_of).collect();
    assert_eq!(said.matches(IN_SUMMARY).count(), summaries.len(), "each is told: {said}");
    let asked = events.iter().filter(|event| event.event_type == EventType::CompactStarted).count();
    assert!(asked >= summaries.len(), "{asked} asked for: {summaries:#?}");

    let counted: Vec<_> = events.iter().filter_map(|event| Some((event, usage(event)?))).collect();
    let longest = counted.iter().filter_map(|(_, usage)| usage.input_tokens).max();
    assert!(longest.is_some_and(|tokens| tokens <= WINDOW), "the longest request took {longest:?}");
    // Not every server says what it had cached.
    if counted.iter().any(|(_, usage)| usage.cache_read_tokens.is_some_and(|tokens| tokens > 0)) {
        let is_internal = |event: &RuntimeEvent| path.iter().all(|node| Some(&node.run_id) != event.run_id.as_ref());
        for (_, usage) in counted.iter().filter(|(event, _)| is_internal(event)) {
            let read_anew = usage.input_tokens.unwrap() - usage.cache_read_tokens.unwrap_or(0);
            assert!(read_anew <= MOST_READ_ANEW, "{usage:?} of a summary");
        }
    }

    let last = events.iter().rfind(|event| event.event_type == EventType::ContextBuilt).unwrap();
    let turn = format!("{}:{}", last.run_id.as_ref().unwrap(), last.payload["turn"]);
    let request = world.agent().args(["replay", &session, "--request", &turn]).output().unwrap();
    let request = String::from_utf8(request.stdout).unwrap();
    for held in [CONSTRAINT, first_line(summaries.last().unwrap()), first_line(&last_message)] {
        assert!(request.contains(held), "{held:?} is not in the request: {request}");
    }
    assert!(!request.contains(&diary(2, 24).replace('\n', "\\n")), "week 2 is in the summary only: {request}");
}

/// Tokens of a conversation, without what stands for parts of it.
fn spoken(path: &[Node]) -> u64 {
    path.iter().filter(|node| node.node_type != NodeType::Compaction).map(|node| node.token_count).sum()
}

fn text_of(node: &Node) -> String {
    node.content.iter().filter_map(ContentBlock::as_text).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What the server counted of a request, those for summaries included.
fn usage(event: &RuntimeEvent) -> Option<Usage> {
    let usage = event.payload.get("usage").filter(|_| event.event_type == EventType::ModelCompleted)?;
    Some(serde_json::from_value(usage.clone()).unwrap())
}
