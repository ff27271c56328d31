//! What the Tasks of a runtime depend on.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{EventId, SessionId};
use agent_store::Clock;
use agent_task_store::Stamp;
use agent_tasks::Moment;

use crate::ids::fresh_id;

/// Where Tasks are kept, and how long a worker keeps a step.
#[derive(Debug, Clone)]
pub struct TaskSettings {
    /// The folder of all logs; an absolute path. A session's lie in a folder of its own in there.
    pub wal_dir: PathBuf,
    /// What that folder is called where people and models read it.
    pub shown_dir: String,
    /// How long a worker keeps a step without a sign of life.
    pub step_lease: Duration,
    /// The time that stands in the logs, and that leases are compared with.
    pub clock: Clock,
    /// The ids of the logs' lines.
    pub event_ids: EventIds,
    /// What requests show of the Tasks.
    pub board: BoardSettings,
}

/// What requests show of the Tasks (TBD-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardSettings {
    /// Most tokens; with none there is no board.
    pub tokens: u64,
    /// Most changes that it shows.
    pub changes: usize,
    /// How old they may be.
    pub window: Duration,
}

/// Makes ids of events.
#[derive(Clone)]
pub struct EventIds(Arc<dyn Fn() -> EventId + Send + Sync>);

impl EventIds {
    /// Ids that nobody else makes.
    #[must_use]
    pub fn unique() -> Self {
        Self::new(|| fresh_id(EventId::PREFIX, EventId::parse))
    }

    /// Makes one.
    #[must_use]
    pub fn next(&self) -> EventId {
        (self.0)()
    }

    /// Ids of the caller's, none of which may come twice.
    pub fn new(ids: impl Fn() -> EventId + Send + Sync + 'static) -> Self {
        Self(Arc::new(ids))
    }
}

impl fmt::Debug for EventIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventIds")
    }
}

impl TaskSettings {
    /// The time and the ids of what is done now.
    pub(crate) fn stamp(&self) -> Stamp<'_> {
        Stamp { now: self.now(), lease_millis: self.lease_millis(), new_event_id: &*self.event_ids.0 }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::from_millis(self.clock.unix_millis())
    }

    pub(crate) fn lease_millis(&self) -> u64 {
        u64::try_from(self.step_lease.as_millis()).unwrap_or(u64::MAX)
    }

    /// What the folder of a session's logs is called.
    pub(crate) fn shown_folder(&self, session_id: &SessionId) -> String {
        format!("{}/{session_id}", self.shown_dir)
    }
}
