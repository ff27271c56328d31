//! What is measured. Another suite is a module with a [`Suite`] of its own and a line in [`SUITES`].

mod instructions;
mod long_session;
mod perf_1;
mod perf_2;
mod perf_3;
mod perf_4;
mod perf_5;
mod perf_7;
mod redactor;
mod redactor_hits;
mod scan;
mod scan_home;
mod writer;

use std::time::Duration;

use crate::BenchError;
use crate::launch::Spent;
use crate::programs::Programs;
use crate::report::Row;
use crate::stage::{Provider, Run};
use crate::stats::Samples;

/// Measures that belong together.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether it takes more than a machine with cargo, so that `all` leaves it out.
    pub(crate) by_name_only: bool,
    pub(crate) measure: fn(&Bench) -> Result<Vec<Row>, BenchError>,
}

/// The word for all suites that run anywhere.
pub(crate) const ALL: &str = "all";

impl Suite {
    /// Whether `word` on the command line asks for this suite.
    pub(crate) fn is_meant_by(&self, word: &str) -> bool {
        word == self.name || (word == ALL && !self.by_name_only)
    }
}

/// All there are, in the order of the rule book.
pub(crate) const SUITES: &[Suite] = &[
    perf_1::SUITE,
    perf_2::SUITE,
    perf_3::SUITE,
    perf_4::SUITE,
    perf_5::SUITE,
    perf_7::SUITE,
    scan::SUITE,
    scan_home::SUITE,
    long_session::SUITE,
    writer::SUITE,
    redactor::SUITE,
    redactor_hits::SUITE,
    instructions::SUITE,
];

/// What every suite gets.
pub(crate) struct Bench {
    pub(crate) programs: Programs,
    pub(crate) runs: u32,
    pub(crate) provider: Provider,
}

/// Runs of one kind.
#[derive(Default)]
struct Series {
    spent: Vec<Spent>,
    /// From the start of the process to its first request; empty where there is none.
    to_first_request: Vec<Duration>,
}

impl Series {
    fn add(&mut self, run: &Run) {
        self.spent.push(run.spent);
        let first = run.requests.first().and_then(|request| request.at);
        self.to_first_request.extend(first.map(|at| at.saturating_sub(run.spent.started)));
    }

    fn cpu(&self) -> Result<Samples, BenchError> {
        Samples::new(self.spent.iter().map(|spent| millis(spent.cpu)))
    }

    fn wall(&self) -> Result<Samples, BenchError> {
        Samples::new(self.spent.iter().map(|spent| millis(spent.wall)))
    }

    fn peak(&self) -> Result<Samples, BenchError> {
        Samples::new(self.spent.iter().filter_map(|spent| spent.peak_kib).map(|kib| kib as f64 / 1024.0))
    }

    fn to_first_request(&self) -> Result<Samples, BenchError> {
        Samples::new(self.to_first_request.iter().copied().map(millis))
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
