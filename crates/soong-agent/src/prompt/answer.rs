//! Reading the answer to a question (CLI-3).

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent_core::PermissionDecision;
use agent_core::permission::DecisionKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Channel;

/// How long a script may take to answer on a pipe. People on a terminal take the time they need.
const PIPE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often an open question looks whether the run was cancelled.
const LOOK: Duration = Duration::from_millis(100);
/// No answer is longer; what is longer is read to its end and is no answer.
const MAX_ANSWER: usize = 4096;

/// An answer being read on a thread of its own, which ends within a moment when this is dropped.
pub(crate) struct Answer {
    reading: tokio::task::JoinHandle<PermissionDecision>,
    given_up: Arc<AtomicBool>,
}

impl Answer {
    /// Begins to read.
    pub(crate) fn read(channel: &Channel) -> io::Result<Self> {
        let given_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&given_up);
        let reading = match channel {
            Channel::Nobody => tokio::spawn(async { PermissionDecision::unanswered("there is no terminal to ask on") }),
            Channel::Stdin => tokio::task::spawn_blocking(move || answer(&io::stdin(), PIPE_TIMEOUT, &stop)),
            Channel::Terminal(terminal) => {
                let terminal = terminal.try_clone()?;
                tokio::task::spawn_blocking(move || answer(&terminal, PIPE_TIMEOUT, &stop))
            }
        };
        Ok(Self { reading, given_up })
    }

    /// The decision.
    pub(crate) async fn decision(&mut self) -> PermissionDecision {
        match (&mut self.reading).await {
            Ok(decision) => decision,
            Err(_) => PermissionDecision::unanswered("the prompt failed"),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}

/// Waits for a person as long as it takes, for a script as long as `patience`.
fn answer<T: AsFd + IsTerminal>(from: &T, patience: Duration, stop: &AtomicBool) -> PermissionDecision {
    let timeout = (!from.is_terminal()).then_some(patience);
    match read_line(from.as_fd(), timeout, stop) {
        Line::Text(text) => parse(&text),
        Line::End => PermissionDecision::unanswered("the input ended"),
        Line::TimedOut => {
            PermissionDecision::unanswered(&format!("no answer came within {} s", patience.as_secs_f32()))
        }
        Line::GivenUp => PermissionDecision::unanswered("the run was cancelled"),
        Line::Broken => PermissionDecision::unanswered("the input cannot be read"),
    }
}

enum Line {
    Text(String),
    End,
    TimedOut,
    GivenUp,
    Broken,
}

/// Reads one line, byte by byte: what comes after it is the answer to the next question.
fn read_line(from: BorrowedFd<'_>, timeout: Option<Duration>, stop: &AtomicBool) -> Line {
    let started = Instant::now();
    let mut line = Vec::new();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Line::GivenUp;
        }
        if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
            return Line::TimedOut;
        }
        match readable(from) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return Line::Broken,
        }
        let mut byte = [0];
        match rustix::io::read(from, &mut byte) {
            Ok(0) if line.is_empty() => return Line::End,
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) if line.len() < MAX_ANSWER => line.push(byte[0]),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return Line::Broken,
        }
    }
    Line::Text(String::from_utf8_lossy(&line).into_owned())
}

/// Whether reading would not block, within a moment.
fn readable(from: BorrowedFd<'_>) -> io::Result<bool> {
    let mut fds = [PollFd::new(&from, PollFlags::IN)];
    let look = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    match poll(&mut fds, Some(&look)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What can be typed for each decision.
const ANSWERS: [(&str, &str, DecisionKind); 3] = [
    ("1", "allow once", DecisionKind::AllowOnce),
    ("2", "allow for session", DecisionKind::AllowForSession),
    ("3", "deny", DecisionKind::Deny),
];

/// The words that would have been typed for a decision.
pub(crate) fn words(decision: DecisionKind) -> &'static str {
    ANSWERS.iter().find(|(_, _, kind)| *kind == decision).map_or(decision.as_str(), |(_, words, _)| words)
}

/// `1`, `2`, `3` or their words; anything else is a denial.
fn parse(text: &str) -> PermissionDecision {
    let typed = text.trim().to_ascii_lowercase();
    if let Some((_, _, kind)) = ANSWERS.iter().find(|(number, words, _)| typed == *number || typed == *words) {
        return PermissionDecision::new(*kind);
    }
    let mut decision = PermissionDecision::new(DecisionKind::Deny);
    decision.reason = Some("the answer was none of 1, 2 or 3, which counts as deny".to_owned());
    decision
}

#[cfg(test)]
mod tests;
