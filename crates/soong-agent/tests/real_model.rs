//! The loop against a real small model (TST-3): the effects are asserted, not the wording.
//!
//! Asked for by name through `scripts/real-model-suite`, which serves the model and says where; then it never skips.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's world is broken where these fail")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use agent_core::{ContentBlock, Node, Role, SessionId};
use agent_store::{Clock, SessionStore, SqliteStore, StoreSettings};
use agent_testkit::TestHome;

/// The server has one slot: one run at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct World {
    home: TestHome,
}

impl World {
    fn new(name: &str) -> Self {
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/real-model-suite"))
        };
        let home = TestHome::new(name);
        let model = variable("SOONG_AGENT_TEST_MODEL");
        let extra = format!(
            "model.name = \"{model}\"\nmodel.temperature = 0.0\nmodel.max_output_tokens = 1024\nruntime.max_turns = 12"
        );
        home.write_config(&variable("SOONG_AGENT_TEST_BASE_URL"), &variable("SOONG_AGENT_TEST_PROVIDER"), &extra);
        Self { home }
    }

    fn run(&self, answers: &str, arguments: &[&str]) -> Output {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("the command starts");
        child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(env!("CARGO_BIN_EXE_soong-agent"));
        command.arg("run").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.home.project.join(name)).ok()
    }

    /// The nodes on the active path of a session, as they are stored.
    fn stored(&self, session: &str) -> Vec<Node> {
        let settings = StoreSettings {
            database: self.home.home.join("sessions.sqlite"),
            sessions_dir: self.home.home.join("sessions"),
            busy_timeout: std::time::Duration::from_secs(5),
            clock: Clock::system(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(settings).await.unwrap();
            let id = SessionId::parse(session).unwrap();
            let active = store.session(&id).await.unwrap().unwrap().active_node_id.unwrap();
            let path = store.load_path(&id, &active).await.unwrap();
            store.close().await;
            path
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
