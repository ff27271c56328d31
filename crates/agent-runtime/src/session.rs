//! A session that this process works on, and what one run of it works with.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_engine::{Calibration, Path};
use agent_policy::Grants;
use agent_protocol::{AgentId, EventDraft, IdError, RunId, RuntimeEvent, SessionId, ToolCallId};
use agent_store::{Commit, Lease, SessionStore, StoreError, Write};
use uuid::Uuid;

use crate::line::{HasLine, Line};
use crate::live::Live;
use crate::redact::Redactor;
use crate::sessions::Sessions;
use crate::upkeep::Slot;
use crate::versions::Versions;

/// A session as long as the runtime knows it: its grants (PRM-3), and who works on it.
pub(crate) struct Session {
    id: SessionId,
    grants: Mutex<Grants>,
    line: Line<Self>,
    seat: Mutex<Seat>,
    /// Held by whoever opens it, so that it is claimed once.
    pub(crate) opening: tokio::sync::Mutex<()>,
    sessions: Weak<Sessions>,
}

/// Whether this process owns the session at the moment.
enum Seat {
    /// It does.
    Awake(Arc<Open>),
    /// It does not, unless something that has not stopped in time still holds on to it.
    Asleep(Weak<Open>),
}

/// What is there while a session is owned.
pub(crate) struct Open {
    pub(crate) agent_id: AgentId,
    pub(crate) versions: Arc<Versions>,
    /// The project the session was made for (COD-10).
    pub(crate) cwd: String,
    pub(crate) lease: Lease,
    rest: Mutex<Option<Rest>>,
    /// A summary that is being made while no run has it in hand.
    pub(crate) upkeep: Slot,
}

/// What one run leaves to the next.
pub(crate) struct Rest {
    pub(crate) path: Path,
    /// What was learned about the model's token counts.
    pub(crate) calibration: Calibration,
    /// Message tokens from which on a summary is asked for ahead of need.
    pub(crate) compaction_floor: u64,
    /// Which of the calls without a result had begun; unknown for a path that was not read from the store.
    pub(crate) started: Option<HashSet<ToolCallId>>,
}

impl Session {
    pub(crate) fn new(id: SessionId, sessions: Weak<Sessions>) -> Self {
        Self {
            id,
            grants: Mutex::new(Grants::new()),
            line: Line::default(),
            seat: Mutex::new(Seat::Asleep(Weak::new())),
            opening: tokio::sync::Mutex::new(()),
            sessions,
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is there if it is owned.
    pub(crate) fn opened(&self) -> Option<Arc<Open>> {
        match &*self.seat() {
            Seat::Awake(open) => Some(Arc::clone(open)),
            Seat::Asleep(open) => open.upgrade(),
        }
    }

    pub(crate) fn wake(&self, open: Arc<Open>) {
        *self.seat() = Seat::Awake(open);
    }

    /// Gives up ownership and everything read from the store, if nobody works on it; whether it did.
    pub(crate) fn sleep(&self) -> bool {
        let mut seat = self.seat();
        if !self.line.is_free() {
            return false;
        }
        let asleep = match &*seat {
            Seat::Awake(open) => Seat::Asleep(Arc::downgrade(open)),
            Seat::Asleep(_) => return true,
        };
        let before = std::mem::replace(&mut *seat, asleep);
        drop(seat);
        drop(before);
        true
    }
}

impl HasLine for Session {
    fn line(&self) -> &Line<Self> {
        &self.line
    }

    fn idle(self: &Arc<Self>) {
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.rested(self);
        }
    }
}

impl Open {
    pub(crate) fn new(lease: Lease, agent_id: AgentId, cwd: String, rest: Rest, versions: Versions) -> Self {
        Self {
            agent_id,
            versions: Arc::new(versions),
            cwd,
            lease,
            rest: Mutex::new(Some(rest)),
            upkeep: Slot::default(),
        }
    }

    fn rest(&self) -> MutexGuard<'_, Option<Rest>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the last run left; `None` if it did not end properly and the store must be asked.
    pub(crate) fn take_rest(&self) -> Option<Rest> {
        self.rest().take()
    }

    pub(crate) fn put_rest(&self, rest: Rest) {
        *self.rest() = Some(rest);
    }
}

/// What the parts of a run share.
pub(crate) struct RunContext {
    pub(crate) session: Arc<Session>,
    pub(crate) open: Arc<Open>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) agent_id: AgentId,
    pub(crate) run_id: RunId,
    pub(crate) live: Arc<Live>,
    pub(crate) redactor: Redactor,
}

impl RunContext {
    /// Stores writes and shows their events; the events are live only once they are stored (EVT-2).
    ///
    /// The driver and its jobs commit side by side, so events may get here out of order; the live stream puts up with it.
    /// A lock around both steps would not do: the driver does not poll its jobs while it waits for its own commit.
    pub(crate) async fn commit(&self, writes: Vec<Write>) -> Result<Vec<RuntimeEvent>, StoreError> {
        let commit = Commit { agent_id: self.agent_id.clone(), run_id: self.run_id.clone(), writes };
        let committed = self.store.commit(&self.open.lease, commit).await?;
        self.live.stored(&committed.events);
        Ok(committed.events)
    }

    /// Stores events beside the machine's own. A store that is gone is noticed by the machine's next commit.
    pub(crate) async fn record(&self, events: Vec<EventDraft>) {
        let writes = events
            .into_iter()
            .map(|mut event| {
                self.redactor.object(&mut event.payload);
                Write::Event(event)
            })
            .collect();
        let _ = self.commit(writes).await;
    }
}

/// A new id of some kind. Hyphenless UUIDs have only safe characters, so parsing one cannot fail.
pub(crate) fn fresh_id<T>(prefix: &str, parse: fn(&str) -> Result<T, IdError>, uuid: Uuid) -> T {
    match parse(&format!("{prefix}{}", uuid.simple())) {
        Ok(id) => id,
        Err(error) => unreachable!("a fresh id is valid: {error}"),
    }
}
