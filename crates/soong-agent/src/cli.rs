//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// An agent that works on a project folder: it reads, changes and runs things there, and asks before it changes anything.
#[derive(Debug, Parser)]
#[command(name = "soong-agent", version, long_about = None, arg_required_else_help = true)]
#[command(about = "An agent that works on a project folder: it reads, changes and runs things there, and asks first")]
// Colours here would follow CLICOLOR_FORCE into pipes.
#[command(color = clap::ColorChoice::Never)]
#[command(after_help = "\
Examples:
  soong-agent run \"What does this project do?\"
  soong-agent config template > ~/.soong-agent/config.toml")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the agent on a message
    Run(RunArguments),
    /// List the tools, which of them are available, and why not
    #[command(after_help = "\
Examples:
  soong-agent tools
  soong-agent tools code.edit_file")]
    Tools {
        /// One tool's page: what it does and every parameter
        name: Option<String>,
    },
    /// Look at the configuration
    #[command(subcommand, after_help = "Example: soong-agent config check")]
    Config(ConfigCommand),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The answer goes to stdout, everything else to stderr: `soong-agent run … > answer.md` holds just
the answer. Permission questions are answered on the terminal, or by a script on stdin.

Examples:
  soong-agent run \"Explain src/main.rs\"
  printf '1\\n' | soong-agent run --path ~/project \"Add a licence header to main.py\"
  git diff | soong-agent run -

Exit codes: 0 done, 1 the run failed, 2 wrong usage or configuration, 3 done but a question went
unanswered, 130 cancelled with Ctrl-C.")]
pub(crate) struct RunArguments {
    /// What to do; `-` or nothing reads it from stdin
    pub(crate) message: Option<OsString>,
    /// The project folder, or a file in it [default: the current folder]
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Go on with an earlier session
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the configuration is looked for
    #[command(after_help = "Example: soong-agent config path")]
    Path,
    /// Print the packaged configuration to start from
    #[command(after_help = "Example: soong-agent config template > ~/.soong-agent/config.toml")]
    Template,
    /// Check the configuration and show what it comes to
    #[command(after_help = "Example: soong-agent config check")]
    Check,
}
