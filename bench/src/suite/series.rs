//! Runs of one kind.

use std::time::Duration;

use crate::error::BenchError;
use crate::launch::Spent;
use crate::stage::Run;
use crate::stats::Samples;

/// Runs of one kind.
#[derive(Default)]
pub(super) struct Series {
    pub(super) spent: Vec<Spent>,
    /// From the start of the process to its first request; empty where there is none.
    to_first_request: Vec<Duration>,
}

impl Series {
    pub(super) fn add(&mut self, run: &Run) {
        self.spent.push(run.spent);
        let first = run.requests.first().and_then(|request| request.at);
        self.to_first_request.extend(first.map(|at| at.saturating_sub(run.spent.started)));
    }

    pub(super) fn cpu(&self) -> Result<Samples, BenchError> {
        Samples::new(self.spent.iter().map(|spent| millis(spent.cpu)))
    }

    pub(super) fn wall(&self) -> Result<Samples, BenchError> {
        Samples::new(self.spent.iter().map(|spent| millis(spent.wall)))
    }

    pub(super) fn peak(&self) -> Result<Samples, BenchError> {
        Samples::new(self.spent.iter().filter_map(|spent| spent.peak_kib).map(|kib| kib as f64 / 1024.0))
    }

    pub(super) fn to_first_request(&self) -> Result<Samples, BenchError> {
        Samples::new(self.to_first_request.iter().copied().map(millis))
    }
}

pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
