//! Why something stored could not be shown or changed.

use agent_protocol::{AgentId, ErrorCode, ErrorPayload, NodeId, RunId, SessionId};
use agent_store::StoreError;

use crate::missing::Missing;

/// Why something stored could not be shown or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// The run is no child's.
    #[error(
        "run {run_id} is no child's: it is one of the session's own agent, or of an agent that core made for itself"
    )]
    NoChild {
        /// The run.
        run_id: RunId,
    },
    /// The run is a child's, but another run asked for it.
    #[error("run {child_run_id} is no child of run {run_id}: run {parent_run_id} asked for it")]
    OthersChild {
        /// The run that was asked.
        run_id: RunId,
        /// What it was asked for.
        child_run_id: RunId,
        /// The run that asked for the child.
        parent_run_id: RunId,
    },
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
    /// A session has no run of this number.
    #[error("there is no run {number}: session {session_id} has {runs} {}, counted from 1", if *.runs == 1 { "run" } else { "runs" })]
    NoSuchNumber {
        /// The session.
        session_id: SessionId,
        /// The number.
        number: u64,
        /// How many runs there are.
        runs: u64,
    },
    /// What looks like a secret cannot be searched for, so nothing is shown.
    #[error(transparent)]
    Patterns(#[from] agent_redact::PatternsError),
    /// The folder of the logs of Tasks cannot be read.
    #[error("{0}")]
    Tasks(String),
    /// A process works on the Task.
    #[error("{0}")]
    TaskInUse(String),
    /// Work beside the caller's ended without a result.
    #[error("{work} stopped unexpectedly; this is a bug in soong-agent")]
    BrokeOff {
        /// What.
        work: &'static str,
    },
}

impl ArchiveError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. }
            | Self::OtherTree { .. }
            | Self::Branch(_)
            | Self::NoSuchNumber { .. }
            | Self::NoChild { .. }
            | Self::OthersChild { .. } => ErrorCode::ValidationError,
            Self::Store(error) => error.code(),
            Self::NotRebuilt { .. } => ErrorCode::StorageError,
            Self::Tasks(_) | Self::TaskInUse(_) => ErrorCode::TaskWalUnavailable,
            Self::Patterns(_) | Self::BrokeOff { .. } => ErrorCode::InternalError,
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

/// The request of a turn cannot be made again.
pub(crate) fn not_rebuilt(run_id: &RunId, turn: u32, missing: Missing) -> ArchiveError {
    ArchiveError::NotRebuilt { run_id: run_id.clone(), turn, missing }
}
