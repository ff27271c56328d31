//! What to run: the request of [`run`](crate::run()).

use std::{ffi::OsString, fmt, io, os::fd::OwnedFd, path::PathBuf, time::Duration};

/// One program to run, complete: nothing is taken from the running process.
#[derive(Debug)]
pub struct CommandSpec {
    /// The program file, absolute; see [`resolve_program`](crate::resolve_program).
    pub program: PathBuf,
    /// The argument list as the program sees it, `argv[0]` included; at least one element. Never read by a shell.
    pub argv: Vec<OsString>,
    /// The folder to start in, absolute. Whether the program may run there is the caller's decision.
    pub cwd: PathBuf,
    /// The folder behind `cwd`, held open by whoever decided about it. On Linux with `/proc` the program starts in this very
    /// folder, wherever the path leads by then; elsewhere, and without it, the path counts.
    pub held_cwd: Option<OwnedFd>,
    /// The whole environment, but for [`CALL_MARKER`](crate::CALL_MARKER) which is added. The last of two equal
    /// names wins.
    pub env: Vec<(OsString, OsString)>,
    /// What the program reads.
    pub stdin: Stdin,
    /// What to keep of standard output.
    pub stdout: Capture,
    /// What to keep of standard error.
    pub stderr: Capture,
    /// How long the program may run before it is stopped with [`Exit::TimedOut`](crate::Exit::TimedOut).
    pub timeout: Duration,
    /// How long a stopped program may clean up between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
}

/// The standard input of a program. Never the one of the running process: that belongs to its user.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// Nothing: the first read is at the end.
    #[default]
    Closed,
    /// These bytes, then the end. A program that does not read them all is no error.
    Bytes(Vec<u8>),
}

/// How much of one output to keep, and where the whole of it goes when that is not enough.
pub struct Capture {
    /// How many bytes to keep in memory: half from the start, half from the end, when there are more.
    pub keep_bytes: usize,
    /// Where the whole output goes once it exceeds `keep_bytes`. Not called before, so that a small output touches
    /// no file.
    pub spill: Option<SpillFactory>,
    /// How many bytes the spill gets at most; the rest is read, counted and dropped.
    pub spill_max_bytes: u64,
}

impl Capture {
    /// Keeps `keep_bytes` in memory and spills nothing.
    pub fn in_memory(keep_bytes: usize) -> Self {
        Self { keep_bytes, spill: None, spill_max_bytes: 0 }
    }

    /// Keeps `keep_bytes` in memory and, beyond that, sends up to `max_bytes` from the start on to what `open` makes.
    pub fn spilling(
        keep_bytes: usize,
        max_bytes: u64,
        open: impl FnOnce() -> io::Result<Box<dyn Spill>> + Send + 'static,
    ) -> Self {
        Self { keep_bytes, spill: Some(Box::new(open)), spill_max_bytes: max_bytes }
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("keep_bytes", &self.keep_bytes)
            .field("spills", &self.spill.is_some())
            .field("spill_max_bytes", &self.spill_max_bytes)
            .finish()
    }
}

/// Opens a [`Spill`]. Called at most once, on a thread where blocking is fine.
pub type SpillFactory = Box<dyn FnOnce() -> io::Result<Box<dyn Spill>> + Send>;

/// Takes the whole of an output that is too big to keep, from its first byte on.
///
/// All calls come from one thread of the runtime's blocking pool, behind a small bounded queue: a slow disk slows the
/// program down, it does not stall the runtime and does not fill memory. An error ends the spill; the program runs on.
pub trait Spill: Send {
    /// Takes the next bytes, all of them.
    fn write(&mut self, chunk: &[u8]) -> io::Result<()>;

    /// Called once after the last byte of a run that came to its end, timed out and cancelled ones included. A spill
    /// that is dropped without this call belongs to a failed write or to a run that was dropped: what it holds is
    /// incomplete in an unknown place.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
