//! One process of the command, and what it came to.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// After this time something that should have happened did not. Only tests that fail take it.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until something is so that nothing tells us about.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !so() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::sleep(LOOK);
    }
}

/// The bytes of a pipe so far, read on a thread of its own.
struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Heard {
    fn from(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let filled = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut chunk) {
                filled.lock().unwrap_or_else(PoisonError::into_inner).extend(&chunk[..read]);
            }
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    fn whole(self) -> String {
        wait_until("the output has ended", || self.reader.is_finished());
        self.so_far()
    }
}

/// A process at work. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    output: Option<(Heard, Heard)>,
}

impl Running {
    /// Starts a command with these answers on its stdin, which stays open.
    pub(crate) fn start(mut command: Command, answers: &str) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut stdin = child.stdin.take();
        // A process that has ended already reads nothing, as it may.
        let _ = stdin.as_mut().unwrap().write_all(answers.as_bytes());
        let output = (Heard::from(child.stdout.take().unwrap()), Heard::from(child.stderr.take().unwrap()));
        Self { child, stdin, output: Some(output) }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it got the signal: one that has ended is left alone.
    pub(crate) fn signal(&mut self, signal: Signal) -> bool {
        self.is_alive() && kill_process(self.pid(), signal).is_ok()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    fn said(&self) -> String {
        self.output.as_ref().map(|(_, stderr)| stderr.so_far()).unwrap_or_default()
    }

    /// Waits until it is gone, and says how it went; what it said is read when nobody of its kin can write any more.
    #[track_caller]
    pub(crate) fn dies(&mut self) -> i32 {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return code(status);
            }
            assert!(Instant::now() < end, "it does not end; it said:\n{}", self.said());
            thread::sleep(LOOK);
        }
    }

    /// Waits for its end and everything it said.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Ended {
        let code = self.dies();
        drop(self.stdin.take());
        let (stdout, stderr) = self.output.take().expect("it ends once");
        Ended { code, stdout: stdout.whole(), stderr: stderr.whole() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit code; a death by a signal is its negative number.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap())
}

/// What a process came to.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The lines that say what went wrong.
    pub(crate) fn errors(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("error: ")).collect()
    }

    /// What is wrong with this as an end with one error that says all these words, if anything is.
    pub(crate) fn unlike_a_failure(&self, words: &[&str]) -> Option<String> {
        let errors = self.errors();
        let missing: Vec<_> = words.iter().filter(|word| !errors.iter().any(|line| line.contains(**word))).collect();
        let wrong = if self.code != 1 {
            format!("exit code {} instead of 1", self.code)
        } else if errors.len() != 1 || self.stderr.contains("panicked") {
            format!("{} errors instead of one", errors.len())
        } else if !missing.is_empty() {
            format!("{missing:?} is not said")
        } else if !self.stdout.is_empty() {
            "an answer".to_owned()
        } else {
            return None;
        };
        Some(format!("{wrong}; stdout {:?}, stderr:\n{}", self.stdout, self.stderr))
    }
}
