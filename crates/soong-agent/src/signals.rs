//! The signals that end a run (CLI-4), and one that must not.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Watches for them from when it is made.
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    /// What the caller set to be ignored stays so: `nohup` says that a closed terminal is no reason to stop.
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = ignored();
        let watch = |kind: SignalKind| {
            let heeded = ignored & (1 << (kind.as_raw_value() - 1)) == 0;
            heeded.then(|| signal(kind)).transpose()
        };
        Ok(Self {
            interrupt: watch(SignalKind::interrupt())?,
            terminate: watch(SignalKind::terminate())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            () = came(&mut self.interrupt) => 2,
            () = came(&mut self.terminate) => 15,
            () = came(&mut self.hangup) => 1,
        }
    }
}

async fn came(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// From now on a file that reaches the limit of its size (`ulimit -f`) is an error like a full disk, not the end of the process.
/// Commands are not concerned: a handler, unlike an ignored signal, does not outlive `exec`.
pub(crate) fn survive_file_size_limit() {
    // Where it cannot be had, nothing is lost but this. The handler stays when its listener goes.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// The ignored signals as a mask, the first in its lowest bit. Asking the kernel directly needs unsafe code; where there is no
/// `/proc`, none counts as ignored.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
