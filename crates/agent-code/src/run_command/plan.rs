//! What exactly would be run, found out without running it.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use agent_exec::resolve_program;
use agent_policy::Command;
use agent_protocol::{ErrorCode, ErrorPayload};
use agent_redact::{KnownSecrets, quote_argv, shorten};

use super::{
    editors,
    input::Input,
    program,
    ties::{Ties, absolute_entries},
};
use crate::{
    fail,
    place::{Folder, Found, walk},
    workspace::Workspace,
};

const PATH: &str = "PATH";
/// Always set, so that git fails instead of asking nobody for a password.
const NO_PROMPT: (&str, &str) = ("GIT_TERMINAL_PROMPT", "0");

/// How much of a command a message repeats.
const SHOWN_COLUMNS: usize = 200;

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
    ties: Ties,
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
        let program = resolve_program(argv0.as_ref(), path_var, cwd.path())
            .map_err(|error| program::missing(&error, &input.argv, path_var))?;
        let resolved = fs::canonicalize(&program).map_err(|error| fail::os("find", argv0, &error))?;
        let env = environment(workspace, cwd.path());
        let ties = Ties::find(workspace, &resolved, &input.argv, cwd.path(), search_path(&env));
        let command = Command {
            argv: input.argv,
            program: resolved,
            cwd: cwd.path().to_owned(),
            env_names: env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
            code: ties.code(),
            named: ties.named.clone(),
            guessed: ties.guessed.clone(),
            untied: ties.untied.clone(),
        };
        Ok(Self { command, program, env, timeout, cwd, ties })
    }

    /// Fails if something that was decided about has changed since.
    ///
    /// The working directory is held open and is the one the program starts in. The program and the files it is given are
    /// opened by their names once more, by the system and by the program itself: whoever swaps one of them in between these
    /// microseconds and the start is not noticed.
    pub(super) fn still_holds(&self, workspace: &Workspace, secrets: &KnownSecrets) -> Result<(), ErrorPayload> {
        let changed = |what: &str| {
            let message = format!("{what} changed while this call waited; look at it and call again");
            Err(fail::conflict(&self.shown(secrets), message))
        };
        let now = match walk(self.cwd.path()) {
            Ok(Found::Folder(folder)) => folder.identity().ok(),
            _ => None,
        };
        if now.is_none() || now != self.cwd.identity().ok() {
            return changed("the working directory");
        }
        let command = &self.command;
        if fs::canonicalize(&self.program).ok().as_ref() != Some(&command.program) {
            return changed("the program");
        }
        let now = Ties::find(workspace, &command.program, &command.argv, &command.cwd, search_path(&self.env));
        if !self.ties.still_hold(&now) {
            return changed("the program or a file it is given");
        }
        Ok(())
    }

    /// The working directory itself, for the program to start in. Nothing if there are no descriptors left.
    pub(super) fn held_cwd(&self) -> Option<OwnedFd> {
        self.cwd.fd().try_clone().ok()
    }

    /// The command for people, without known secrets: those go first, as a secret that is quoted or cut is not found.
    pub(super) fn shown(&self, secrets: &KnownSecrets) -> String {
        shorten(&quote_argv(&redacted(&self.command.argv, secrets)), SHOWN_COLUMNS).into_owned()
    }
}

/// The words without known secrets.
pub(super) fn redacted(argv: &[String], secrets: &KnownSecrets) -> Vec<String> {
    argv.iter().map(|word| secrets.redact(word).text.into_owned()).collect()
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
    if requested.is_empty() {
        return Err(fail::invalid("cwd is empty: leave it out to run in the project, or name a folder of it"));
    }
    let found = workspace.find(requested).map_err(|mut error| {
        error.message = format!("cwd: {}", error.message);
        error
    })?;
    match found {
        Found::Folder(folder) if workspace.rules().may_run_in(folder.path()) => Ok(folder),
        Found::Folder(_) => outside(),
        Found::Missing { folder, .. } if !workspace.rules().may_run_in(folder.path()) => outside(),
        Found::Missing { folder, missing } => {
            let mut error = workspace.missing(requested, &folder, &missing[0]);
            error.message = format!("the working directory {}", error.message);
            Err(error)
        }
        Found::Entry { .. } => Err(fail::invalid(format!("the working directory {requested} is not a folder"))),
    }
}

/// What was handed in, but for what would mean another folder than the one the program starts in.
fn environment(workspace: &Workspace, cwd: &Path) -> Vec<(OsString, OsString)> {
    let set = |(name, value): &(OsString, OsString)| match name.to_str() {
        Some(name) if name == NO_PROMPT.0 => None,
        Some(PATH) => Some((PATH.into(), absolute_entries(value)?)),
        Some("PWD") => Some(("PWD".into(), cwd.into())),
        _ => Some((name.clone(), value.clone())),
    };
    let mut env: Vec<_> = workspace.settings().env.iter().filter_map(set).collect();
    env.push((NO_PROMPT.0.into(), NO_PROMPT.1.into()));
    editors::keep_out(&mut env);
    env
}

/// Where the program itself looks for others.
fn search_path(env: &[(OsString, OsString)]) -> Option<&OsStr> {
    env.iter().find(|(name, _)| name == PATH).map(|(_, value)| value.as_os_str())
}
