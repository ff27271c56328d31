//! Clocks that several processes share.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::error::BenchError;

/// Time since some moment that is the same for all processes of this machine.
pub(crate) fn now() -> Result<Duration, BenchError> {
    read(ClockId::CLOCK_MONOTONIC)
}

/// What a process has spent on the CPU so far, user and system, its ended threads included.
///
/// Unlike what a server sees between two requests, it does not grow with what else runs on the machine.
#[cfg(target_os = "linux")]
pub(crate) fn spent_by(pid: u32) -> Result<Duration, BenchError> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX));
    read(nix::time::clock_getcpuclockid(pid).map_err(|source| BenchError::Clock { source })?)
}

/// Only Linux lets a process read another's clock.
#[cfg(not(target_os = "linux"))]
pub(crate) fn spent_by(_pid: u32) -> Result<Duration, BenchError> {
    Err(BenchError::Clock { source: nix::errno::Errno::ENOSYS })
}

fn read(clock: ClockId) -> Result<Duration, BenchError> {
    clock_gettime(clock).map(Duration::from).map_err(|source| BenchError::Clock { source })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process's own clock moves when it works, and by no more than the time that passed on all cores.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_clock_counts_its_work() {
        let (began, before) = (now().unwrap(), spent_by(std::process::id()).unwrap());
        let sum = (0..2_000_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(sum);
        let spent = spent_by(std::process::id()).unwrap() - before;
        let cores = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
        assert!(spent > Duration::ZERO);
        assert!(spent <= (now().unwrap() - began) * cores + Duration::from_millis(10));
    }
}
