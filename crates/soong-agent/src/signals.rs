//! The signals that end a run (CLI-4), and one that must not.

use std::io;
use std::time::Duration;

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

/// Holds the promise that the second signal quits (CLI-4) even while a write to a reader that does not read keeps the main
/// thread: after the second one the main thread has a moment to leave in order, then the process ends.
pub(crate) fn watch_from_outside() {
    // Without the thread nothing is lost but this.
    let _ = std::thread::Builder::new().name("last resort".to_owned()).stack_size(LAST_RESORT_STACK).spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let number = runtime.block_on(async {
            let mut signals = Signals::new().ok()?;
            signals.next().await;
            let number = signals.next().await;
            tokio::time::sleep(LEAVING).await;
            Some(number)
        });
        if let Some(number) = number {
            quit(number);
        }
    });
}

/// How long the main thread has for leaving in order.
const LEAVING: Duration = Duration::from_millis(700);
/// It only waits, and memory is counted.
const LAST_RESORT_STACK: usize = 128 * 1024;

#[expect(clippy::exit, reason = "the main thread is stuck in a write; what was committed is safe")]
fn quit(number: u8) {
    std::process::exit(128 + i32::from(number));
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
