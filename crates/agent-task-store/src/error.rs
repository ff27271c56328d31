//! Why a Task cannot be made, read or changed.

use std::path::PathBuf;

use agent_journal::JournalError;
use agent_protocol::ErrorCode;
use agent_tasks::{Refusal, TaskId};

/// Why a command has no effect.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The rules of Tasks forbid it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no such Task in the session.
    #[error("there is no task {0} in this session; agent.task_list lists them")]
    NotFound(TaskId),
    /// An active Task has this id.
    #[error("there is an active task {0} already: choose another task_id")]
    Exists(TaskId),
    /// A file has the name of the log.
    #[error("{} exists already: choose another wal_name", .0.display())]
    LogExists(PathBuf),
    /// The log cannot be written; the Task is as it was.
    #[error("the log of task {task_id} cannot be written: {source}")]
    Log {
        /// The Task.
        task_id: TaskId,
        /// What happened.
        source: JournalError,
    },
    /// The log cannot be used: it is damaged, in use by another process, or failed before.
    #[error("task {task_id} is not available: {why}")]
    Unavailable {
        /// The Task.
        task_id: TaskId,
        /// What happened.
        why: String,
    },
    /// A folder or file cannot be read or made.
    #[error("cannot {step} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        step: &'static str,
        /// Where.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl TaskError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::NotFound(_) => ErrorCode::TaskNotFound,
            Self::Exists(_) => ErrorCode::ValidationError,
            Self::LogExists(_) => ErrorCode::PathConflict,
            Self::Log { .. } | Self::Unavailable { .. } | Self::Io { .. } => ErrorCode::TaskWalUnavailable,
        }
    }
}
