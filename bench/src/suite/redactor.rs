//! STO-10: the redactor of secret patterns on source code, beside one bare search for as few words.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use agent_redact::{PatternsError, SecretPatterns};
use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::clock;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

pub(crate) const SUITE: Suite = Suite {
    name: "redactor",
    about: "the patterns of secrets on this project's source, beside a bare search for a few words; CPU for 1 MB",
    by_name_only: false,
    measure,
};

/// 300 MB/s.
const BUDGET_MS: f64 = 1000.0 / 300.0;
/// A secret stands after as many lines: about 1500 in a megabyte.
const LINES_BETWEEN: usize = 16;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let patterns = SecretPatterns::new()?;
    let words = words()?;
    let clean = clean_source(&patterns)?;
    let planted = planted(&clean);
    let mut rows = Vec::new();
    for (what, text, budget) in [("without hits", &clean, Some(BUDGET_MS)), ("with 1500 secrets a MB", &planted, None)]
    {
        rows.extend(redacting(what, text, budget, (&patterns, &words), bench.runs)?);
    }
    let compiled = sampled(bench.runs, || SecretPatterns::new().is_ok())?;
    rows.push(Row::new("making the patterns", Unit::Millis, Samples::new(compiled)?));
    Ok(rows)
}

fn redacting(
    what: &str,
    text: &str,
    budget: Option<f64>,
    (patterns, words): (&SecretPatterns, &AhoCorasick),
    runs: u32,
) -> Result<[Row; 2], BenchError> {
    let megabytes = text.len() as f64 / 1e6;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..=runs {
        // In turns, so that both meet the same machine.
        ours.extend(sampled(1, || patterns.redact(text).hit)?);
        floor.extend(sampled(1, || words.find_iter(text).count() > 0)?);
    }
    let for_one = |times: &[f64]| Samples::new(times.iter().skip(1).map(|time| time / megabytes));
    let (ours, floor) = (for_one(&ours)?, for_one(&floor)?);
    let speed = Samples::new([1e3 / ours.median()])?;
    let row = Row::new(format!("1 MB of source {what}"), Unit::Millis, ours).floor(floor);
    let row = budget.into_iter().fold(row, Row::budget);
    Ok([row, Row::new("the same in MB/s", Unit::Ratio, speed)])
}

/// CPU of the process for each call, in milliseconds.
fn sampled(runs: u32, mut work: impl FnMut() -> bool) -> Result<Vec<f64>, BenchError> {
    (0..runs)
        .map(|_| {
            let before = clock::spent_by(std::process::id())?;
            black_box(work());
            Ok(millis(clock::spent_by(std::process::id())?.saturating_sub(before)))
        })
        .collect()
}

/// What such a search cannot do without: one automaton for words in upper and lower case.
fn words() -> Result<AhoCorasick, BenchError> {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .prefilter(false)
        .build(["password", "secret", "token", "api_key", "authorization", "cookie", "://", "-----begin "])
        .map_err(|source| BenchError::Search { source })
}

/// The files of this project in which nothing is replaced.
fn clean_source(patterns: &SecretPatterns) -> Result<String, BenchError> {
    let (mut text, mut files) = (String::new(), Vec::new());
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates"), &mut files)?;
    for file in files {
        let source = fs::read_to_string(&file).map_err(BenchError::file("read", &file))?;
        if !patterns.redact(&source).hit {
            text.push_str(&source);
        }
    }
    Ok(text)
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), BenchError> {
    let failed = || BenchError::file("list", folder);
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The same with made-up secrets between the lines.
fn planted(clean: &str) -> String {
    let mut text = String::new();
    for (line, at) in clean.lines().zip(1_u64..) {
        text.push_str(line);
        text.push('\n');
        if at % LINES_BETWEEN as u64 == 0 {
            let value = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            text.push_str(&format!("export SERVICE_TOKEN={value:016x}{value:016X}\n"));
        }
    }
    text
}

impl From<PatternsError> for BenchError {
    fn from(source: PatternsError) -> Self {
        Self::Patterns { source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is measured as clean is clean, and what is planted is found.
    #[test]
    fn hits_are_where_they_should_be() {
        let patterns = SecretPatterns::new().unwrap();
        let clean = "fn main() {}\n".repeat(LINES_BETWEEN * 3);
        assert!(!patterns.redact(&clean).hit);
        assert_eq!(patterns.redact(&planted(&clean)).text.matches("SERVICE_TOKEN=[redacted]\n").count(), 3);
        assert!(!patterns.redact(&clean_source(&patterns).unwrap()).hit);
    }
}
