//! Why a run could not be started.

use agent_protocol::{AgentId, ErrorCode, ErrorPayload, NodeId, RunId, SessionId};
use agent_store::StoreError;

use crate::archive::Missing;

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
    /// There is nothing with this id.
    #[error("there is no {kind} {id}")]
    NotFound {
        /// What was looked for.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// A session's active path is in its own agent's tree (STO-8).
    #[error(
        "node {node_id} belongs to agent {agent_id}, not to the agent of session {session_id}: choose a node of its own"
    )]
    OtherTree {
        /// The session.
        session_id: SessionId,
        /// The node.
        node_id: NodeId,
        /// Whose it is.
        agent_id: AgentId,
    },
    /// No new branch can start after the node (STO-7).
    #[error(transparent)]
    Branch(#[from] agent_engine::BranchError),
    /// A past request cannot be put together again.
    #[error("the request of turn {turn} of run {run_id} cannot be rebuilt: {missing}")]
    NotRebuilt {
        /// The run.
        run_id: RunId,
        /// The turn.
        turn: u32,
        /// What is missing.
        missing: Missing,
    },
    /// What looks like a secret cannot be searched for, so nothing is shown.
    #[error(transparent)]
    Patterns(#[from] agent_redact::PatternsError),
    /// Work beside the caller's ended without a result.
    #[error("{work} stopped unexpectedly; this is a bug in soong-agent")]
    BrokeOff {
        /// What.
        work: &'static str,
    },
    /// The runtime has been closed.
    #[error("the runtime is closed")]
    Closed,
}

impl RuntimeError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::EmptyMessage
            | Self::OtherProject { .. }
            | Self::Tool(_)
            | Self::NotFound { .. }
            | Self::OtherTree { .. }
            | Self::Branch(_) => ErrorCode::ValidationError,
            Self::ModeNotAvailable => ErrorCode::UnsupportedCapability,
            Self::SessionBusy { .. } | Self::QueueFull { .. } => ErrorCode::SessionActive,
            Self::Budget(_) => ErrorCode::ConfigError,
            Self::Store(error) => error.code(),
            Self::NotRebuilt { .. } => ErrorCode::StorageError,
            Self::Patterns(_) | Self::BrokeOff { .. } => ErrorCode::InternalError,
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
