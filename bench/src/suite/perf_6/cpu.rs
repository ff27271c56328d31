//! What work takes.

use std::hint::black_box;
use std::time::Duration;

use crate::clock;
use crate::error::BenchError;

/// The CPU that some work of this process takes.
pub(super) fn spent<T>(work: impl FnOnce() -> T) -> Result<(Duration, T), BenchError> {
    let before = clock::spent_by(std::process::id())?;
    let result = black_box(work());
    Ok((clock::spent_by(std::process::id())?.saturating_sub(before), result))
}
