//! One process of the command, and what it came to.

use std::io::Write;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::watched::{DEADLINE, Watched};

/// A process at work. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<Watched>,
    stderr: Watched,
}

impl Running {
    /// Starts a command with a pipe on stdin.
    pub(crate) fn asked(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        Self::start(command)
    }

    /// Starts a command with the stdin it was made with.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        Self::with_stdout(command)
    }

    /// Starts a command whose stdout the test reads itself.
    pub(crate) fn read_by_hand(mut command: Command) -> (Self, ChildStdout) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let stderr = Watched::new(child.stderr.take().unwrap());
        (Self { child, stdin, stdout: None, stderr }, stdout)
    }

    /// Starts a command with the stdin and stdout it was made with.
    pub(crate) fn with_stdout(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the command starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().map(Watched::new);
        let stderr = Watched::new(child.stderr.take().unwrap());
        Self { child, stdin, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until it has said this on stderr.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        self.stderr.wait_for(text, 0);
        self
    }

    /// Waits until it has printed this on stdout, behind `from`; where that ends.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str, from: usize) -> usize {
        self.stdout.as_ref().expect("stdout is watched").wait_for(text, from)
    }

    /// Writes to its stdin, which stays open. A process that has ended meanwhile reads nothing, as it may.
    pub(crate) fn types(&mut self, text: &[u8]) {
        let _ = self.stdin.as_mut().expect("stdin is a pipe").write_all(text);
    }

    /// The end of its stdin.
    pub(crate) fn no_more(&mut self) {
        drop(self.stdin.take());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the end. Stdin stays open until then.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Ended {
        let status = wait(&mut self.child, &self.stderr);
        drop(self.stdin.take());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Ended {
            code: code(status),
            stdout: self.stdout.as_ref().map(|stdout| text(stdout.whole())).unwrap_or_default(),
            stderr: text(self.stderr.whole()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the end of a process; what it said so far explains a failure.
#[track_caller]
pub(crate) fn wait(child: &mut Child, said: &Watched) -> ExitStatus {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < end, "it does not end; it said:\n{}", String::from_utf8_lossy(&said.so_far()));
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
}

/// The exit code; a death by a signal is its negative number, so that it is never taken for one.
pub(crate) fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
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
    /// Ended with this code, without a panic, and without a terminal escape, since no terminal was there.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert!(!self.stdout.contains('\x1b') && !self.stderr.contains('\x1b'), "{self:?}");
        self
    }

    /// All of this is on stderr.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing in:\n{}", self.stderr);
        }
        self
    }

    /// None of this is on stderr.
    #[track_caller]
    pub(crate) fn never_says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(!self.stderr.contains(word), "{word:?} is in:\n{}", self.stderr);
        }
        self
    }

    /// Stdout holds exactly this, with a line end behind it (DEC-26).
    #[track_caller]
    pub(crate) fn answers(self, text: &str) -> Self {
        let ended = if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
        assert_eq!(self.stdout, ended, "stderr:\n{}", self.stderr);
        self
    }

    /// One error, in one go.
    #[track_caller]
    pub(crate) fn one_error(self) -> Self {
        let errors = self.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{}", self.stderr);
        self
    }

    /// The session that stderr says how to go on with.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        let hint = " --session-id ";
        let at = self.stderr.rfind(hint).unwrap_or_else(|| panic!("no way to go on is in:\n{}", self.stderr));
        self.stderr[at + hint.len()..].split_whitespace().next().unwrap().to_owned()
    }
}
