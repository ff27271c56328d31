//! The project's own chores: what its people run by hand. One for now: `probe` asks a real model server, through our own
//! adapters, whether everything a run relies on holds there.
//!
//! It is deliberately no test (a real model answers as it likes, and the tests have a scripted one) and no part of what
//! ships. Exit codes: 0 when everything the server supports passed, 1 when something failed, 2 for wrong usage.
//!
//! Read in this order: [`probe`] (how checks are run), `probe/checks.rs` (which there are), `probe/check.rs` (what comes of
//! one).

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "telling people what was seen is what this program is for"
)]

mod probe;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::probe::Outcome;

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Ask a real model server whether everything a run relies on holds there
    Probe(probe::Arguments),
}

/// Exit code of wrong usage, as clap has it, too.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let Arguments { chore: Chore::Probe(arguments) } = Arguments::parse();
    match probe::run(&arguments, |text| print!("{text}"), |line| eprintln!("{line}")) {
        Ok(Outcome::Holds) => ExitCode::SUCCESS,
        Ok(Outcome::Broken) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {}", error.shown());
            ExitCode::from(USAGE)
        }
    }
}
