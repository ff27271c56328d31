//! Starting a program.

use crate::{
    CALL_MARKER, CommandSpec, ExecError, ProgressSink, Stdin,
    environment::is_name,
    format::is_for_a_shell,
    group::Group,
    marker::Marker,
    orphans::Entry,
    progress::Reporter,
    pump::Pump,
    stream::{Feed, OutputStream},
};
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::fs::{Access, AtFlags, CWD, accessat};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// How often, and after what pause, a file that someone still writes is tried again.
///
/// A file that is open for writing cannot be executed, and a program that another call starts at that moment holds a
/// copy of the descriptor until it is executed itself: writing a script and running it can fail by no fault of theirs.
const BUSY_TRIES: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Starts the program in its own session, its pipes attached.
pub(crate) async fn launch(
    spec: CommandSpec,
    progress: Option<ProgressSink>,
    started: Instant,
) -> Result<(Group, Pump), ExecError> {
    check(&spec)?;
    let marker = Marker::new();
    let mut tries = 1;
    let (mut child, entry) = loop {
        if is_for_a_shell(&spec.program) {
            return Err(ExecError::NoProgram { program: spec.program });
        }
        match Entry::of(&marker, || spawn(&spec, &marker), |child| child.id()) {
            Ok(started) => break started,
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES => tries += 1,
            Err(error) => return Err(refused(&spec, error)),
        }
        sleep(BUSY_PAUSE).await;
    };
    let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let failed = |source| ExecError::Pipes { program: spec.program.clone(), source };
    // From here on, dropping the group is what cleans up.
    let group = Group::new(child, entry, marker).map_err(failed)?;
    let (stdin, Some(stdout), Some(stderr)) = pipes else { return Err(failed(io::ErrorKind::NotFound.into())) };
    let feed = match (stdin, spec.stdin) {
        (Some(pipe), Stdin::Bytes(bytes)) => Some(Feed::new(OwnedFd::from(pipe), bytes).map_err(failed)?),
        _ => None,
    };
    let pump = Pump {
        stdin: feed,
        stdout: OutputStream::new(stdout.into(), spec.stdout).map_err(failed)?,
        stderr: OutputStream::new(stderr.into(), spec.stderr).map_err(failed)?,
        reporter: progress.map(|sink| Reporter::new(sink, started)),
    };
    Ok((group, pump))
}

/// Tells apart what the system would report with one and the same error number.
fn check(spec: &CommandSpec) -> Result<(), ExecError> {
    if spec.argv.is_empty() {
        return Err(ExecError::EmptyArgv);
    }
    if !spec.program.is_absolute() {
        return Err(ExecError::ProgramNotAbsolute { program: spec.program.clone() });
    }
    let cwd = spec.cwd.clone();
    if !cwd.is_absolute() {
        return Err(ExecError::CwdNotAbsolute { cwd });
    }
    match fs::metadata(start_folder(spec)) {
        Err(source) => return Err(ExecError::Cwd { cwd, source }),
        Ok(found) if !found.is_dir() => return Err(ExecError::CwdNotDirectory { cwd }),
        Ok(_) => {}
    }
    if let Err(error) = accessat(CWD, start_folder(spec), Access::EXEC_OK, AtFlags::EACCESS) {
        return Err(ExecError::Cwd { cwd, source: error.into() });
    }
    match spec.env.iter().find(|(name, _)| !is_name(name)) {
        Some((name, _)) => Err(ExecError::EnvName { name: name.clone() }),
        None => Ok(()),
    }
}

/// The working directory as the child finds it: through the descriptor, of which it has a copy until it executes the
/// program.
#[cfg(target_os = "linux")]
fn start_folder(spec: &CommandSpec) -> PathBuf {
    let held = spec.held_cwd.as_ref().map(|held| PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd())));
    held.filter(|folder| folder.exists()).unwrap_or_else(|| spec.cwd.clone())
}

#[cfg(not(target_os = "linux"))]
fn start_folder(spec: &CommandSpec) -> PathBuf {
    spec.cwd.clone()
}

fn refused(spec: &CommandSpec, source: io::Error) -> ExecError {
    let program = spec.program.clone();
    if source.kind() == io::ErrorKind::NotFound && program.exists() {
        ExecError::InterpreterMissing { program, source }
    } else {
        ExecError::Spawn { program, source }
    }
}

/// The wrapper is there for its setsid between fork and exec. What it makes of the child is not used: it waits for,
/// and so collects, whole groups.
fn spawn(spec: &CommandSpec, marker: &Marker) -> io::Result<Box<dyn ChildWrapper>> {
    let child = CommandWrap::from(command(spec, marker)).wrap(ProcessSession).spawn()?;
    Ok(child.into_inner())
}

fn command(spec: &CommandSpec, marker: &Marker) -> Command {
    let mut command = Command::new(&spec.program);
    if let Some((argv0, arguments)) = spec.argv.split_first() {
        command.arg0(argv0).args(arguments);
    }
    command
        .current_dir(start_folder(spec))
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env(CALL_MARKER, marker.value(Marker::outer(&spec.env)))
        .stdin(match spec.stdin {
            Stdin::Closed => Stdio::null(),
            Stdin::Bytes(_) => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
