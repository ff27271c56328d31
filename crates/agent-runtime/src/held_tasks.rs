//! The Tasks of a session as long as this process owns it.

use std::sync::Arc;

use agent_task_store::TaskStore;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::workers::Workers;

/// Opened where somebody has to do with Tasks, and closed with the session.
#[derive(Default)]
pub(crate) struct HeldTasks {
    /// One command at a time, with its events: they are told in the order of the log.
    store: Arc<Mutex<Option<TaskStore>>>,
    pub(crate) workers: Workers,
}

impl HeldTasks {
    /// Waits until nobody else works on them.
    pub(crate) async fn exclusive(&self) -> OwnedMutexGuard<Option<TaskStore>> {
        Arc::clone(&self.store).lock_owned().await
    }

    /// Whether they are open, or somebody is at work on them.
    pub(crate) fn are_open(&self) -> bool {
        self.store.try_lock().map_or(true, |store| store.is_some())
    }

    /// Lets go of the logs, and of their locks. Whoever is at work on them does it when that is done.
    pub(crate) fn let_go(&self) {
        if let Ok(mut store) = self.store.try_lock() {
            drop(store.take());
        }
    }
}
