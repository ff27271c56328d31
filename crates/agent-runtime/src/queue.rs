//! The user's runs of a session: one works, the others wait, first come first served (RUN-1).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Runs that may wait for one session. What waits holds a message each, so there is an end to it.
pub(crate) const MAX_WAITING: usize = 256;

/// The queue of one session.
#[derive(Debug)]
pub(crate) struct RunQueue<T: HasQueue>(Mutex<QueueState<T>>);

#[derive(Debug)]
struct QueueState<T: HasQueue> {
    taken: bool,
    waiting: VecDeque<oneshot::Sender<SessionPermit<T>>>,
}

impl<T: HasQueue> Default for RunQueue<T> {
    fn default() -> Self {
        Self(Mutex::new(QueueState { taken: false, waiting: VecDeque::new() }))
    }
}

/// What a run gets that joins the queue.
#[derive(Debug)]
pub(crate) enum QueuePosition<T: HasQueue> {
    /// Nobody was there.
    First(SessionPermit<T>),
    /// Others come before it.
    Waiting {
        /// 1: the next one.
        position: usize,
        /// Brings the permit. Dropping it leaves the queue.
        permit: oneshot::Receiver<SessionPermit<T>>,
    },
}

/// Something whose queue can be found.
pub(crate) trait HasQueue: Sized {
    /// The queue.
    fn queue(&self) -> &RunQueue<Self>;

    /// Nobody works on it any more, and nobody waits.
    fn idle(self: &Arc<Self>);
}

/// The right to work on it. Dropping it, whatever became of the run, calls the next one.
#[derive(Debug)]
pub(crate) struct SessionPermit<T: HasQueue>(Arc<T>);

impl<T: HasQueue> RunQueue<T> {
    fn state(&self) -> MutexGuard<'_, QueueState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody works on it. The caller must keep others from joining for as long as this matters.
    pub(crate) fn is_free(&self) -> bool {
        !self.state().taken
    }
}

/// Whether a run waits for the permit that is taken.
pub(crate) fn is_awaited<T: HasQueue>(what: &Arc<T>) -> bool {
    let mut state = what.queue().state();
    state.waiting.retain(|waiting| !waiting.is_closed());
    !state.waiting.is_empty()
}

/// Joins the queue; `None` if it is full.
pub(crate) fn join<T: HasQueue>(what: &Arc<T>) -> Option<QueuePosition<T>> {
    let mut state = what.queue().state();
    if !std::mem::replace(&mut state.taken, true) {
        return Some(QueuePosition::First(SessionPermit(Arc::clone(what))));
    }
    // Those that left are only noticed when they are called.
    state.waiting.retain(|waiting| !waiting.is_closed());
    if state.waiting.len() >= MAX_WAITING {
        return None;
    }
    let (sender, permit) = oneshot::channel();
    state.waiting.push_back(sender);
    Some(QueuePosition::Waiting { position: state.waiting.len(), permit })
}

impl<T: HasQueue> std::ops::Deref for SessionPermit<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: HasQueue> Drop for SessionPermit<T> {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.queue().state();
            let next = state.waiting.pop_front();
            state.taken = next.is_some();
            next
        };
        match next {
            // One that has left gives the permit back, and so calls the one after it.
            Some(next) => drop(next.send(SessionPermit(Arc::clone(&self.0)))),
            None => self.0.idle(),
        }
    }
}

#[cfg(test)]
mod tests;
