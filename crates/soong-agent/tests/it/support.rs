//! What the tests share: a world with a home, a project and a scripted server.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use agent_core::RuntimeEvent;
use agent_core::id::SessionId;
use agent_store::{Clock, SessionStore, SqliteStore, StoreSettings};
use agent_testkit::{Call, Protocol, Reply, ScriptedServer, TestHome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::process::{Ended, Running};
use crate::watched::wait_until;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_soong-agent");

/// Tests of failures shall not wait as patiently as users do, and tests that count requests shall have none besides.
const HASTE: &str = "model.retry.initial_backoff_ms = 1\nmodel.retry.max_backoff_ms = 2\nmemory.enabled = false\n";

/// A home, a project and a server.
pub(crate) struct World {
    pub(crate) home: TestHome,
    pub(crate) server: ScriptedServer,
    pub(crate) protocol: Protocol,
}

impl World {
    pub(crate) fn new(name: &str) -> Self {
        Self::speaking(Protocol::OpenAi, name)
    }

    pub(crate) fn speaking(protocol: Protocol, name: &str) -> Self {
        Self::on(ScriptedServer::start_blocking(), protocol, name)
    }

    pub(crate) fn on(server: ScriptedServer, protocol: Protocol, name: &str) -> Self {
        let world = Self { home: TestHome::new(name), server, protocol };
        world.configure("");
        world
    }

    /// One world for every protocol.
    pub(crate) fn each(name: &str) -> impl Iterator<Item = Self> {
        Protocol::ALL.iter().map(move |&protocol| Self::speaking(protocol, name))
    }

    /// Writes the configuration; `extra` is laid over it key by key.
    pub(crate) fn configure(&self, extra: &str) {
        self.configure_at(&self.server.base_url(self.protocol), extra);
    }

    pub(crate) fn configure_at(&self, base_url: &str, extra: &str) {
        self.home.write_config(base_url, self.protocol.provider(), &format!("{HASTE}{extra}"));
    }

    /// The command, in the project, with nothing on stdin.
    pub(crate) fn agent<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.home.command(BIN);
        command.args(arguments);
        command
    }

    /// The command without any of root's powers, if the tests run as root, so that file modes count.
    pub(crate) fn powerless<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        if !rustix::process::geteuid().is_root() {
            return self.agent(arguments);
        }
        let mut command = self.home.command("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", BIN]).args(arguments);
        command
    }

    /// The command in a session of its own, without a controlling terminal, whatever terminal the tests run on.
    pub(crate) fn detached<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.home.command("setsid");
        command.arg(BIN).args(arguments);
        command
    }

    /// Runs to the end, with nothing on stdin.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Running::start(self.agent(arguments)).ends()
    }

    /// `run MESSAGE` to the end, with these answers on stdin.
    #[track_caller]
    pub(crate) fn run_answered(&self, message: &str, answers: &str) -> Ended {
        self.fed(self.agent(["run", message]), answers.as_bytes())
    }

    /// Runs to the end with this on stdin, and then its end.
    #[track_caller]
    pub(crate) fn fed(&self, command: Command, input: &[u8]) -> Ended {
        let mut running = Running::asked(command);
        running.types(input);
        running.no_more();
        running.ends()
    }

    /// Waits until the model has begun its reply to request `at`, the last of the script.
    #[track_caller]
    pub(crate) fn is_answering(&self, at: usize) {
        self.server.wait_for_request_blocking(at);
        wait_until("the script is used up", || self.server.unused_replies() == 0);
    }

    /// The session takes another message: what is left of it is valid for the server, which checks every request.
    #[track_caller]
    pub(crate) fn goes_on(&self, session: &str) {
        let before = self.server.request_count();
        assert_eq!(self.server.unused_replies(), 0, "the script is used up");
        self.server.push(Reply::text("Still here."));
        self.run(&["run", "--session-id", session, "Are you there?"]).exits(0).answers("Still here.");
        assert_eq!(self.server.request_count(), before + 1);
    }

    /// Processes that work for this world: its root is their `HOME`, and nobody else's.
    pub(crate) fn at_work(&self) -> Vec<Pid> {
        let mark = format!("HOME={}\0", self.home.root.display());
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ours = processes.filter(|it| fs::read(it.path().join("environ")).is_ok_and(|all| holds(&all, &mark)));
        ours.filter_map(|it| Pid::from_raw(it.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// A file of the project.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.home.project.join(path)).ok()
    }

    /// What lies in home besides the configuration.
    pub(crate) fn left_in_home(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.home.home).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "config.toml");
        names.sort();
        names
    }

    /// Sessions that have a folder.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.home.join("sessions")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// The stored events of a session.
    pub(crate) fn events(&self, session: &str) -> Vec<RuntimeEvent> {
        let id = SessionId::parse(session).unwrap();
        self.in_store(async |store| store.events(&id, 0, 10_000).await.expect("the record is whole"))
    }

    /// Works with the record itself.
    pub(crate) fn in_store<T>(&self, work: impl AsyncFnOnce(&SqliteStore) -> T) -> T {
        let settings = StoreSettings {
            database: self.home.home.join("sessions.sqlite"),
            sessions_dir: self.home.home.join("sessions"),
            busy_timeout: Duration::from_secs(10),
            clock: Clock::system(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(settings).await.expect("the record opens");
            let done = work(&store).await;
            store.close().await;
            done
        })
    }

    /// A session in which a message was answered.
    pub(crate) fn session(&self, message: &str, answer: &str) -> String {
        self.server.push(Reply::text(answer));
        self.run(&["run", message]).exits(0).session()
    }

    /// Their types.
    pub(crate) fn event_types(&self, session: &str) -> Vec<&'static str> {
        self.events(session).iter().map(|event| event.event_type.as_str()).collect()
    }

    /// The results that the model was given with a request.
    pub(crate) fn results(&self, request: usize) -> String {
        let request = &self.server.requests()[request];
        let results = request.messages().iter().filter(|message| message["role"] == "tool");
        results.map(Value::to_string).collect()
    }
}

/// A test that fails leaves nothing at work either.
impl Drop for World {
    fn drop(&mut self) {
        for pid in self.at_work() {
            // Those that end by themselves meanwhile are as welcome.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Every byte of every file below a folder.
pub(crate) fn bytes_below(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            bytes.extend(bytes_below(&entry.path()));
        } else {
            bytes.extend(fs::read(entry.path()).unwrap());
        }
    }
    bytes
}

pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

/// A turn of one call.
pub(crate) fn calls(call: Call) -> Reply {
    Reply::empty().calls([call])
}

pub(crate) fn write(path: &str, content: &str) -> Call {
    Call::new("code.write_file", json!({"path": path, "content": content}))
}

pub(crate) fn read(path: &str) -> Call {
    Call::new("code.read_file", json!({"path": path}))
}

pub(crate) fn command(argv: &[&str]) -> Call {
    Call::new("code.run_command", json!({"argv": argv}))
}

pub(crate) fn sh(script: &str) -> Call {
    command(&["sh", "-c", script])
}
