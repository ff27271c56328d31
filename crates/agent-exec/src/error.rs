//! Why a program could not be found or run.

use std::{ffi::OsString, io, path::PathBuf};

/// Why [`run`](crate::run()) could not run a program. How a program that ran has ended is not an error but an
/// [`Exit`](crate::Exit).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// There is not even an `argv[0]`.
    #[error("the argument list is empty")]
    EmptyArgv,
    /// The program path would depend on a current folder.
    #[error("program path `{}` is not absolute", .program.display())]
    ProgramNotAbsolute {
        /// The path as given.
        program: PathBuf,
    },
    /// The working directory would depend on a current folder.
    #[error("working directory `{}` is not absolute", .cwd.display())]
    CwdNotAbsolute {
        /// The path as given.
        cwd: PathBuf,
    },
    /// The working directory is missing, or cannot be looked at.
    #[error("cannot start in working directory `{}`", .cwd.display())]
    Cwd {
        /// The path as given.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The working directory is something else.
    #[error("working directory `{}` is not a directory", .cwd.display())]
    CwdNotDirectory {
        /// The path as given.
        cwd: PathBuf,
    },
    /// A variable name that no environment can hold.
    #[error("environment variable name `{}` is empty or holds `=` or NUL", .name.display())]
    EnvName {
        /// The name as given.
        name: OsString,
    },
    /// The file is there, but what its `#!` line or its ELF header asks for is not.
    #[error("`{}` exists, but the interpreter or loader it names does not", .program.display())]
    InterpreterMissing {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither a script that names its interpreter nor anything else the system executes. Other tools give such a file to
    /// a shell.
    #[error(
        "exec format error: `{}` has no `#!` line and is no program of this machine",
        .program.display()
    )]
    NoProgram {
        /// The program.
        program: PathBuf,
    },
    /// The system refused to start the program.
    #[error("cannot start `{}`", .program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program was started, but its pipes could not be used; it has been killed.
    #[error("cannot use the pipes of `{}`", .program.display())]
    Pipes {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program ended, but the system does not tell how, for example because the process ignores SIGCHLD or
    /// something else in it collects all children.
    #[error("cannot learn how `{}` ended", .program.display())]
    Status {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why [`resolve_program`](crate::resolve_program) found no program for an `argv[0]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// `argv[0]` is the empty string.
    #[error("argv[0] is empty: it must name the program to run")]
    Empty,
    /// `argv[0]` is no program but looks like a line for a shell.
    #[error(
        "no program is named `{}`: argv[0] contains a space; pass each argument as its own element, or use \
         [\"sh\", \"-c\", ...] when a shell is wanted",
        .argv0.display()
    )]
    CommandLine {
        /// `argv[0]` as given.
        argv0: OsString,
    },
    /// A bare name that no folder of the search path holds.
    #[error("`{}` was not found in the {searched} absolute folders of PATH", .argv0.display())]
    NotInPath {
        /// `argv[0]` as given.
        argv0: OsString,
        /// How many folders were searched; relative and empty entries are not.
        searched: usize,
    },
    /// A path that leads nowhere.
    #[error("`{}` does not exist", .path.display())]
    Missing {
        /// The path that was tried.
        path: PathBuf,
    },
    /// The path leads to a directory, a device or the like.
    #[error("`{}` is not a regular file", .path.display())]
    NotAFile {
        /// The path that was tried.
        path: PathBuf,
    },
    /// The file is there, but this user may not execute it.
    #[error("`{}` is not executable for this user", .path.display())]
    NotExecutable {
        /// The path that was tried.
        path: PathBuf,
    },
}
