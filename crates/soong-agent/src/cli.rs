//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::moment::Span;
use crate::size::Size;

/// An agent that works on a project folder: it reads, changes and runs things there, and asks before it changes anything.
#[derive(Debug, Parser)]
#[command(name = "soong-agent", version, long_about = None, arg_required_else_help = true)]
#[command(about = "An agent that works on a project folder: it reads, changes and runs things there, and asks first")]
// Colours here would follow CLICOLOR_FORCE into pipes.
#[command(color = clap::ColorChoice::Never)]
#[command(after_help = "\
Examples:
  soong-agent run \"What does this project do?\"
  soong-agent sessions
  soong-agent config template > ~/.soong-agent/config.toml")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the agent on a message
    Run(RunArguments),
    /// List what was worked on, the latest first
    Sessions(SessionsArguments),
    /// Show what happened in a session
    Replay(ReplayArguments),
    /// Show Tasks: their steps, how far each is, who is at work, what came of it
    Tasks(TasksArguments),
    /// Remove what is not needed any more; shows first what that would be
    #[command(subcommand, after_help = "Example: soong-agent cleanup artifacts --older-than 30d")]
    Cleanup(CleanupCommand),
    /// Look at what is remembered over sessions, or forget some of it
    #[command(subcommand, after_help = "Example: soong-agent memory list")]
    Memory(MemoryCommand),
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
the answer. Permission questions are answered on the terminal, or by a script on stdin. In a loop
that reads lines use `</dev/null`: a line such as `1` would be taken for an answer.

Examples:
  soong-agent run \"Explain src/main.rs\"
  printf '1\\n' | soong-agent run --path ~/project \"Add a licence header to main.py\"
  soong-agent run --session-id last \"And now the tests\"
  soong-agent run --orchestrator \"Move the parser into a crate of its own\"
  git diff | soong-agent run -

Exit codes: 0 done, 1 the run failed, 2 wrong usage or configuration, 3 done but a question went
unanswered, 130 cancelled with Ctrl-C.")]
pub(crate) struct RunArguments {
    /// What to do; `-` or nothing reads it from stdin
    pub(crate) message: Option<OsString>,
    /// The project folder, or a file in it [default: the current folder]
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Lay the work out as a task with steps, and see it through; needs a worker pool in config.toml
    #[arg(long)]
    pub(crate) orchestrator: bool,
    /// Go on with an earlier session: its id, a beginning of it (8 characters or more), or `last`, the project's latest
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
One line each: the session, when it was last used, its runs, how it stands, the project, its first words.
With --search the last column is the place that was found, and who said it. Ids are cut to what tells
them apart; commands take them so. Where stdout is no terminal the columns are separated by tabs, ids
are whole, times are UTC, as RFC 3339 writes them. A session that cannot be read is `damaged`, with the
reason; the exit code is then 1.

Examples:
  soong-agent sessions
  soong-agent sessions --path ~/project --all
  soong-agent sessions --search login 'migrat*'
  soong-agent sessions --all | cut -f 1,6")]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
    /// Only sessions in which all these words were said; `migrat*` finds what begins so
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pub(crate) search: Vec<String>,
    /// Only those of this project
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Every one
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Take a session along to the folder that its project was moved to
    #[command(after_help = "\
The conversation stays as it is; runs go on with it in the new folder.

Example: soong-agent sessions move sess_… ~/code/project")]
    Move {
        /// The session: its id, or a beginning of it (8 characters or more)
        #[arg(value_name = "SESSION")]
        session: String,
        /// The project folder, or a file in it
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
    /// Make a new database of what a damaged one still gives
    #[command(after_help = "\
The damaged database is set aside beside the new one, unchanged. What is lost is listed. Copies that
`sqlite3 … .dump` or `.recover` made are taken as well. No run may be using the database. Exit codes: 0
nothing is lost, 1 something is, or it failed.

Example: soong-agent sessions repair")]
    Repair,
}

#[derive(Debug, Args)]
#[command(after_help = "\
What looks like a secret is shown as such only with --include-sensitive.

Examples:
  soong-agent replay last
  soong-agent replay sess_… --debug | less
  soong-agent replay last --run 1
  soong-agent replay last --context
  soong-agent replay sess_… --run run_… --turn 2 > request.json")]
pub(crate) struct ReplayArguments {
    /// The session: its id, a beginning of it (8 characters or more), or `last`, the latest of the project
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// The project that `last` looks at [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Only this run: its id, its number in the timeline, or `last`
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Also the events without a row of their own, each with what it says: what requests were made of, when they were
    /// sent, what they cost. What tools were given and gave back is not among it; see --turn
    #[arg(long)]
    pub(crate) debug: bool,
    /// What went into every request and what was left out and why, with its tokens: how the context window was used, and
    /// what became of earlier turns
    #[arg(long, conflicts_with_all = ["debug", "turn", "request"])]
    pub(crate) context: bool,
    /// Show what looks like a key or password
    #[arg(long)]
    pub(crate) include_sensitive: bool,
    /// Print the request of this turn of --run (or else of the last run) as JSON: as it was made, before it took the form
    /// that the provider's server is sent
    #[arg(long, value_name = "N", conflicts_with = "request")]
    pub(crate) turn: Option<u32>,
    /// The same in one: --request run_…:2, 1:2, last:2
    #[arg(long, value_name = "RUN:TURN", conflicts_with = "run")]
    pub(crate) request: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without SESSION one line for each Task: the session, when the Task last changed, its id, its status, its steps
counted by state, its title. Where stdout is no terminal the columns are separated by tabs, ids are whole,
and `stalled` or `completeable` has a column of its own before the title.

With SESSION every step on a line of its own, below a step that it depends on; all that it depends on is
named. Nothing is locked and nothing is changed, so a Task can be looked at while it is worked on. A
lease is shown as it was last written; a process that is at work renews its leases in memory. The exit code
is 1 if a log makes no Task.

Examples:
  soong-agent tasks
  soong-agent tasks last
  soong-agent tasks last --watch
  soong-agent tasks sess_… --task release --verbose
  soong-agent tasks last --task release --svg release.svg
  soong-agent tasks cancel release --session sess_…")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TasksArguments {
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
    /// The session: its id, a beginning of it (8 characters or more), or `last`, the project's latest with Tasks
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// The project [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Only this Task
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) task: Option<String>,
    /// Also what the Task and its steps are about, and results in full
    #[arg(long, requires = "session", conflicts_with = "watch")]
    pub(crate) verbose: bool,
    /// Show changes as they come, until all Tasks have ended; Ctrl-C stops it. Without a terminal a line for each change
    #[arg(long)]
    pub(crate) watch: bool,
    /// Draw the Task as a picture; `-` writes it to stdout. A file is replaced only if it is such a picture
    #[arg(long, value_name = "FILE", requires = "session", conflicts_with_all = ["watch", "verbose"])]
    pub(crate) svg: Option<PathBuf>,
    /// Of at most so many sessions
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "session")]
    pub(crate) limit: u32,
    /// Of every session
    #[arg(long, conflicts_with_all = ["limit", "session"])]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Cancel a Task that nobody works on any more, with its steps
    #[command(after_help = "\
