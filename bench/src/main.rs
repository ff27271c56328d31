//! The project's own measurements: what the release build costs, beside its budgets and beside what cannot be avoided.
//!
//! It runs the real command against a scripted model server in this process, and compares medians with the budgets of
//! PERF and with a floor: a process that does the unavoidable part alone (`src/bin/floor.rs`). It is deliberately not a
//! test: times depend on the machine, so a broken budget only counts with `--check`.
//!
//! Read in this order: [`suite`] (what is measured), [`launch`] (how a process is measured), [`report`] (how it is shown).

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing the figures is what this program is for")]

mod bench;
mod clock;
mod crowd;
mod error;
mod family;
mod launch;
mod own;
mod programs;
mod report;
mod stage;
mod stats;
mod stored;
mod suite;
mod talk;
mod tools;
mod words;

use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::programs::Programs;
use crate::report::Verdict;
use crate::stage::Provider;
use crate::suite::{ALL, SUITES};

/// Measures the release build against its budgets and against what cannot be avoided.
#[derive(Debug, Parser)]
#[command(name = "soong-bench")]
struct Arguments {
    /// What to measure
    #[arg(default_value = ALL, value_parser = suite_names())]
    suite: String,
    /// Measured runs of each kind, after one that is thrown away
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// The protocol the scripted server speaks
    #[arg(long, value_enum, default_value_t = Provider::Ollama)]
    provider: Provider,
    /// Exit with 1 if a median is over its budget by more than the tolerance
    #[arg(long)]
    check: bool,
    /// What `--check` forgives, as a share of the budget
    #[arg(long, default_value_t = 0.25, value_name = "SHARE")]
    tolerance: f64,
    /// Measure the binaries that are there, however old
    #[arg(long)]
    no_build: bool,
}

/// Exit code where there are no figures; 1 is for figures over budget.
const NOT_MEASURED: u8 = 2;

fn suite_names() -> PossibleValuesParser {
    PossibleValuesParser::new(SUITES.iter().map(|suite| suite.name).chain([ALL]))
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // Before anything else: whatever this process touches counts as memory of the program it launches.
    let outcome = if arguments.next().is_some_and(|first| first == launch::WORD) {
        launch::main(arguments).map(|()| ExitCode::SUCCESS)
    } else {
        bench(&Arguments::parse())
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("soong-bench: {}", error::chain(&error));
        ExitCode::from(NOT_MEASURED)
    })
}

fn bench(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    let programs = Programs::find(!arguments.no_build)?;
    let bench = Bench { programs, runs: arguments.runs, provider: arguments.provider };
    println!("{}", report::machine(&bench));
    let mut rows = Vec::new();
    for suite in SUITES.iter().filter(|suite| suite.is_meant_by(&arguments.suite)) {
        println!("\n{}: {}", suite.name, suite.about);
        let measured = (suite.measure)(&bench)?;
        print!("{}", report::table(&measured));
        rows.extend(measured);
    }
    let with = |verdict| rows.iter().filter(move |row| row.verdict(arguments.tolerance) == verdict);
    println!();
    for row in with(Verdict::CannotTell) {
        println!("cannot be told now, because the floor is over the budget too: {}", row.measure);
    }
    for row in with(Verdict::Over) {
        println!("over budget by more than {:.0} %: {}", arguments.tolerance * 100.0, row.measure);
    }
    let broken = with(Verdict::Over).next().is_some();
    Ok(if arguments.check && broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
