//! What a suite is.

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::Row;

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