The Task's log takes the end; its steps so far stay to be read. While a process works on the Task it is left
alone: end that run first. `soong-agent cleanup tasks --cancelled` then removes the log.

Examples:
  soong-agent tasks cancel release
  soong-agent tasks cancel release --session sess_… --reason \"done by hand\"")]
    Cancel(CancelTask),
}

#[derive(Debug, Args)]
pub(crate) struct CancelTask {
    /// The Task's id
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Its session: an id, a beginning of it (8 characters or more), or `last` [default: the one that has such a Task]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// The project [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Why, for whoever looks at it later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CleanupCommand {
    /// Remove files of sessions: raw output kept for debugging and files that nothing names, or all
    Artifacts(CleanupArtifacts),
    /// Remove the logs of a project's Tasks that are completed
    Tasks(CleanupTasks),
    /// Remove a session with everything that belongs to it
    #[command(after_help = "\
Without --yes nothing is removed.

Example: soong-agent cleanup session sess_… --yes")]
    Session {
        /// The session: its id, a beginning of it (8 characters or more), or `last`, the latest of the current folder
        #[arg(value_name = "SESSION")]
        session: String,
        /// Do it
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without --yes nothing is removed. Sessions that are in use are left alone.

Examples:
  soong-agent cleanup artifacts
  soong-agent cleanup artifacts --all --older-than 30d
  soong-agent cleanup artifacts --all --max-bytes 500MB --yes")]
pub(crate) struct CleanupArtifacts {
    /// Only those of this session: its id, a beginning of it, or `last`, the latest of the current folder
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Also what results of tools refer to, such as long output
    #[arg(long)]
    pub(crate) all: bool,
    /// Only what is older: 30d, 12h, 90min
    #[arg(long, value_name = "SPAN")]
    pub(crate) older_than: Option<Span>,
    /// The oldest, until the rest is no more than this: 500MB, 1GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_bytes: Option<Size>,
    /// Do it
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without --yes nothing is removed. The log of a Task that has not ended always stays, and so does one that
cannot be read or is in use. What a crash tore off a log goes with it, and a session's folder once it is empty.

Examples:
  soong-agent cleanup tasks
  soong-agent cleanup tasks --path ~/project --older-than 30d
  soong-agent cleanup tasks --failed --cancelled --older-than 2w --yes")]
pub(crate) struct CleanupTasks {
    /// The project [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Also Tasks that failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Also Tasks that were cancelled
    #[arg(long)]
    pub(crate) cancelled: bool,
    /// Only what ended longer ago: 30d, 12h, 90min
    #[arg(long, value_name = "SPAN")]
    pub(crate) older_than: Option<Span>,
    /// Do it
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what is remembered, the latest first
    List(MemoryListArguments),
    /// Show a memory: where it comes from, and its text
    #[command(after_help = "Example: soong-agent memory show mem_…")]
    Show {
        /// The memory: its id, or a beginning of it (8 characters or more behind mem_)
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Remove memories, at once
    #[command(after_help = "\
What was removed is printed. The messages that a memory comes from stay in their session.

Example: soong-agent memory forget mem_… mem_…")]
    Forget {
        /// The memories: their ids, or beginnings of them
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
One line each: the memory, its kind, when it was last written, its project, what it says in short. Ids are
cut to what tells them apart; commands take them so. Where stdout is no terminal the columns are separated
by tabs, ids and projects are whole, times are UTC, as RFC 3339 writes them.

Examples:
  soong-agent memory list
  soong-agent memory list --path ~/project
  soong-agent memory list --all | cut -f 1,5")]
pub(crate) struct MemoryListArguments {
    /// Those of this project, besides those that hold everywhere [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Those of all projects
    #[arg(long, conflicts_with = "path")]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the configuration is looked for
    #[command(after_help = "Example: soong-agent config path")]
    Path,
    /// Print the packaged configuration to start from
    #[command(after_help = "Example: soong-agent config template > ~/.soong-agent/config.toml")]
    Template,
    /// Check the configuration and ask its model servers whether they are there
    #[command(after_help = "Example: soong-agent config check")]
    Check,
}
