//! The world around what is measured: a scripted server in this process, and homes to run in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_testkit::{Call, Protocol, RecordedRequest, Reply, ScriptedServer, TestHome};
use bytes::Bytes;
use serde_json::json;

use crate::launch::{self, Spent};
use crate::{BenchError, clock};

/// What the user says.
const MESSAGE: &str = "Look at the files in data and tell me what is in them.";
/// The size of each file a tool turn reads, in bytes.
const FILE_BYTES: usize = 1024;

/// The protocol the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Provider {
    Ollama,
    Openai,
}

impl Provider {
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Ollama => Protocol::Ollama,
            Self::Openai => Protocol::OpenAi,
        }
    }
}

/// A model that reads one file after another, one a turn, and then says that it is done.
pub(crate) struct Stage {
    server: ScriptedServer,
    protocol: Protocol,
    tool_turns: usize,
    seen: Arc<Mutex<Seen>>,
}

/// What the server has seen of the run under way.
#[derive(Default)]
struct Seen {
    /// The process to watch, if it is to be watched.
    pid: Option<u32>,
    requests: Vec<Seeing>,
}

/// A request, as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seeing {
    /// When it had come, by [`clock::now`].
    pub(crate) at: Option<Duration>,
    /// What the watched process had spent on the CPU by then.
    pub(crate) spent: Option<Duration>,
    pub(crate) body: Bytes,
}

/// A measured process and its requests.
pub(crate) struct Run {
    pub(crate) spent: Spent,
    pub(crate) requests: Vec<Seeing>,
}

impl Stage {
    pub(crate) fn new(provider: Provider, tool_turns: usize) -> Self {
        let protocol = provider.protocol();
        // Checking and keeping requests is for tests; here the server should be as little in the way as it can.
        let server = ScriptedServer::builder().without_checks().keep_requests(0).start_blocking();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let log = Arc::clone(&seen);
        server.respond_with(move |request, _| {
            see(&log, request);
            reply(request.turn(), tool_turns)
        });
        Self { server, protocol, tool_turns, seen }
    }

    /// A fresh home with a configuration, and a project with the files that will be read.
    pub(crate) fn home(&self, name: &str, extra_toml: &str) -> TestHome {
        let home = TestHome::new(name);
        home.write_config(&self.server.base_url(self.protocol), self.protocol.provider(), extra_toml);
        for turn in 0..self.tool_turns {
            home.write(home.project.join(file(turn)), content(turn));
        }
        home
    }

    /// Runs the command to its end, measured from outside.
    pub(crate) fn agent(&self, home: &TestHome, agent: &Path) -> Result<Run, BenchError> {
        self.measured(home, agent, &Self::agent_arguments())
    }

    pub(crate) fn agent_arguments() -> [OsString; 2] {
        ["run".into(), MESSAGE.into()]
    }

    /// Runs the floor: the same requests, without an agent. Its database is its own.
    pub(crate) fn floor(&self, home: &TestHome, floor: &Path, bodies: &Bodies) -> Result<Run, BenchError> {
        self.measured(home, floor, &self.floor_arguments(home, bodies))
    }

    pub(crate) fn floor_arguments(&self, home: &TestHome, bodies: &Bodies) -> [OsString; 4] {
        let database = home.home.join("floor.sqlite");
        let address = self.server.address().to_string();
        [database.into(), address.into(), self.protocol.path().into(), bodies.0.clone().into()]
    }

    fn measured(&self, home: &TestHome, program: &Path, arguments: &[OsString]) -> Result<Run, BenchError> {
        *self.seen() = Seen::default();
        let spent = launch::measure(home, program, arguments)?;
        Ok(Run { spent, requests: self.requests(program)? })
    }

    /// Runs the command to its end and reads its clock at each request.
    pub(crate) fn watched(&self, home: &TestHome, agent: &Path) -> Result<Vec<Seeing>, BenchError> {
        *self.seen() = Seen::default();
        let mut command = home.command(agent);
        command.args(Self::agent_arguments()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().map_err(BenchError::file("start", agent))?;
        self.seen().pid = Some(child.id());
        let output = child.wait_with_output().map_err(BenchError::file("wait for", agent))?;
        if !output.status.success() {
            let (program, code) = (agent.display().to_string(), output.status.code());
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(BenchError::Failed { program, code, stderr });
        }
        self.requests(agent)
    }

    fn requests(&self, program: &Path) -> Result<Vec<Seeing>, BenchError> {
        let requests = std::mem::take(&mut self.seen().requests);
        let expected = self.tool_turns + 1;
        if requests.len() != expected {
            let program = program.display().to_string();
            return Err(BenchError::Requests { program, found: requests.len(), expected });
        }
        // A tool that fails is cheap; its figures must not pass for those of one that works.
        let last = requests.last().filter(|last| self.tool_turns == 0 || shows(last, self.tool_turns - 1));
        if last.is_none() {
            return Err(BenchError::NotRead { file: file(self.tool_turns.saturating_sub(1)) });
        }
        Ok(requests)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }
}

/// The bodies of a run's requests, one a file, for the floor to send again.
pub(crate) struct Bodies(PathBuf);

impl Bodies {
    pub(crate) fn keep(home: &TestHome, requests: &[Seeing]) -> Self {
        let folder = home.root.join("bodies");
        for (at, request) in requests.iter().enumerate() {
            home.write(folder.join(format!("{at:04}")), &request.body);
        }
        Self(folder)
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    // A list of requests is never half changed.
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn see(log: &Mutex<Seen>, request: &RecordedRequest) {
    let mut seen = lock(log);
    let spent = seen.pid.and_then(|pid| clock::spent_by(pid).ok());
    seen.requests.push(Seeing { at: clock::now().ok(), spent, body: request.raw.clone() });
}

fn reply(turn: usize, tool_turns: usize) -> Reply {
    if turn >= tool_turns {
        return Reply::text("Each file holds lines of text about its own number, and nothing else.");
    }
    Reply::text(format!("Now file {turn}.")).calls([Call::new("code.read_file", json!({ "path": file(turn) }))])
}

/// Whether the request holds what the turn's file says.
fn shows(request: &Seeing, turn: usize) -> bool {
    let line = first_line(turn);
    request.body.windows(line.len()).any(|window| window == line.as_bytes())
}

fn file(turn: usize) -> String {
    format!("data/{turn:03}.txt")
}

/// Lines like those of a log: not all the same, and without a character that JSON escapes but the line's end.
fn content(turn: usize) -> String {
    let others = (1..).map(|line| format!("file {turn:03}, line {line:03}: nothing of note was seen here"));
    let lines = std::iter::once(first_line(turn)).chain(others).map(|line| line + "\n");
    let mut text: String = lines.take(FILE_BYTES / 40).collect();
    text.truncate(FILE_BYTES - 1);
    text.push('\n');
    text
}

fn first_line(turn: usize) -> String {
    format!("file {turn:03} begins here and has a kilobyte")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a request with the file's content tells that the file was read; its name is in the call already.
    #[test]
    fn a_read_file_is_told_from_a_named_one() {
        let request = |text: String| Seeing { at: None, spent: None, body: text.into() };
        assert!(shows(&request(format!("{{\"content\":\"{}\"}}", content(7))), 7));
        assert!(!shows(&request(format!("{{\"path\":\"{}\"}}", file(7))), 7));
        assert!(!shows(&request(content(8)), 7));
    }

    #[test]
    fn files_have_their_size() {
        for turn in [0, 7, 999] {
            let text = content(turn);
            assert_eq!(text.len(), FILE_BYTES);
            assert!(text.ends_with('\n'));
        }
    }
}
