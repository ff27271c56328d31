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
        Ok(Self {
            interrupt: watch(SignalKind::interrupt(), ignored)?,
            terminate: watch(SignalKind::terminate(), ignored)?,
            hangup: watch(SignalKind::hangup(), ignored)?,
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
/// thread: after the second one the main thread has a moment to leave in order, then the process ends. SIGQUIT ends it at once.
pub(crate) fn watch_from_outside() {
    // Without the thread nothing is lost but this.
    let _ = std::thread::Builder::new().name("last resort".to_owned()).stack_size(LAST_RESORT_STACK).spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let number = runtime.block_on(async {
            let mut quit = watch(SignalKind::quit(), ignored()).ok()?;
            let twice = async {
                let mut signals = Signals::new().ok()?;
                signals.next().await;
                let number = signals.next().await;
                tokio::time::sleep(LEAVING).await;
                Some(number)
            };
            tokio::select! {
                () = came(&mut quit) => Some(3),
                number = twice => number,
            }
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

/// How long what commands have started is killed for, before the process leaves it behind.
const KILLING: Duration = Duration::from_secs(1);

/// Leaves nothing of the commands that were not waited for (DEC-27).
pub(crate) fn end_commands() {
    agent_exec::kill_all(KILLING);
}

#[expect(clippy::exit, reason = "the main thread is stuck in a write; what was committed is safe")]
fn quit(number: u8) {
    end_commands();
    std::process::exit(128 + i32::from(number));
}

fn watch(kind: SignalKind, ignored: u64) -> io::Result<Option<Signal>> {
    let heeded = ignored & (1 << (kind.as_raw_value() - 1)) == 0;
    heeded.then(|| signal(kind)).transpose()
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
