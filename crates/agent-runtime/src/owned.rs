//! What is in memory while this process owns a session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::SessionId;
use agent_store::{Commit, Committed, Lease, SessionStore, StoreError};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::agent::Agent;
use crate::held_tasks::HeldTasks;
use crate::session_files::SessionFiles;

/// An owned session: its lease, its agents, and what their runs share.
pub(crate) struct OwnedSession {
    session_id: SessionId,
    /// Gone once the session is released: nothing can be stored from then on.
    lease: Mutex<Option<Arc<Lease>>>,
    /// Commits under way, and whoever else needs the session to stay owned for a moment.
    holds: TaskTracker,
    /// Runs of children that live.
    children: TaskTracker,
    /// The project the session was made for (COD-10).
    pub(crate) cwd: String,
    /// The agent users talk to.
    pub(crate) root: Arc<Agent>,
    /// What its agents have written.
    pub(crate) files: Arc<SessionFiles>,
    /// Its Tasks, once somebody had to do with them.
    pub(crate) tasks: HeldTasks,
    /// The end of a run could not be stored: only the next claim can write it down.
    unstored_end: AtomicBool,
}

/// The session stays owned while this is held.
pub(crate) struct Hold {
    lease: Arc<Lease>,
    _token: TaskTrackerToken,
}

impl OwnedSession {
    pub(crate) fn new(lease: Lease, cwd: String, root: Agent, files: Arc<SessionFiles>) -> Self {
        Self {
            session_id: lease.session_id().clone(),
            lease: Mutex::new(Some(Arc::new(lease))),
            holds: TaskTracker::new(),
            children: TaskTracker::new(),
            cwd,
            root: Arc::new(root),
            files,
            tasks: HeldTasks::default(),
            unstored_end: AtomicBool::new(false),
        }
    }

    fn lease(&self) -> MutexGuard<'_, Option<Arc<Lease>>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the session owned.
    ///
    /// # Errors
    /// [`StoreError::Released`] once it was given up.
    pub(crate) fn hold(&self) -> Result<Hold, StoreError> {
        // In this order: whoever waits for the holds of a released session must see this one, or this one sees no lease.
        let token = self.holds.token();
        let lease = self.lease().clone();
        let released = || StoreError::Released { session_id: self.session_id.clone() };
        Ok(Hold { lease: lease.ok_or_else(released)?, _token: token })
    }

    /// Stores something of one of its runs. Any number of runs may do that at once.
    pub(crate) async fn commit(&self, store: &dyn SessionStore, commit: Commit) -> Result<Committed, StoreError> {
        self.hold()?.commit(store, commit).await
    }

    /// Gives the session up. Summaries that are being made for it stop; commits under way are finished, which
    /// [`TaskTracker::wait`] of what this returns waits for.
    pub(crate) fn release(&self) -> TaskTracker {
        drop(self.lease().take());
        drop(self.root.compaction.take());
        self.tasks.let_go();
        self.holds.close();
        self.holds.clone()
    }

    /// Whether it was given up.
    pub(crate) fn is_released(&self) -> bool {
        self.lease().is_none()
    }

    /// Counts a child's run as living until this is dropped.
    pub(crate) fn child_lives(&self) -> TaskTrackerToken {
        self.children.token()
    }

    /// Runs of children that live.
    pub(crate) fn living_children(&self) -> usize {
        self.children.len()
    }

    /// A run could not store its end.
    pub(crate) fn end_is_unstored(&self) {
        self.unstored_end.store(true, Ordering::Release);
    }

    pub(crate) fn has_unstored_end(&self) -> bool {
        self.unstored_end.load(Ordering::Acquire)
    }
}

impl Hold {
    /// Stores something under the lease that is held.
    pub(crate) async fn commit(&self, store: &dyn SessionStore, commit: Commit) -> Result<Committed, StoreError> {
        store.commit(&self.lease, commit).await
    }
}
