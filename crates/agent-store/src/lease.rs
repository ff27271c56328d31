//! Ownership of a session.

use std::fmt;

use agent_protocol::SessionId;

use crate::rows::{AgentInfo, FileVersion, RunInfo, SessionInfo};

/// Ownership of a session (RUN-4, DEC-4). Dropping it gives the session free. Several runs share one behind an `Arc`.
///
/// The fence is a number that grows with every claim and is checked in every write transaction, so that an owner whose
/// hold was broken from outside cannot write any more.
pub struct Lease {
    session_id: SessionId,
    fence: u64,
    _hold: Box<dyn Send + Sync>,
}

impl Lease {
    /// For implementations of the store: `hold` is whatever keeps others out until it is dropped.
    pub fn new(session_id: SessionId, fence: u64, hold: impl Send + Sync + 'static) -> Self {
        Self { session_id, fence, _hold: Box::new(hold) }
    }

    /// The session that is owned.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// How often the session has been claimed, this claim included.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("session_id", &self.session_id)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}

/// A session that has just been claimed, as it was then.
#[derive(Debug)]
pub struct ClaimedSession {
    /// The session.
    pub row: SessionInfo,
    /// Its root agent.
    pub root: AgentInfo,
    /// Ownership of it.
    pub lease: Lease,
    /// The runs that have not ended, those of all agents, in the order in which they began: their process is gone (RUN-20).
    pub unfinished: Vec<RunInfo>,
    /// What its agents wrote and have not seen changed since, by path (INS-6).
    pub written_files: Vec<FileVersion>,
}
