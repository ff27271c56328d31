//! A session as long as the runtime knows it: who may work on it, and what the user allows in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_policy::Grants;
use agent_protocol::SessionId;
use tokio_util::task::TaskTracker;

use crate::owned::OwnedSession;
use crate::queue::{HasQueue, RunQueue};

/// A session: its grants (PRM-3), its queue of the user's runs, and whether this process owns it.
pub(crate) struct Session {
    id: SessionId,
    grants: Mutex<Grants>,
    queue: RunQueue<Self>,
    ownership: Mutex<Ownership>,
    /// Held by whoever opens it, so that it is claimed once.
    pub(crate) opening: tokio::sync::Mutex<()>,
    keeper: Weak<dyn SessionKeeper>,
}

/// Who keeps count of the sessions in which nothing runs.
pub(crate) trait SessionKeeper: Send + Sync {
    /// Nothing runs in it any more, and nobody waits.
    fn is_idle(&self, session: &Arc<Session>);
}

/// Whether this process owns the session at the moment.
enum Ownership {
    Held(Arc<OwnedSession>),
    /// It does not, unless one of these holds is still there.
    Released(TaskTracker),
}

impl Session {
    pub(crate) fn new(id: SessionId, keeper: Weak<dyn SessionKeeper>) -> Self {
        let no_holds = TaskTracker::new();
        no_holds.close();
        Self {
            id,
            grants: Mutex::new(Grants::new()),
            queue: RunQueue::default(),
            ownership: Mutex::new(Ownership::Released(no_holds)),
            opening: tokio::sync::Mutex::new(()),
            keeper,
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ownership(&self) -> MutexGuard<'_, Ownership> {
        self.ownership.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is there if it is owned; else what to wait for before it is claimed.
    pub(crate) fn owned(&self) -> Result<Arc<OwnedSession>, TaskTracker> {
        match &*self.ownership() {
            Ownership::Held(owned) => Ok(Arc::clone(owned)),
            Ownership::Released(holds) => Err(holds.clone()),
        }
    }

    /// Whether that is still what is there of it.
    pub(crate) fn is_owned_as(&self, owned: &Arc<OwnedSession>) -> bool {
        matches!(&*self.ownership(), Ownership::Held(now) if Arc::ptr_eq(now, owned))
    }

    pub(crate) fn own(&self, owned: Arc<OwnedSession>) {
        *self.ownership() = Ownership::Held(owned);
    }

    /// Gives up ownership and everything read from the store, if none of its runs lives; whether it is given up now.
    pub(crate) fn release(&self) -> bool {
        let mut ownership = self.ownership();
        let Ownership::Held(owned) = &*ownership else { return true };
        if !self.is_idle(owned) {
            return false;
        }
        let released = Ownership::Released(owned.release());
        let before = std::mem::replace(&mut *ownership, released);
        drop(ownership);
        drop(before);
        true
    }

    fn is_idle(&self, owned: &OwnedSession) -> bool {
        self.queue.is_free() && owned.living_children() == 0
    }

    /// A child's run has ended, which may have been the last that lived.
    pub(crate) fn child_ended(self: &Arc<Self>) {
        let Ok(owned) = self.owned() else { return };
        if owned.has_unstored_end() {
            // Whoever claims it next writes the end down.
            self.release();
        } else if self.is_idle(&owned) {
            self.idle();
        }
    }
}

impl HasQueue for Session {
    fn queue(&self) -> &RunQueue<Self> {
        &self.queue
    }

    fn idle(self: &Arc<Self>) {
        if let Some(keeper) = self.keeper.upgrade() {
            keeper.is_idle(self);
        }
    }
}
