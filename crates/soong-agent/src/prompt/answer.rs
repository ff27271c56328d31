//! Reading the answer to a question (CLI-3).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use agent_core::PermissionDecision;
use agent_core::permission::DecisionKind;
use agent_core::text::shorten;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::channel::Channel;
use super::script::{Judged, Script, Seen, judge, never_asked};
use super::word;
use crate::lines::whole_line;

/// How long a script may take to answer. People on a terminal take the time they need.
const PIPE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often an open question looks whether the run was cancelled.
const LOOK: Duration = Duration::from_millis(100);
/// How long the rest of a line is waited for at a time.
const REST: Duration = Duration::from_millis(10);
/// No answer is longer; what is longer is read to its end and is no answer.
const MAX_ANSWER: usize = 4096;
/// So much is quoted of what is no answer, in columns.
const QUOTED: usize = 40;

/// An answer being read on a thread of its own, which ends within a moment when this is dropped.
pub(crate) struct Answer {
    reading: tokio::task::JoinHandle<Answered>,
    given_up: Arc<AtomicBool>,
}

/// A decision, and what whoever answered should know about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered {
    pub(crate) decision: PermissionDecision,
    pub(crate) note: Option<String>,
}

impl Answered {
    fn unanswered(what: &str) -> Self {
        let note = format!("denied, because nobody answered: {what}");
        Self { decision: PermissionDecision::unanswered(what), note: Some(note) }
    }
}

impl Answer {
    /// Begins to read.
    pub(crate) fn read(channel: &Channel) -> io::Result<Self> {
        let given_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&given_up);
        let reading = match channel {
            Channel::Nobody => tokio::spawn(async { Answered::unanswered("there is no terminal to ask on") }),
            Channel::Typed => tokio::task::spawn_blocking(move || typed(io::stdin().as_fd(), &stop)),
            Channel::Script(script) => {
                let script = Arc::clone(script);
                tokio::task::spawn_blocking(move || {
                    // A thread that panicked has taken nothing.
                    let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
                    scripted(&mut script, io::stdin().as_fd(), PIPE_TIMEOUT, &stop)
                })
            }
            Channel::Terminal(terminal) => {
                let terminal = terminal.try_clone()?;
                tokio::task::spawn_blocking(move || typed(terminal.as_fd(), &stop))
            }
        };
        Ok(Self { reading, given_up })
    }

    /// The decision.
    pub(crate) async fn decision(&mut self) -> Answered {
        match (&mut self.reading).await {
            Ok(answered) => answered,
            Err(_) => Answered::unanswered("the prompt failed"),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}

/// What a script is told whose input is no answer, once.
fn foreign(line: &str) -> String {
    let quoted = whole_line(&shorten(line, QUOTED));
    format!(
        "denied, as is every further question of this run: stdin holds \"{quoted}\", which is no answer ({}); where answers are \
         not meant to be read, as in a loop over lines: </dev/null",
        word::ANSWERS
    )
}

/// Waits for a script as long as `patience`. Takes a line only where all that can be read now is answers, one a line.
fn scripted(script: &mut Script, from: BorrowedFd<'_>, patience: Duration, stop: &AtomicBool) -> Answered {
    let started = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Answered::unanswered("the run was cancelled");
        }
        if let Some(line) = &script.foreign {
            return Answered { decision: never_asked(), note: Some(foreign(line)) };
        }
        if started.elapsed() >= patience {
            return Answered::unanswered(&format!("no answer came within {} s", patience.as_secs_f32()));
        }
        let looked = script.look(from).and_then(|seen| {
            Ok(match seen {
                Seen::Nothing => {
                    readable(from)?;
                    None
                }
                Seen::End => Some(Answered::unanswered("the input ended")),
                Seen::Text(text, behind) => match judge(&text, behind) {
                    Judged::Answers(length) if script.take(from, &text[..length])? => {
                        let decision = word::read(&String::from_utf8_lossy(&text[..length]));
                        decision.map(|decision| Answered { decision, note: None })
                    }
                    // Somebody else reads there: what is left is not known.
                    Judged::Answers(_) => Some(Answered::unanswered("somebody else reads from the same stdin")),
                    Judged::Beginning => {
                        std::thread::sleep(REST);
                        None
                    }
                    Judged::Foreign(line) => {
                        script.foreign = Some(line);
                        None
                    }
                },
            })
        });
        match looked {
            Ok(None) => {}
            Ok(Some(answered)) => return answered,
            Err(_) => return Answered::unanswered("the input cannot be read"),
        }
    }
}

/// Waits for a person as long as it takes.
fn typed(from: BorrowedFd<'_>, stop: &AtomicBool) -> Answered {
    match read_line(from, stop) {
        Line::Text(text) => match word::read(&text) {
            Some(decision) => Answered { decision, note: None },
            None => no_answer(&text),
        },
        Line::End => Answered::unanswered("the input ended"),
        Line::GivenUp => Answered::unanswered("the run was cancelled"),
        Line::Broken => Answered::unanswered("the input cannot be read"),
    }
}

/// What was typed is none of the answers: a denial, and the person is told which there are.
fn no_answer(text: &str) -> Answered {
    let mut decision = PermissionDecision::new(DecisionKind::Deny);
    decision.reason = Some("the answer was none of 1, 2 or 3, which counts as deny".to_owned());
    let typed = whole_line(&shorten(text.trim(), QUOTED));
    let note = format!("denied: \"{typed}\" is no answer; the answers are {}", word::ANSWERS);
    Answered { decision, note: Some(note) }
}

enum Line {
    Text(String),
    End,
    GivenUp,
    Broken,
}

/// Reads one line, byte by byte: what comes after it is the answer to the next question.
fn read_line(from: BorrowedFd<'_>, stop: &AtomicBool) -> Line {
    let mut line = Vec::new();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Line::GivenUp;
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

#[cfg(test)]
mod tests;
