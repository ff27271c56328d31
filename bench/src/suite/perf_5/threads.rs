//! Threads to measure on.

use crate::error::BenchError;

/// One thread, as the command has it, and those for blocking work.
pub(super) fn threads() -> Result<tokio::runtime::Runtime, BenchError> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    threads.map_err(BenchError::file("start threads for", "the store"))
}
