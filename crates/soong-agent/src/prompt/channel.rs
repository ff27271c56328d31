//! Where the answers to questions come from (CLI-3).

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use agent_core::PermissionDecision;
use rustix::termios::{QueueSelector, tcflush};

use super::script::{Script, Shared, never_asked};

/// Where answers come from.
pub(crate) enum Channel {
    /// Stdin, a terminal: the message was an argument.
    Typed,
    /// Stdin, something else: a script may answer there, or not know that it could.
    Script(Shared),
    /// The controlling terminal: the message came from stdin.
    Terminal(File),
    /// Nobody can answer.
    Nobody,
}

impl Channel {
    pub(crate) fn for_message(from_stdin: bool) -> Self {
        let stdin = io::stdin();
        if from_stdin {
            return File::options().read(true).write(true).open("/dev/tty").map_or(Self::Nobody, Self::Terminal);
        }
        if stdin.is_terminal() {
            return Self::Typed;
        }
        if stdin_is_null() {
            return Self::Nobody;
        }
        Self::Script(Arc::new(Mutex::new(Script::of(stdin.as_fd()))))
    }

    /// Throws away what was typed on a terminal before a question is shown: it was not meant for it. What is typed from
    /// here on is its answer, however quick.
    pub(crate) fn forget_typed_ahead(&self) {
        // A terminal that refuses is no worse than before.
        let _ = match self {
            Self::Typed => tcflush(io::stdin(), QueueSelector::IFlush),
            Self::Terminal(terminal) => tcflush(terminal, QueueSelector::IFlush),
            Self::Script(_) | Self::Nobody => Ok(()),
        };
    }

    /// Whether a person types there and so sees what was answered; in a script's log that would be missing.
    pub(crate) fn is_seen(&self) -> bool {
        matches!(self, Self::Typed | Self::Terminal(_))
    }

    /// The decision where none is to be asked for any more: what came was no answer, and that was said.
    pub(crate) fn never_asked(&self) -> Option<PermissionDecision> {
        let Self::Script(script) = self else { return None };
        let script = script.lock().unwrap_or_else(PoisonError::into_inner);
        script.foreign.is_some().then(never_asked)
    }

    /// Whether a script has given something that nobody read, and does not know yet.
    pub(crate) fn is_unread(&self) -> bool {
        let Self::Script(script) = self else { return false };
        // One that still waits for an answer has nothing.
        let Ok(mut script) = script.try_lock() else { return false };
        script.foreign.is_none() && script.is_unread(io::stdin().as_fd())
    }
}

/// Whether stdin is `/dev/null`, as it also is where the process was started without one.
fn stdin_is_null() -> bool {
    let (Ok(stdin), Ok(null)) = (rustix::fs::fstat(io::stdin()), rustix::fs::stat("/dev/null")) else { return false };
    (stdin.st_mode, stdin.st_rdev) == (null.st_mode, null.st_rdev)
}
