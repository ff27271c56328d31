//! A home, a project and a scripted model server.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use agent_store::{Clock, SqliteStore, StoreSettings};
use agent_testkit::{Protocol, ScriptedServer, TestHome};
use rustix::process::{Pid, Signal, kill_process};

use crate::model;
use crate::mounts::Around;
use crate::process::{Ended, Running, wait_until};

/// The command: the built one, or another build of it that is to be tried. Under a second name, since a build beside
/// these tests takes the first one away.
pub(crate) fn binary() -> OsString {
    static KEPT: OnceLock<OsString> = OnceLock::new();
    let kept = KEPT.get_or_init(|| {
        let given = env::var_os("SOONG_AGENT_FAULT_BINARY");
        let built = given.unwrap_or_else(|| env!("CARGO_BIN_EXE_soong-agent").into());
        // On another file system there is no second name; then the first has to do.
        second_name(Path::new(&built)).map_or(built, Into::into)
    });
    kept.clone()
}

/// A name in cargo's folder for the tests' own files, one for each build; those of older builds go.
fn second_name(built: &Path) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
    fs::create_dir_all(&folder)?;
    let build = fs::metadata(built)?;
    let second = folder.join(format!("soong-agent-{:020}-{}", build.mtime(), build.ino()));
    match fs::hard_link(built, &second) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let mut builds: Vec<_> = fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    builds.sort();
    // The one before may be at work in another process.
    for old in builds.iter().rev().skip(2).filter(|old| **old != second) {
        // Another process may be at the same.
        let _ = fs::remove_file(old);
    }
    Ok(second)
}

/// More than any test asks for.
const KEPT_REQUESTS: usize = 100_000;
/// Retries shall not wait as patiently as users do, and every request shall show the whole history.
const BASICS: &str = "model.retry.initial_backoff_ms = 1\nmodel.retry.max_backoff_ms = 2\nmodel.context_window = 131072\nmemory.enabled = false\n";
/// Yes to every question of a run.
pub(crate) const YES: &str = "1\n1\n1\n1\n1\n1\n1\n1\n";

pub(crate) struct World {
    pub(crate) home: TestHome,
    pub(crate) server: ScriptedServer,
    pub(crate) protocol: Protocol,
    pub(crate) runtime: tokio::runtime::Runtime,
    /// What the command is put into.
    pub(crate) around: Around,
}

impl World {
    /// With a model that works ([`model`]).
    pub(crate) fn new(name: &str, protocol: Protocol) -> Self {
        let server = ScriptedServer::builder().keep_requests(KEPT_REQUESTS).start_blocking();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let world = Self { home: TestHome::new(name), server, protocol, runtime, around: Around::Nothing };
        world.configure("");
        world.home.write("project/a.txt", "line\n".repeat(500));
        model::works(&world.server);
        world
    }

    /// Writes the configuration; `extra` is laid over it key by key.
    pub(crate) fn configure(&self, extra: &str) {
        let (url, provider) = (self.server.base_url(self.protocol), self.protocol.provider());
        self.home.write_config(&url, provider, &format!("{BASICS}{extra}"));
    }

    /// `run`, in a session or a new one.
    pub(crate) fn agent(&self, session: Option<&str>, message: &str) -> Command {
        let mut command = self.around.command(&self.home);
        command.args(arguments(session, message));
        command
    }

    /// A command that only looks at what is stored, to its end.
    #[track_caller]
    pub(crate) fn looks(&self, arguments: &[&str]) -> Ended {
        let mut command = self.around.command(&self.home);
        command.args(arguments);
        Running::start(command, "").ends()
    }

    /// `run` at work, with yes to every question.
    pub(crate) fn start(&self, session: Option<&str>, message: &str) -> Running {
        Running::start(self.agent(session, message), YES)
    }

    /// The same to its end.
    #[track_caller]
    pub(crate) fn run(&self, session: Option<&str>, message: &str) -> Ended {
        self.start(session, message).ends()
    }

    /// A session with one whole run.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        // No two sessions begin alike.
        let ended = self.run(None, &format!("Round 0 after {} requests.", self.server.request_count()));
        assert_eq!(ended.code, 0, "{ended:#?}");
        session_of(&ended).expect("a run says its session").to_owned()
    }

    /// Where the home can be looked at from here.
    pub(crate) fn seen_home(&self) -> PathBuf {
        self.around.seen(&self.home)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.seen_home().join("sessions.sqlite")
    }

    /// The store, as another process of the same home.
    pub(crate) async fn store(&self) -> SqliteStore {
        let settings = StoreSettings {
            database: self.database(),
            sessions_dir: self.seen_home().join("sessions"),
            busy_timeout: Duration::from_secs(20),
            clock: Clock::system(),
        };
        SqliteStore::open(settings).await.expect("the store opens")
    }

    /// Processes that work for this world: its root is their `HOME`, and nobody else's.
    pub(crate) fn at_work(&self) -> Vec<Pid> {
        let mark = format!("HOME={}\0", self.home.root.display());
        let ours = |environment: &[u8]| memchr::memmem::find(environment, mark.as_bytes()).is_some();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let processes = processes.filter(|it| fs::read(it.path().join("environ")).is_ok_and(|all| ours(&all)));
        processes.filter_map(|it| Pid::from_raw(it.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// Ends what a killed process has left at work, one by one; how many there were.
    pub(crate) fn end_orphans(&self) -> usize {
        let orphans = self.at_work();
        for orphan in &orphans {
            // One that ends by itself meanwhile is as welcome.
            let _ = kill_process(*orphan, Signal::KILL);
        }
        wait_until("nothing is left at work", || self.at_work().is_empty());
        orphans.len()
    }
}

/// A test that fails leaves nothing at work either.
impl Drop for World {
    fn drop(&mut self) {
        for pid in self.at_work() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The words of `run`.
pub(crate) fn arguments(session: Option<&str>, message: &str) -> Vec<String> {
    let session = session.into_iter().flat_map(|id| ["--session-id".to_owned(), id.to_owned()]);
    std::iter::once("run".to_owned()).chain(session).chain([message.to_owned()]).collect()
}

/// The session that stderr says how to go on with.
pub(crate) fn session_of(ended: &Ended) -> Option<&str> {
    let (_, rest) = ended.stderr.rsplit_once(" --session-id ")?;
    rest.split_whitespace().next()
}
