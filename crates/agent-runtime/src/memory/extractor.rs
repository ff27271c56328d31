//! Finds out beside all runs what is to be remembered (MEM-2, MEM-3, MEM-9).

use std::sync::{Arc, Mutex, Weak};

use agent_redact::SecretPatterns;
use agent_store::SessionStore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::memories::Memory;
use super::place::{Inner, Place};
use super::schedule::{ExtractionSchedule, Next, Round};
use crate::caught::caught;
use crate::redact::Redactor;
use crate::run_context::RunContext;

/// Looks after every run, and when it has been quiet, whether there is something to be found out. Cloning is cheap.
///
/// What it does counts as work beside runs (`tasks`); a clock that waits for quiet does not.
#[derive(Clone)]
pub(crate) struct Extractor(Arc<Inner>);

/// What it works with.
pub(crate) struct ExtractorParts {
    pub(crate) memory: Memory,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) redactor: Redactor,
    pub(crate) patterns: SecretPatterns,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Extractor {
    /// For the sessions of a runtime.
    pub(crate) fn new(parts: ExtractorParts) -> Self {
        let ExtractorParts { memory, store, redactor, patterns, tasks, stop } = parts;
        let (home, schedules) = (tokio::sync::Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { memory, store, redactor, patterns, tasks, stop, home, schedules }))
    }

    /// A run begins to work on its session.
    pub(crate) fn run_begins(&self, run: &RunContext) {
        self.0.schedules().entry(run.session.id().clone()).or_default().run_begins();
    }

    /// A run has ended, however it did: what the user said counts all the same. Returns at once.
    pub(crate) fn run_ended(&self, run: &RunContext) {
        let place = Place {
            session_id: run.session.id().clone(),
            agent_id: run.agent.id.clone(),
            run_id: run.run_id.clone(),
            owned: Arc::downgrade(&run.owned),
        };
        let begins = self.0.schedules().entry(place.session_id.clone()).or_default().run_ended(place);
        if let Some(place) = begins {
            self.0.begin(place, false);
        }
    }

    /// How many sessions it works on at the moment.
    pub(crate) fn at_work(&self) -> usize {
        self.0.schedules().values().filter(|schedule| schedule.is_at_work()).count()
    }
}

impl Inner {
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
        let mut schedules = self.schedules();
        let schedule = schedules.entry(place.session_id.clone()).or_default();
        match schedule.after(round) {
            Next::Look(next) => return Some(next),
            Next::SetClock if !self.stop.is_cancelled() => {
                schedule
                    .set_clock(AbortOnDropHandle::new(tokio::spawn(Self::wait(Arc::downgrade(self), place.clone()))));
            }
            Next::SetClock | Next::Rest => {}
        }
        if schedule.is_empty() {
            schedules.remove(&place.session_id);
        }
        None
    }

    /// Holds nothing of the runtime meanwhile.
    async fn wait(inner: Weak<Self>, place: Place) {
        let Some(idle) = inner.upgrade().map(|inner| inner.memory.settings().idle) else { return };
        tokio::time::sleep(idle).await;
        let Some(inner) = inner.upgrade() else { return };
        let begins = inner.schedules().get_mut(&place.session_id).is_some_and(ExtractionSchedule::quiet);
        if begins {
            inner.begin(place, true);
        }
    }
}
