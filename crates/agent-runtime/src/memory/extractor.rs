//! Finds out beside all runs what is to be remembered (MEM-2, MEM-3, MEM-9).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_protocol::SessionId;
use agent_redact::SecretPatterns;
use agent_store::SessionStore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::Memory;
use super::desk::{Desk, Next, Round};
use super::job::Place;
use crate::caught::caught;
use crate::redact::Redactor;
use crate::session::RunContext;

/// Looks after every run, and when it has been quiet, whether there is something to be found out. Cloning is cheap.
///
/// What it does counts as work beside runs (`tasks`); a clock that waits for quiet does not.
#[derive(Clone)]
pub(crate) struct Extractor(Arc<Inner>);

/// A clock stops when this is dropped.
type Clock = AbortOnDropHandle<()>;

pub(super) struct Inner {
    pub(super) memory: Memory,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) redactor: Redactor,
    pub(super) patterns: SecretPatterns,
    tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Held during a job: one at a time for all sessions (MEM-09).
    pub(super) home: tokio::sync::Mutex<()>,
    desks: Mutex<HashMap<SessionId, Desk<Place, Clock>>>,
}

impl Extractor {
    /// For the sessions of a runtime.
    pub(crate) fn new(
        memory: Memory,
        store: Arc<dyn SessionStore>,
        (redactor, patterns): (Redactor, SecretPatterns),
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let (home, desks) = (tokio::sync::Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { memory, store, redactor, patterns, tasks, stop, home, desks }))
    }

    /// A run begins to work on its session.
    pub(crate) fn run_begins(&self, run: &RunContext) {
        self.0.desks().entry(run.session.id().clone()).or_default().run_begins();
    }

    /// A run has ended, however it did: what the user said counts all the same. Returns at once.
    pub(crate) fn run_ended(&self, run: &RunContext) {
        let place = Place {
            session_id: run.session.id().clone(),
            agent_id: run.agent_id.clone(),
            run_id: run.run_id.clone(),
            open: Arc::downgrade(&run.open),
        };
        let begins = self.0.desks().entry(place.session_id.clone()).or_default().run_ended(place);
        if let Some(place) = begins {
            self.0.begin(place, false);
        }
    }

    /// How many sessions it works on at the moment.
    pub(crate) fn at_work(&self) -> usize {
        self.0.desks().values().filter(|desk| desk.is_at_work()).count()
    }
}

impl Inner {
    pub(super) fn desks(&self) -> MutexGuard<'_, HashMap<SessionId, Desk<Place, Clock>>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>, place: Place, quiet: bool) {
        self.tasks.spawn(Arc::clone(self).work(place, quiet));
    }

    /// Until there is nothing more to do at this session.
    async fn work(self: Arc<Self>, mut place: Place, mut quiet: bool) {
        loop {
            let round = caught("remembering", self.round(&place, quiet)).await.unwrap_or(Round::Rest);
            match self.after(&place, round) {
                Some(Some(next)) => (place, quiet) = (next, false),
                Some(None) => {}
                None => return,
            }
        }
    }

    /// Where to look next, if anywhere.
    fn after(self: &Arc<Self>, place: &Place, round: Round) -> Option<Option<Place>> {
        let mut desks = self.desks();
        let desk = desks.entry(place.session_id.clone()).or_default();
        match desk.after(round) {
            Next::Look(next) => return Some(next),
            Next::SetClock if !self.stop.is_cancelled() => {
                desk.set_clock(AbortOnDropHandle::new(tokio::spawn(Self::wait(Arc::downgrade(self), place.clone()))));
            }
            Next::SetClock | Next::Rest => {}
        }
        if desk.is_empty() {
            desks.remove(&place.session_id);
        }
        None
    }

    /// Holds nothing of the runtime meanwhile.
    async fn wait(inner: Weak<Self>, place: Place) {
        let Some(idle) = inner.upgrade().map(|inner| inner.memory.settings().idle) else { return };
        tokio::time::sleep(idle).await;
        let Some(inner) = inner.upgrade() else { return };
        let begins = inner.desks().get_mut(&place.session_id).is_some_and(Desk::quiet);
        if begins {
            inner.begin(place, true);
        }
    }
}
