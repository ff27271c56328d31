//! Limits of the system on this process: told in words before a library meets them, which would end the process.

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use agent_core::error::Limit;
use tokio::runtime::{Builder, Runtime};

use crate::exit::Failure;

/// Descriptors that even the shortest command needs besides those it was started with: the runtime's, the signals', the
/// database with its log and index, a file that is read.
const DESCRIPTORS: usize = 24;
/// A thread for blocking work is kept for good: where no other can be started, what waits is done by it.
const KEPT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// What a command runs on: one thread, since the work is waiting. Files and SQLite have threads of their own.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let open: Result<Vec<File>, _> = (0..DESCRIPTORS).map(|_| File::open("/dev/null")).collect();
    open.map_err(|error| refused(&error))?;
    let runtime = Builder::new_current_thread().enable_all().thread_keep_alive(KEPT).build();
    let runtime = runtime.map_err(|error| refused(&error))?;
    // The runtime would panic where there is no thread at all.
    let thread = thread::Builder::new().spawn(|| ()).map_err(|error| refused(&error))?;
    // It does nothing that could fail.
    let _ = thread.join();
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

fn refused(error: &io::Error) -> Failure {
    Failure::failed(match Limit::behind(error) {
        Some(limit) => format!("cannot start: {limit}"),
        None => format!("cannot start: {error}"),
    })
}
