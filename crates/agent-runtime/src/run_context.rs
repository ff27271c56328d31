//! What the parts of one run share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_protocol::{AgentRole, EventDraft, RunId, RuntimeEvent};
use agent_store::{Commit, SessionStore, StoreError, Write};
use agent_tool::WorkerScope;

use crate::agent::{Agent, KnownAs, Parent};
use crate::child_streams::ChildStreams;
use crate::live::Live;
use crate::owned::{Hold, OwnedSession};
use crate::redact::Redactor;
use crate::run_clock::RunClock;
use crate::session::Session;
use crate::spending::Spending;

/// Whose run it is, and the ways in which it is seen: the store and the live stream.
pub(crate) struct RunContext {
    pub(crate) session: Arc<Session>,
    pub(crate) owned: Arc<OwnedSession>,
    pub(crate) agent: Arc<Agent>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) run_id: RunId,
    /// The part the agent plays in this run.
    pub(crate) role: AgentRole,
    /// What people know the agent by, if it is a child.
    pub(crate) known_as: Option<KnownAs>,
    /// What it was sent for, if it is a worker's.
    pub(crate) worker: Option<WorkerScope>,
    pub(crate) live: Arc<Live>,
    /// Those of its children.
    pub(crate) child_streams: ChildStreams,
    pub(crate) spending: Arc<Spending>,
    /// Stopped while it waits for what is not its own work; of a summary, the clock of the run that waits for it.
    pub(crate) clock: Arc<RunClock>,
    pub(crate) redactor: Redactor,
    /// Something of this run that was cancelled did not stop in time.
    pub(crate) left_behind: AtomicBool,
}

impl RunContext {
    /// Stores writes and shows their events; the events are live only once they are stored (EVT-2).
    ///
    /// The driver and its jobs commit side by side, so events may get here out of order; the live stream puts up with it.
    /// A lock around both steps would not do: the driver does not poll its jobs while it waits for its own commit.
    pub(crate) async fn commit(&self, writes: Vec<Write>) -> Result<Vec<RuntimeEvent>, StoreError> {
        let commit = Commit { agent_id: self.agent.id.clone(), run_id: self.run_id.clone(), writes };
        let under_way = self.live.storing.begin();
        let committed = self.owned.commit(&*self.store, commit).await?;
        drop(under_way);
        self.live.stored(&committed.events);
        Ok(committed.events)
    }

    /// Stores events beside the machine's own. A store that is gone is noticed by the machine's next commit.
    pub(crate) async fn record(&self, events: Vec<EventDraft>) {
        let _ = self.commit(self.writes(events)).await;
    }

    /// The same for who keeps the session owned: also where it was given up meanwhile.
    pub(crate) async fn record_under(&self, hold: &Hold, events: Vec<EventDraft>) {
        if events.is_empty() {
            return;
        }
        let writes = self.writes(events);
        let commit = Commit { agent_id: self.agent.id.clone(), run_id: self.run_id.clone(), writes };
        if let Ok(committed) = hold.commit(&*self.store, commit).await {
            self.live.stored(&committed.events);
        }
    }

    fn writes(&self, events: Vec<EventDraft>) -> Vec<Write> {
        let redacted = |mut event: EventDraft| {
            self.redactor.object(&mut event.payload);
            Write::Event(event)
        };
        events.into_iter().map(redacted).collect()
    }

    /// Something that was cancelled did not stop in time (RUN-17).
    pub(crate) fn note_left_behind(&self) {
        self.left_behind.store(true, Ordering::Relaxed);
    }

    pub(crate) fn left_behind(&self) -> bool {
        self.left_behind.load(Ordering::Relaxed)
    }

    /// This run as the parent of another.
    pub(crate) fn as_parent(&self) -> Parent {
        Parent { agent_id: self.agent.id.clone(), run_id: self.run_id.clone(), role: self.role }
    }
}
