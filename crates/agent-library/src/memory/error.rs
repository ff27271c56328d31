//! What can go wrong with memory files.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{MemoryId, NameError, UnknownCategory};

/// Why memories could not be read, forgotten or written.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// CFG-10. A link counts as where it leads.
    #[error("memory_dir {} does not lie inside {}; set memory.memory_dir to a folder in it", .memory_dir.display(), .home.display())]
    NotInHome {
        /// The folder, resolved as far as it exists.
        memory_dir: PathBuf,
        /// What it must be inside of.
        home: PathBuf,
    },
    /// Links are not followed.
    #[error("{} is a link, which is not followed; put what it leads to in its place", .path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A folder where a file should be, or the other way round, or something special.
    #[error("{} is not {expected}; move it away", .path.display())]
    NotA {
        /// What is there.
        path: PathBuf,
        /// "a folder", "a regular file".
        expected: &'static str,
    },
    /// It is larger than any honest one.
    #[error("{} is larger than {limit} bytes; shorten it", .path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
        /// Most bytes that are read.
        limit: u64,
    },
    /// Another process holds the lock for too long.
    #[error("{} was locked by another process for {waited_ms} ms; try again when it is done", .path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// Milliseconds.
        waited_ms: u64,
    },
    /// Somebody writes to it all the time.
    #[error("{} keeps changing; try again", .path.display())]
    Restless {
        /// The file.
        path: PathBuf,
    },
    /// No memory has that id.
    #[error("there is no memory {id:?}{}", near_ids(.near))]
    NotFound {
        /// What was asked for, cut where it is long.
        id: String,
        /// Ids that look like it.
        near: Vec<MemoryId>,
    },
    /// The beginning of an id stands for several memories.
    #[error("{beginning:?} is the beginning of several memories: {}; give more of it", list(.ids))]
    Ambiguous {
        /// What was asked for.
        beginning: String,
        /// What begins so; ten at most.
        ids: Vec<MemoryId>,
    },
    /// The system refused.
    #[error("cannot {step} {}", .path.display())]
    Os {
        /// What was tried.
        step: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl MemoryError {
    pub(super) fn os(step: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Os { step, path: path.to_owned(), source: source.into() }
    }

    /// What is wrong with a file, without its path.
    pub(super) fn about_it(&self) -> String {
        match self {
            Self::Link { .. } => "it is a link, which is not followed; put what it leads to in its place".to_owned(),
            Self::NotA { expected, .. } => format!("it is not {expected}; move it away"),
            Self::TooBig { limit, .. } => format!("it is larger than {limit} bytes; shorten it"),
            Self::Os { step, source, .. } => format!("cannot {step} it: {source}"),
            other => other.to_string(),
        }
    }
}

/// Why there is no place for what a decision says. It was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// MEM-01.
    #[error(transparent)]
    Name(#[from] NameError),
    /// MEM-02.
    #[error(transparent)]
    Category(#[from] UnknownCategory),
}

/// Why a batch of decisions was not applied. Its cursor must not move (MEM-6).
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No honest model finds so much at once. Nothing was written.
    #[error("{found} decisions at once; at most {limit} are applied")]
    TooMany {
        /// Decisions.
        found: usize,
        /// Most decisions.
        limit: usize,
    },
    /// The caller's random part cannot be part of an id. Nothing was written.
    #[error("{rand:?} cannot be part of an id; use 1 to {limit} of a-z and 0-9")]
    Rand {
        /// What was given.
        rand: String,
        /// Most characters.
        limit: usize,
    },
    /// What was written before this is whole; the next write brings the catalog up to date.
    #[error(transparent)]
    Store(#[from] MemoryError),
}

fn near_ids(near: &[MemoryId]) -> String {
    if near.is_empty() { String::new() } else { format!("; near it are {}", list(near)) }
}

fn list(ids: &[MemoryId]) -> String {
    ids.iter().map(MemoryId::as_str).collect::<Vec<_>>().join(", ")
}
