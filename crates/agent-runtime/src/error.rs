//! Why a run could not be started.

use agent_protocol::{ErrorCode, ErrorPayload, SessionId};
use agent_store::StoreError;

/// Why a run could not be started. What goes wrong later ends the run and is in its events.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is nothing to do.
    #[error("the message is empty: say what is to be done")]
    EmptyMessage,
    /// The mode needs something that is not there.
    #[error("orchestrator mode is not available in this version: start the run in normal mode")]
    ModeNotAvailable,
    /// The session has a run at work.
    #[error("session {session_id} is still at work on an earlier message: wait for it or cancel it")]
    SessionBusy {
        /// The session.
        session_id: SessionId,
    },
    /// The session belongs to another project (COD-10).
    #[error(
        "session {session_id} belongs to the project {cwd}, not to {project}: start it there, or leave the session id out"
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
    Tool(#[from] agent_tools::RegisterError),
    /// The runtime has been closed.
    #[error("the runtime is closed")]
    Closed,
}

impl RuntimeError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::EmptyMessage | Self::OtherProject { .. } | Self::Tool(_) => ErrorCode::ValidationError,
            Self::ModeNotAvailable => ErrorCode::UnsupportedCapability,
            Self::SessionBusy { .. } => ErrorCode::SessionActive,
            Self::Budget(_) => ErrorCode::ConfigError,
            Self::Store(error) => error.code(),
            Self::Closed => ErrorCode::Cancelled,
        }
    }

    /// The contract's payload.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        match self {
            Self::Store(error) => error.payload(),
            other => ErrorPayload::new(other.code(), other.to_string()),
        }
    }
}
