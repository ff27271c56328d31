//! The permission prompt (CLI-3).

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent_core::{CallbackError, DecisionKind, PermissionCallback, PermissionDecision, PermissionRequest};
use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{mpsc, oneshot};

use crate::output::{Colour, Output};

/// How long a script may take to answer on a pipe. People on a terminal take the time they need.
const PIPE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often an open question looks whether the run was cancelled.
const LOOK: Duration = Duration::from_millis(100);
/// No answer is longer; what is longer is read to its end and is no answer.
const MAX_ANSWER: usize = 4096;

/// A question on its way to the person.
pub(crate) type Question = (PermissionRequest, oneshot::Sender<PermissionDecision>);

/// Hands questions to the loop that owns the terminal.
pub(crate) struct Asker {
    questions: mpsc::Sender<Question>,
}

impl Asker {
    pub(crate) fn channel() -> (Arc<Self>, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(1);
        (Arc::new(Self { questions }), asked)
    }
}

impl PermissionCallback for Asker {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        async move {
            let gone = || CallbackError("the terminal is gone".to_owned());
            let (answer, answered) = oneshot::channel();
            self.questions.send((request, answer)).await.map_err(|_| gone())?;
            answered.await.map_err(|_| gone())
        }
        .boxed()
    }
}

/// Where answers come from.
pub(crate) enum Channel {
    /// Stdin: the message was an argument.
    Stdin,
    /// The controlling terminal: the message came from stdin.
    Terminal(File),
    /// Nobody can answer.
    Nobody,
}

impl Channel {
    pub(crate) fn for_message(from_stdin: bool) -> Self {
        if !from_stdin {
            return Self::Stdin;
        }
        File::options().read(true).write(true).open("/dev/tty").map_or(Self::Nobody, Self::Terminal)
    }

    /// Throws away what was typed on a terminal before a question is shown: it was not meant for it. What is typed from
    /// here on is its answer, however quick.
    pub(crate) fn forget_typed_ahead(&self) {
        // A pipe has nothing typed ahead; a terminal that refuses is no worse than before.
        let _ = match self {
            Self::Stdin => tcflush(io::stdin(), QueueSelector::IFlush),
            Self::Terminal(terminal) => tcflush(terminal, QueueSelector::IFlush),
            Self::Nobody => Ok(()),
        };
    }
}

/// Shows a question.
pub(crate) fn show(request: &PermissionRequest, output: &mut Output) {
    let mark = if request.dangerous { Colour::Red } else { Colour::Yellow };
    output.marked("allow?", mark, &request.tool_name);
    let field = |output: &mut Output, name: &str, text: &str| {
        for (index, line) in text.lines().enumerate() {
            output.note(&format!("  {:7} {line}", if index == 0 { name } else { "" }));
        }
    };
    for (name, text) in [("target", request.target_scope.as_deref()), ("host", request.network_host.as_deref())] {
        field(output, name, text.unwrap_or_default());
    }
    field(output, "in", &request.cwd);
    if let Some(parent) = &request.parent_agent_id {
        let who = format!("{} {} of {parent}", request.agent_role.as_str(), request.agent_id);
        field(output, "asks", &who);
    }
    for reason in strings(request, "reasons") {
        field(output, "because", &reason);
    }
    for line in request.args_summary.lines() {
        output.note(&format!("  | {line}"));
    }
    output.note(&format!("  1 allow once    2 {}    3 deny", session_words(request)));
    output.ask("  1, 2 or 3? ");
}

fn session_words(request: &PermissionRequest) -> String {
    match request.metadata.get("session_scope").and_then(|scope| scope.as_str()) {
        Some(scope) => format!("allow for session ({scope})"),
        None => "allow for session (counts once here)".to_owned(),
    }
}

fn strings(request: &PermissionRequest, key: &str) -> Vec<String> {
    let list = request.metadata.get(key).and_then(|list| list.as_array());
    list.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

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

/// `1`, `2`, `3` or their words; anything else is a denial.
fn parse(text: &str) -> PermissionDecision {
    let word = text.trim().to_ascii_lowercase();
    match word.as_str() {
        "1" | "allow once" => PermissionDecision::new(DecisionKind::AllowOnce),
        "2" | "allow for session" => PermissionDecision::new(DecisionKind::AllowForSession),
        "3" | "deny" => PermissionDecision::new(DecisionKind::Deny),
        _ => {
            let mut decision = PermissionDecision::new(DecisionKind::Deny);
            decision.reason = Some("the answer was none of 1, 2 or 3, which counts as deny".to_owned());
            decision
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(input: &[u8]) -> Vec<(DecisionKind, bool)> {
        let (reader, mut writer) = io::pipe().unwrap();
        io::Write::write_all(&mut writer, input).unwrap();
        drop(writer);
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let stop = AtomicBool::new(false);
        let mut given = Vec::new();
        for _ in 0..3 {
            let decision = answer(&file, PIPE_TIMEOUT, &stop);
            given.push((decision.decision, decision.metadata.contains_key(PermissionDecision::UNANSWERED)));
        }
        given
    }

    /// CLI-3, PERM-12: words and numbers; anything else and the end of input are a denial, the latter an unanswered one.
    #[test]
    fn answers() {
        use DecisionKind::{AllowForSession, AllowOnce, Deny};
        let end = (Deny, true);
        assert_eq!(given(b"1\n2\n3\n"), [(AllowOnce, false), (AllowForSession, false), (Deny, false)]);
        assert_eq!(
            given(b"allow once\nALLOW FOR SESSION\r\n deny "),
            [(AllowOnce, false), (AllowForSession, false), (Deny, false)]
        );
        assert_eq!(given(b"4\ny\n\n"), [(Deny, false), (Deny, false), (Deny, false)]);
        assert_eq!(given(b""), [end, end, end]);
        assert_eq!(given(&[0xFF, b'\n', b'1']), [(Deny, false), (AllowOnce, false), end]);
    }

    /// PERM-12: a megabyte of rubbish is one answer, and the next question still gets its own.
    #[test]
    fn a_megabyte_of_rubbish() {
        let (reader, mut writer) = io::pipe().unwrap();
        let feeding = std::thread::spawn(move || {
            io::Write::write_all(&mut writer, &vec![b'a'; 1 << 20]).unwrap();
            io::Write::write_all(&mut writer, b"\n1\n").unwrap();
        });
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let stop = AtomicBool::new(false);
        assert_eq!(answer(&file, PIPE_TIMEOUT, &stop).decision, DecisionKind::Deny);
        assert_eq!(answer(&file, PIPE_TIMEOUT, &stop).decision, DecisionKind::AllowOnce);
        feeding.join().unwrap();
    }

    /// PERM-12: a pipe that stays open and silent is a denial after a while, and it says after how long.
    #[test]
    fn silence_on_a_pipe() {
        let (reader, _writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let silent = answer(&file, Duration::from_millis(250), &AtomicBool::new(false));
        assert_eq!(silent.decision, DecisionKind::Deny);
        assert_eq!(silent.metadata[PermissionDecision::UNANSWERED], "no answer came within 0.25 s");
    }

    /// A question that nobody waits for any more stops reading at once.
    #[test]
    fn giving_up() {
        let (reader, _writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let stop = AtomicBool::new(true);
        assert_eq!(answer(&file, PIPE_TIMEOUT, &stop).decision, DecisionKind::Deny);
    }
}
