//! The world around what is measured: a scripted server in this process, and homes to run in.

use std::ffi::OsStr;
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
        self.measured(home, agent, &["run".as_ref(), MESSAGE.as_ref()])
    }

    /// Runs the floor: the same requests, without an agent. Its database is its own.
    pub(crate) fn floor(&self, home: &TestHome, floor: &Path, bodies: &Bodies) -> Result<Run, BenchError> {
        let database = home.home.join("floor.sqlite");
        let address = self.server.address().to_string();
        let path = self.protocol.path();
        let arguments = [database.as_ref(), address.as_ref(), path.as_ref(), bodies.0.as_ref()];
        self.measured(home, floor, &arguments)
    }

    fn measured(&self, home: &TestHome, program: &Path, arguments: &[&OsStr]) -> Result<Run, BenchError> {
        *self.seen() = Seen::default();
        let spent = launch::measure(home, program, arguments)?;
        Ok(Run { spent, requests: self.requests(program)? })
    }

    /// Runs the command to its end and reads its clock at each request.
    pub(crate) fn watched(&self, home: &TestHome, agent: &Path) -> Result<Vec<Seeing>, BenchError> {
        *self.seen() = Seen::default();
        let mut command = home.command(agent);
        command.args(["run", MESSAGE]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(BenchError::file("start", agent))?;
        self.seen().pid = Some(child.id());
        let status = child.wait().map_err(BenchError::file("wait for", agent))?;
        if !status.success() {
            let program = agent.display().to_string();
            return Err(BenchError::Failed { program, code: status.code(), stderr: String::new() });
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

fn file(turn: usize) -> String {
    format!("data/{turn:03}.txt")
}

/// Lines like those of a log: not all the same, and without a character that JSON escapes but the line's end.
fn content(turn: usize) -> String {
    let lines = (0..).map(|line| format!("file {turn:03}, line {line:03}: nothing of note was seen here\n"));
    let mut text: String = lines.take(FILE_BYTES / 40).collect();
    text.truncate(FILE_BYTES - 1);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_size() {
        for turn in [0, 7, 999] {
            let text = content(turn);
            assert_eq!(text.len(), FILE_BYTES);
            assert!(text.ends_with('\n'));
        }
    }
}
