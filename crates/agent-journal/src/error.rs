//! What can go wrong with a journal.

use std::io;
use std::path::PathBuf;

/// Why a journal cannot be made, opened or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is a file already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// Somebody writes to it.
    #[error("{} is in use by {}", .path.display(), holder(*.pid))]
    Locked {
        /// The file.
        path: PathBuf,
        /// The process, where the operating system tells it.
        pid: Option<u32>,
    },
    /// The operating system refused a step.
    #[error("cannot {step} {}: {source}", .path.display())]
    Io {
        /// What was tried, such as `write to`.
        step: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// An earlier failure left the file in a state that nobody knows. It is usable again once it was opened again.
    #[error("{} cannot be written any more: {why}", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What happened.
        why: String,
    },
    /// The bytes to append are no group of whole lines. A fault of the caller; nothing was written.
    #[error("a group of lines must not be empty and must end with a line end")]
    NotWhole,
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// Why the lines of a journal cannot be read: the file, or what its reader says of a line.
#[derive(Debug, thiserror::Error)]
pub enum ReadError<E> {
    /// The file.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A line is not text, or too long.
    #[error("{}: line {line} {why}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The reader refused a line.
    #[error("{0}")]
    Refused(E),
}
