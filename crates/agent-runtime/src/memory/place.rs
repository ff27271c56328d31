//! Where and with what is found out what to remember.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_protocol::{AgentId, RunId, SessionId};
use agent_redact::SecretPatterns;
use agent_store::SessionStore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::memories::Memory;
use super::schedule::ExtractionSchedule;
use crate::owned::OwnedSession;
use crate::redact::Redactor;

/// Where somebody works: a session, and the run after which it is done.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) session_id: SessionId,
    /// Whose messages count: what children do among themselves is nobody's memory (MEM-4).
    pub(super) agent_id: AgentId,
    pub(super) run_id: RunId,
    /// Not held: a session that is given up is left alone.
    pub(super) owned: Weak<OwnedSession>,
}

/// A clock stops when this is dropped.
pub(super) type Clock = AbortOnDropHandle<()>;

pub(super) struct Inner {
    pub(super) memory: Memory,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) redactor: Redactor,
    pub(super) patterns: SecretPatterns,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Held during a job: one at a time for all sessions (MEM-09).
    pub(super) home: tokio::sync::Mutex<()>,
    pub(super) schedules: Mutex<HashMap<SessionId, ExtractionSchedule<Place, Clock>>>,
}

impl Inner {
    pub(super) fn schedules(&self) -> MutexGuard<'_, HashMap<SessionId, ExtractionSchedule<Place, Clock>>> {
        self.schedules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
