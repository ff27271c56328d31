//! The test program as a process of its own, for what only several processes can show.

use std::io::{self, BufRead, BufReader, Lines, Read, Write as _};
use std::path::Path;
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use agent_store::{ArtifactWriter, SessionArchive, SessionFilter, SessionStore};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::support::{Writing, new_session, open_in, run_id, session_id, whole};

const ROLE: &str = "AGENT_STORE_TEST_ROLE";
const FOLDER: &str = "AGENT_STORE_TEST_FOLDER";
/// Tells our lines from those of the test harness.
const MARK: &str = "@ ";

/// Not a test of its own: the entry of the processes that the other tests start.
#[test]
fn entry() {
    let (Ok(role), Some(folder)) = (std::env::var(ROLE), std::env::var_os(FOLDER)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(play(&role, Path::new(&folder)));
}

async fn play(role: &str, folder: &Path) {
    let (role, name) = role.split_once(' ').unwrap();
    match role {
        "hold" => hold(folder, name).await,
        "work" => work(folder, name).await,
        "write" => write(folder, name).await,
        "make" => make(folder, name).await,
        "search" => search(folder, name).await,
        other => panic!("there is no role {other}"),
    }
}

/// Claims the session `sess_<name>` and keeps it until the end of the input.
async fn hold(folder: &Path, name: &str) {
    let store = open_in(folder, Duration::from_secs(20)).await.unwrap();
    let _lease = store.claim_session(&session_id(&format!("sess_{name}")), None).await.unwrap().lease;
    say("held");
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A session and thirty turns beside others that do the same.
async fn work(folder: &Path, name: &str) {
    let store = open_in(folder, Duration::from_secs(60)).await.unwrap();
    let writing = Writing::begin(&store, name).await;
    for n in 1..=30 {
        store.commit(&writing.lease, writing.turn(n)).await.unwrap();
    }
    store.close().await;
    say("done");
}

/// A new run in the session `sess_crash`, and turns without end; says each that the store has acknowledged.
async fn write(folder: &Path, name: &str) {
    let store = open_in(folder, Duration::from_secs(20)).await.unwrap();
    let lease = store.claim_session(&session_id("sess_crash"), None).await.unwrap().lease;
    let writing = Writing { lease, run: run_id(&format!("run_{name}")) };
    store.commit(&writing.lease, writing.commit(vec![writing.new_run()])).await.unwrap();
    for n in 1.. {
        let committed = store.commit(&writing.lease, writing.turn(n)).await.unwrap();
        say(&format!("{} {}", committed.events[0].seq.unwrap(), committed.nodes[0].node_id));
    }
}

/// Everything the store makes on disk, under the umask `name`.
async fn make(folder: &Path, name: &str) {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(u32::from_str_radix(name, 8).unwrap()));
    let store = open_in(folder, Duration::from_secs(20)).await.unwrap();
    let lease = store.create_session(new_session("sess_1")).await.unwrap();
    let mut file =
        ArtifactWriter::new(folder.join("home/sessions")).begin_artifact(lease.session_id(), "out.log").unwrap();
    file.write_all(b"x").unwrap();
    let _ = file.finish();
    say("made");
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Searches for the word `name` and says in how many sessions it occurs.
async fn search(folder: &Path, name: &str) {
    let store = open_in(folder, Duration::from_secs(60)).await.unwrap();
    let hits = whole(store.search(name, &SessionFilter::default(), u32::MAX, 0).await.unwrap().hits);
    say(&hits.len().to_string());
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // A line of its own: the harness leaves the line with the test's name open.
    write!(out, "\n{MARK}{line}\n").unwrap();
    out.flush().unwrap();
}

/// A process of this test program. Killed when it is dropped.
pub(crate) struct Child {
    process: Process,
    lines: Lines<BufReader<ChildStdout>>,
    stdin: Option<ChildStdin>,
}

impl Child {
    pub(crate) fn start(role: &str, folder: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["child::entry", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let stdin = process.stdin.take();
        Self { process, lines, stdin }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The next line it says; none once it has ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        self.lines.by_ref().map(Result::unwrap).find_map(|line| line.strip_prefix(MARK).map(str::to_owned))
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, line: &str) {
        assert_eq!(self.hear().as_deref(), Some(line));
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// SIGSTOP, and waits until it has stopped.
    pub(crate) fn stop(&self) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::STOP).unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
    }

    /// Ends its input and waits until it has ended well.
    pub(crate) fn finish(mut self) {
        drop(self.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
