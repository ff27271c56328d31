//! Why a run could not be started.

use agent_archive::ArchiveError;
use agent_protocol::{ErrorCode, ErrorPayload, SessionId};
use agent_store::StoreError;

use crate::worker_pools::WorkerPoolError;

/// Why a run could not be started. What goes wrong later ends the run and is in its events.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is nothing to do.
    #[error("the message is empty: say what is to be done")]
    EmptyMessage,
    /// Orchestrator mode needs workers that could be used (WRK-1).
    #[error(transparent)]
    WorkerPools(#[from] WorkerPoolError),
    /// The session has runs at work or waiting, and what was asked for needs it idle.
    #[error("session {session_id} is still at work: wait for its runs, or cancel them")]
    SessionBusy {
        /// The session.
        session_id: SessionId,
    },
    /// Too many runs wait for the session.
    #[error("{waiting} runs wait for session {session_id} already: wait until one has ended, or use another session")]
    QueueFull {
        /// The session.
        session_id: SessionId,
        /// How many wait.
        waiting: usize,
    },
    /// The session belongs to another project (COD-10).
    #[error(
        "session {session_id} belongs to the project {cwd}, not to {project}: start it in its own project, or leave the session \
         id out"
    )]
    OtherProject {
        /// The session.
        session_id: SessionId,
        /// Its project.
        cwd: String,
        /// The project of this runtime.
        project: String,
    },
    /// The context window is too small for what must be in it (CFG-8).
    #[error(transparent)]
    Budget(#[from] agent_engine::BudgetError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tool cannot be registered.
    #[error(transparent)]
    Tool(#[from] agent_tool::RegisterError),
    /// What was stored could not be shown or changed.
    #[error(transparent)]
    Archive(ArchiveError),
    /// The runtime has been closed.
    #[error("the runtime is closed")]
    Closed,
}

impl From<ArchiveError> for RuntimeError {
    /// What the store refused is the same, whoever asked it.
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Store(error) => Self::Store(error),
            other => Self::Archive(other),
        }
    }
}

impl RuntimeError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::EmptyMessage | Self::OtherProject { .. } | Self::Tool(_) => ErrorCode::ValidationError,
            Self::SessionBusy { .. } | Self::QueueFull { .. } => ErrorCode::SessionActive,
            Self::Budget(_) | Self::WorkerPools(_) => ErrorCode::ConfigError,
            Self::Store(error) => error.code(),
            Self::Archive(error) => error.code(),
            Self::Closed => ErrorCode::Cancelled,
        }
    }

    /// The contract's payload.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        match self {
            Self::Store(error) => error.payload(),
            Self::Archive(error) => error.payload(),
            other => ErrorPayload::new(other.code(), other.to_string()),
        }
    }
}
