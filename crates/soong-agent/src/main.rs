//! The `soong-agent` command: a face of `agent_core` for terminals and scripts.
//!
//! It parses the command line, shows what a run does, asks the permission questions and maps outcomes to exit codes. It
//! is deliberately *not* a place for how a run decides, nor for SQL or HTTP. Only this crate prints, and only it exits.
//!
//! Read in this order: [`cli`] (the command line), [`run`] (the main command), [`view`] (what people see), [`prompt`] (what
//! they are asked), [`exit`] (what scripts see), [`hint`] (what to do about errors); then [`sessions`], [`replay`], [`tasks`] and [`cleanup`], which look at what is
//! [`stored`], and [`memory`], which looks at what is remembered.

mod children;
mod cleanup;
mod cli;
mod config;
mod exit;
mod hint;
mod limits;
mod lines;
mod memory;
mod message;
mod moment;
mod output;
mod prompt;
mod recap;
mod replay;
mod run;
mod sessions;
mod shell;
mod signals;
mod size;
mod standing;
mod status;
mod stored;
mod tasks;
mod tools;
mod usage;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::exit::Report as _;
use crate::output::Output;

fn main() -> ExitCode {
    forbid_inspection();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => usage::with_tips(error).exit(),
    };
    let mut output = Output::standard();
    let exit = match cli.command {
        Command::Run(arguments) => {
            enclose_commands();
            let exit = run::run(arguments, &mut output);
            signals::end_commands();
            exit
        }
        Command::Sessions(arguments) => sessions::run(arguments, &mut output),
        Command::Replay(arguments) => replay::run(arguments, &mut output),
        Command::Tasks(arguments) => tasks::run(&arguments, &mut output),
        Command::Cleanup(command) => cleanup::run(command, &mut output),
        Command::Memory(command) => memory::run(command, &mut output),
        Command::Tools { name } => tools::run(name.as_deref(), &mut output),
        Command::Config(command) => config::run(command, &mut output),
    };
    let exit = exit.report(&mut output);
    let exit = if output.is_complete() { exit } else { exit.undelivered() };
    exit.code()
}

/// A command that the agent runs must not read our environment or memory (CLI-9): both hold keys.
fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Can only fail on a kernel that does not know it; then nothing is lost but this protection.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// A command gets none of the descriptors that we were started with (COD-7), and none of its processes gets away (DEC-27).
fn enclose_commands() {
    agent_exec::keep_descriptors_private();
    // Fails on systems that have no such thing; there, whatever lost every tie to its command stays.
    let _ = agent_exec::adopt_orphans();
}
