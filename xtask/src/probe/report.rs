//! The report: a Markdown table whose rows are printed as they come, and a line that sums up.

use std::fmt::Write as _;
use std::time::Duration;

use super::check::Check;
use super::target::Target;
use super::verdict::{Miss, Verdict, one_line};

const PASS: &str = "pass";
const FAIL: &str = "FAIL";
const NOT_SUPPORTED: &str = "not supported";
const MODEL_DID_NOT: &str = "model did not";
/// Columns of the results, the longest of which is this long.
const RESULT: usize = NOT_SUPPORTED.len();
/// Columns of a time up to 9999.99 s.
const TIME: usize = 9;

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: usize,
    failed: usize,
    not_supported: usize,
    model_did_not: usize,
}

impl Tally {
    pub(crate) fn count(&mut self, verdict: &Verdict) {
        let place = match verdict {
            Ok(_) => &mut self.passed,
            Err(Miss::Failed(_)) => &mut self.failed,
            Err(Miss::NotSupported(_)) => &mut self.not_supported,
            Err(Miss::ModelDidNot(_)) => &mut self.model_did_not,
        };
        *place += 1;
    }

    /// Whether the server can be relied on. Where nothing passed, nothing is known.
    pub(crate) fn holds(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

/// The names of the checks and what they prove.
pub(crate) fn list(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for Check { name, proves, .. } in checks {
        // Writing to a String does not fail.
        let _ = writeln!(out, "{name:<width$}  {proves}");
    }
    out
}

/// The table's head. The last column has no width of its own: what was seen is as long as it is.
pub(crate) fn head(checks: &[&Check]) -> String {
    let name = width(checks);
    format!(
        "| {:<name$} | {:<RESULT$} | {:>TIME$} | what was seen |\n|{}|{}|{}:|---|\n",
        "check",
        "result",
        "time",
        "-".repeat(name + 2),
        "-".repeat(RESULT + 2),
        "-".repeat(TIME + 1),
    )
}

/// A check's row.
pub(crate) fn row(checks: &[&Check], check: &Check, verdict: &Verdict, took: Duration) -> String {
    let name = width(checks);
    let (result, seen) = match verdict {
        Ok(seen) => (PASS, seen),
        Err(Miss::Failed(why)) => (FAIL, why),
        Err(Miss::NotSupported(why)) => (NOT_SUPPORTED, why),
        Err(Miss::ModelDidNot(what)) => (MODEL_DID_NOT, what),
    };
    let time = format!("{:.2} s", took.as_secs_f64());
    format!("| {:<name$} | {result:<RESULT$} | {time:>TIME$} | {} |\n", check.name, cell(seen))
}

fn width(checks: &[&Check]) -> usize {
    checks.iter().map(|check| check.name.len()).max().unwrap_or(0).max("check".len())
}

/// The line at the end.
pub(crate) fn summary(tally: &Tally, target: &Target) -> String {
    let Tally { passed, failed, not_supported, model_did_not } = tally;
    format!(
        "\n{passed} passed, {failed} failed, {not_supported} not supported, {model_did_not} not done by the model: {} through {} \
         at {}, window {}\n",
        cell(&target.model),
        cell(&target.provider),
        cell(&target.settings.base_url),
        target.settings.context_window,
    )
}

/// Text that is safe in a terminal and means nothing to Markdown: no new cell, tag, link or image.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '|' => out.push_str("&#124;"),
            '<' => out.push_str("&lt;"),
            '[' => out.push_str("&#91;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}
