//! What exactly would be run, found out without running it.

use std::{ffi::OsString, fs, path::PathBuf, time::Duration};

use agent_exec::{ProgramError, resolve_program};
use agent_policy::{Command, quote_argv};
use agent_protocol::{ErrorCode, ErrorPayload};

use super::{Input, code_files::code_files};
use crate::code::{
    fail,
    place::{Folder, Found, walk},
    workspace::Workspace,
};

/// Always set, so that git fails instead of asking nobody for a password.
const NO_PROMPT: (&str, &str) = ("GIT_TERMINAL_PROMPT", "0");

/// A command that could run.
#[derive(Debug)]
pub(super) struct Plan {
    /// What is decided about.
    pub(super) command: Command,
    /// The program as it was found, links unresolved: some programs act by the name they are called by.
    pub(super) program: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) timeout: Duration,
    /// The working directory, held open.
    cwd: Folder,
}

impl Plan {
    pub(super) fn make(workspace: &Workspace, input: Input) -> Result<Self, ErrorPayload> {
        let argv0 = input.argv.first().filter(|argv0| !argv0.is_empty());
        let argv0 = argv0.ok_or_else(|| fail::invalid("argv is empty: its first element names the program to run"))?;
        if let Some(index) = input.argv.iter().position(|word| word.contains('\0')) {
            return Err(fail::invalid(format!("argv[{index}] holds a NUL character")));
        }
        let timeout = timeout(workspace, input.timeout_ms)?;
        let cwd = working_directory(workspace, input.cwd.as_deref().unwrap_or("."))?;
        let path_var = &workspace.settings().path_var;
        let program = resolve_program(argv0.as_ref(), path_var, cwd.path()).map_err(|error| no_program(&error))?;
        let resolved = fs::canonicalize(&program).map_err(|error| fail::os("find", argv0, &error))?;
        let code = code_files(workspace, &resolved, &input.argv, cwd.path());
        let env = environment(workspace);
        let command = Command {
            argv: input.argv,
            program: resolved,
            cwd: cwd.path().to_owned(),
            env_names: env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
            code,
        };
        Ok(Self { command, program, env, timeout, cwd })
    }

    /// Fails if something that was decided about has changed since.
    pub(super) fn still_holds(&self, workspace: &Workspace) -> Result<(), ErrorPayload> {
        let changed = |what: &str| {
            let message = format!("{what} changed while this call waited; look at it and call again");
            Err(fail::conflict(&self.shown(), message))
        };
        let now = match walk(self.cwd.path()) {
            Ok(Found::Folder(folder)) => folder.identity().ok(),
            _ => None,
        };
        if now.is_none() || now != self.cwd.identity().ok() {
            return changed("the working directory");
        }
        let command = &self.command;
        let resolved = fs::canonicalize(&self.program);
        if resolved.is_ok_and(|resolved| resolved != command.program)
            || code_files(workspace, &command.program, &command.argv, &command.cwd) != command.code
        {
            return changed("the program or a file it is given");
        }
        Ok(())
    }

    /// The command for people.
    pub(super) fn shown(&self) -> String {
        agent_policy::shorten(&quote_argv(&self.command.argv), 200).into_owned()
    }
}

/// In whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn timeout(workspace: &Workspace, wanted: Option<u64>) -> Result<Duration, ErrorPayload> {
    let limits = &workspace.settings().limits;
    let timeout = wanted.map_or(limits.default_timeout, Duration::from_millis);
    if timeout > limits.max_timeout {
        let max = millis(limits.max_timeout);
        return Err(fail::invalid(format!("timeout_ms must be at most {max}")).detail("max_timeout_ms", max));
    }
    if timeout.is_zero() {
        return Err(fail::invalid("timeout_ms must be at least 1"));
    }
    Ok(timeout)
}

/// Where commands may start is not a question to anybody (COD-11).
fn working_directory(workspace: &Workspace, requested: &str) -> Result<Folder, ErrorPayload> {
    let outside = || {
        let message = format!("the working directory {requested} lies outside the project and the write roots");
        Err(ErrorPayload::new(ErrorCode::WriteOutsideAllowedRoots, message).detail("path", requested))
    };
    match workspace.find(requested)? {
        Found::Folder(folder) if workspace.rules().may_run_in(folder.path()) => Ok(folder),
        Found::Folder(_) => outside(),
        Found::Missing { folder, .. } if !workspace.rules().may_run_in(folder.path()) => outside(),
        Found::Missing { .. } => {
            let message = format!("the working directory {requested} does not exist");
            Err(ErrorPayload::new(ErrorCode::FileNotFound, message).detail("path", requested))
        }
        Found::Entry { .. } => Err(fail::invalid(format!("the working directory {requested} is not a folder"))),
    }
}

fn environment(workspace: &Workspace) -> Vec<(OsString, OsString)> {
    let mut env = workspace.settings().env.clone();
    env.retain(|(name, _)| name != NO_PROMPT.0);
    env.push((NO_PROMPT.0.into(), NO_PROMPT.1.into()));
    env
}

fn no_program(error: &ProgramError) -> ErrorPayload {
    let code = match error {
        ProgramError::NotInPath { .. } | ProgramError::Missing { .. } => ErrorCode::FileNotFound,
        ProgramError::NotExecutable { .. } => ErrorCode::PermissionDenied,
        // Empty, a whole command line, not a file, and whatever is added to them.
        _ => ErrorCode::ValidationError,
    };
    ErrorPayload::new(code, error.to_string()).detail("kind", "program")
}
