//! Specs to start from, and a look at the process table that does not go through the crate.

use agent_exec::{Capture, CommandSpec, Finished, Progress, ProgressSink, Stdin, run};
use std::{
    env, fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// The time after which something that should have happened did not. Only failing tests take it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
pub(crate) const KEEP: usize = 65_536;

/// A shell script with nothing but `PATH`, and limits that a passing test does not meet.
pub(crate) fn sh(script: &str) -> CommandSpec {
    CommandSpec {
        program: PathBuf::from("/bin/sh"),
        argv: ["sh", "-c", script].map(Into::into).to_vec(),
        cwd: PathBuf::from("/"),
        held_cwd: None,
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        stdin: Stdin::Closed,
        stdout: Capture::in_memory(KEEP),
        stderr: Capture::in_memory(KEEP),
        timeout: DEADLINE,
        kill_grace: Duration::from_secs(5),
    }
}

/// The same for an argument list.
pub(crate) fn command(program: &str, argv: &[&str]) -> CommandSpec {
    CommandSpec { program: program.into(), argv: argv.iter().map(Into::into).collect(), ..sh("") }
}

/// Runs to the end, undisturbed.
pub(crate) async fn finish(spec: CommandSpec) -> Finished {
    run(spec, CancellationToken::new(), None).await.expect("the program runs")
}

pub(crate) fn text(bytes: &agent_exec::Kept) -> String {
    String::from_utf8_lossy(&bytes.joined()).into_owned()
}

/// The process ids that a script printed, one a line.
pub(crate) fn pids(text: &str) -> Vec<i32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// A call that runs beside the test.
pub(crate) struct Running {
    pub(crate) task: JoinHandle<Finished>,
    pub(crate) cancel: CancellationToken,
    views: watch::Receiver<Progress>,
}

impl Running {
    pub(crate) fn start(spec: CommandSpec) -> Self {
        let cancel = CancellationToken::new();
        let (sink, views) = ProgressSink::channel(Duration::from_millis(50), KEEP);
        let token = cancel.clone();
        let task = tokio::spawn(async move { run(spec, token, Some(sink)).await.expect("the program runs") });
        Self { task, cancel, views }
    }

    /// Waits until standard output has this many lines, and returns it.
    pub(crate) async fn lines(&mut self, count: usize) -> String {
        let shown = |view: &Progress| view.stdout_tail.iter().filter(|byte| **byte == b'\n').count() >= count;
        let view = self.shows("the lines", shown).await;
        String::from_utf8_lossy(&view.stdout_tail).into_owned()
    }

    /// Waits until a view shows something.
    pub(crate) async fn shows(&mut self, what: &str, shown: impl FnMut(&Progress) -> bool) -> Progress {
        let view = timeout(DEADLINE, self.views.wait_for(shown)).await;
        view.unwrap_or_else(|_| panic!("not in time: {what}")).expect("it runs").clone()
    }

    /// Waits for the end.
    pub(crate) async fn finished(self) -> Finished {
        timeout(DEADLINE, self.task).await.expect("the call ends").expect("the task runs")
    }
}

/// State, parent and group of a process; `None` when there is none.
pub(crate) fn look(pid: i32) -> Option<(char, i32, i32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Whether a process runs. A zombie does not; who adopts the orphans of a killed program may be slow to collect.
pub(crate) fn is_alive(pid: i32) -> bool {
    look(pid).is_some_and(|(state, ..)| state != 'Z')
}

/// What of a group runs.
pub(crate) fn group(id: i32) -> Vec<i32> {
    all_pids().into_iter().filter(|pid| is_alive(*pid) && look(*pid).is_some_and(|(.., group)| group == id)).collect()
}

/// Children of this process that nobody has collected.
pub(crate) fn zombies() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap();
    let is_ours = |pid: &i32| look(*pid).is_some_and(|(state, parent, _)| state == 'Z' && parent == own);
    all_pids().into_iter().filter(is_ours).collect()
}

fn all_pids() -> Vec<i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Waits for something that is on its way.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let begun = Instant::now();
    async move {
        while !holds() {
            assert!(begun.elapsed() < DEADLINE, "not in time: {what}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Set in the copy of a test that has a process of its own.
const OWN_PROCESS: &str = "AGENT_EXEC_TEST_OWN_PROCESS";

/// Whether this is the copy of the test that may change what a process has only once. If not, runs the copy, with
/// `redirection` as a shell reads it.
pub(crate) fn in_own_process(test: &str, redirection: &str) -> bool {
    if env::var_os(OWN_PROCESS).is_some() {
        return true;
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("exec \"$@\" {redirection}"), "sh"]).arg(env::current_exe().unwrap());
    let output = command.args(["--exact", test]).env(OWN_PROCESS, "1").output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("1 passed"), "the copy of this test has run: {shown}");
    false
}

/// A runtime for a copy.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
