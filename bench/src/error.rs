//! What can keep a measurement from being made.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

/// A measurement that was not made. A figure over its budget is no error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("cannot {step} {}", path.display())]
    File { step: &'static str, path: PathBuf, source: io::Error },
    #[error("cargo could not build what is to be measured")]
    Build,
    #[error("{} is not there; leave out --no-build", path.display())]
    Missing { path: PathBuf },
    #[error("the launcher reports something unreadable")]
    Launcher { source: serde_json::Error },
    #[error("{program} ended with {code:?}:\n{stderr}")]
    Failed { program: String, code: Option<i32>, stderr: String },
    #[error("a clock cannot be read")]
    Clock { source: nix::errno::Errno },
    #[error("the system does not say what a process has used")]
    Usage { source: nix::errno::Errno },
    #[error("{program} made {found} requests instead of {expected}")]
    Requests { program: String, found: usize, expected: usize },
    #[error("the last request does not hold what {file} says: its tool call failed")]
    NotRead { file: String },
    #[error("the tools cannot be set up: {what}")]
    Setup { what: String },
    #[error("there is nothing to take a median of")]
    Nothing,
    #[error("the redactor cannot be made")]
    Patterns { source: agent_redact::PatternsError },
    #[error("the bare search cannot be built")]
    Search { source: aho_corasick::BuildError },
    #[error("a request of soong-agent cannot be read")]
    Body { source: serde_json::Error },
    #[error("the session store fails")]
    Store {
        #[from]
        source: agent_store::StoreError,
    },
    #[error("SQLite fails")]
    Database {
        #[from]
        source: rusqlite::Error,
    },
    #[error("what was stored cannot be shown")]
    Archive {
        #[from]
        source: agent_core::error::ArchiveError,
    },
    #[error("an id cannot be made")]
    Id {
        #[from]
        source: agent_protocol::IdError,
    },
    #[error("the runtime cannot be built")]
    Runtime {
        #[from]
        source: agent_core::error::BuildError,
    },
    #[error("a run cannot be started")]
    Start {
        #[from]
        source: agent_core::error::RuntimeError,
    },
}

impl BenchError {
    pub(crate) fn file(step: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { step, path, source }
    }
}

/// The error and what caused it, in one line.
pub(crate) fn chain(error: &BenchError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
