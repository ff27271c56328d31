//! A session that this process owns, and what one run of it works with.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_engine::{Calibration, Path};
use agent_policy::Grants;
use agent_protocol::{AgentId, EventDraft, IdError, RunId, RuntimeEvent, SessionId};
use agent_store::{Commit, Lease, SessionStore, StoreError, Write};
use uuid::Uuid;

use crate::live::Live;
use crate::redact::Redactor;
use crate::versions::Versions;

/// A session this process owns. Lives as long as the runtime: its grants are for as long as it is open (PRM-3).
pub(crate) struct Session {
    pub(crate) agent_id: AgentId,
    pub(crate) versions: Arc<Versions>,
    lease: Lease,
    cwd: String,
    grants: Mutex<Grants>,
    /// Between runs: the path and what was learned about the model's token counts.
    rest: Mutex<Option<(Path, Calibration)>>,
    busy: AtomicBool,
}

impl Session {
    pub(crate) fn new(lease: Lease, agent_id: AgentId, cwd: String, path: Path, versions: Versions) -> Self {
        Self {
            agent_id,
            versions: Arc::new(versions),
            lease,
            cwd,
            grants: Mutex::new(Grants::new()),
            rest: Mutex::new(Some((path, Calibration::default()))),
            busy: AtomicBool::new(false),
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        self.lease.session_id()
    }

    /// The project the session was made for (COD-10).
    pub(crate) fn cwd(&self) -> &str {
        &self.cwd
    }

    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session for a run; `None` while another has it.
    pub(crate) fn occupy(self: &Arc<Self>) -> Option<Occupied> {
        let free = self.busy.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).is_ok();
        free.then(|| Occupied { session: Arc::clone(self) })
    }

    fn rest(&self) -> MutexGuard<'_, Option<(Path, Calibration)>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session in the hands of one run; given free when dropped, whatever became of the run.
pub(crate) struct Occupied {
    pub(crate) session: Arc<Session>,
}

impl Occupied {
    /// The path as the last run left it; `None` if that run did not end properly and the store must be asked.
    pub(crate) fn take_rest(&self) -> Option<(Path, Calibration)> {
        self.session.rest().take()
    }

    pub(crate) fn put_rest(&self, rest: (Path, Calibration)) {
        *self.session.rest() = Some(rest);
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        self.session.busy.store(false, Ordering::Release);
    }
}

/// What the parts of a run share.
pub(crate) struct RunContext {
    pub(crate) session: Arc<Session>,
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
        let committed = self.store.commit(&self.session.lease, commit).await?;
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
