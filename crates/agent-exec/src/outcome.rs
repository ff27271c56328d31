//! How a program ended and what it left: the answer of [`run`](crate::run()).

use std::{fmt, io, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

/// A program that ran, to its end or until it was stopped.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to standard output, until it ended or was stopped.
    pub stdout: Output,
    /// What it wrote to standard error, until it ended or was stopped.
    pub stderr: Output,
    /// From the start of the call to its end, clean-up included.
    pub elapsed: Duration,
    /// What became of the processes it started.
    pub leftovers: Leftovers,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code. Only 0 is success.
    Code(i32),
    /// By a signal that we did not send.
    Signal {
        /// The signal's number on this system.
        number: i32,
        /// Its usual name, such as `SIGSEGV`; real-time signals have none.
        name: Option<&'static str>,
    },
    /// It was stopped as it ran longer than its timeout.
    TimedOut,
    /// It was stopped as the call was cancelled; maybe before it started.
    Cancelled,
}

impl Exit {
    /// Whether the program ended by itself with code 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// The code a shell would report: the exit code, or 128 and the signal's number. `None` when it was stopped by us.
    pub fn shell_code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal { number, .. } => Some(128 + number),
            Self::TimedOut | Self::Cancelled => None,
        }
    }

    /// `None` for a status of a process that has not ended.
    pub(crate) fn from_status(status: ExitStatus) -> Option<Self> {
        let signal = || status.signal().map(|number| Self::Signal { number, name: signal_name(number) });
        status.code().map(Self::Code).or_else(signal)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal { number, name: Some(name) } => write!(f, "killed by {name} (signal {number})"),
            Self::Signal { number, name: None } => write!(f, "killed by signal {number}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

/// What was still running when the program had ended or was stopped, beside the program itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Nothing.
    None,
    /// Some processes; they are gone now.
    Killed,
    /// Some processes, and some of them, or the program, still run: they may not be signalled (another user's, as with
    /// `sudo`) or hang in the kernel.
    Remain,
    /// The process list cannot be read here. The group was killed; whether anything left it is not known.
    Unknown,
}

/// What came through one output.
#[derive(Debug)]
pub struct Output {
    /// What is in memory.
    pub kept: Kept,
    /// How many bytes came.
    pub total_bytes: u64,
    /// How many bytes, from the first on, the spill took.
    pub spilled_bytes: u64,
    /// Why the spill ended early, if it did. The program was not disturbed by it.
    pub spill_error: Option<io::Error>,
}

/// The start and the end of an output.
///
/// When bytes are omitted, a UTF-8 character that the cut would split is omitted whole. The bytes need not be text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// The first bytes.
    pub head: Vec<u8>,
    /// How many bytes are missing between the two; 0 when `head` and `tail` are the whole output.
    pub omitted: u64,
    /// The last bytes.
    pub tail: Vec<u8>,
}

impl Kept {
    /// Head and tail in one piece, without a mark where bytes are omitted.
    pub fn joined(&self) -> Vec<u8> {
        [self.head.as_slice(), &self.tail].concat()
    }
}

/// The name by number. The numbers are those of the system this is built for, so they come from its constants.
fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::IO, "SIGIO"),
        (Signal::SYS, "SIGSYS"),
        #[cfg(target_os = "linux")]
        (Signal::STKFLT, "SIGSTKFLT"),
        #[cfg(target_os = "linux")]
        (Signal::POWER, "SIGPWR"),
    ];
    names.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests;
