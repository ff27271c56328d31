//! Who works on a session: one run, and those that wait for it, first come first served (RUN-1).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Runs that may wait for one session. What waits holds a message each, so there is an end to it.
pub(crate) const MAX_WAITING: usize = 256;

/// The line in front of one session.
#[derive(Debug)]
pub(crate) struct Line<T: HasLine>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T: HasLine> {
    taken: bool,
    waiting: VecDeque<oneshot::Sender<Turn<T>>>,
}

impl<T: HasLine> Default for Line<T> {
    fn default() -> Self {
        Self(Mutex::new(State { taken: false, waiting: VecDeque::new() }))
    }
}

/// What a run gets that joins a line.
#[derive(Debug)]
pub(crate) enum Place<T: HasLine> {
    /// Nobody was there.
    First(Turn<T>),
    /// Others come before it.
    Waiting {
        /// 1: the next one.
        position: usize,
        /// Brings the turn. Dropping it leaves the line.
        turn: oneshot::Receiver<Turn<T>>,
    },
}

/// Something whose line can be found.
pub(crate) trait HasLine: Sized {
    /// The line.
    fn line(&self) -> &Line<Self>;

    /// Nobody works on it any more, and nobody waits.
    fn idle(self: &Arc<Self>);
}

/// The right to work on it. Dropping it, whatever became of the run, calls the next one.
#[derive(Debug)]
pub(crate) struct Turn<T: HasLine>(Arc<T>);

impl<T: HasLine> Line<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody works on it. The caller must keep others from joining for as long as this matters.
    pub(crate) fn is_free(&self) -> bool {
        !self.state().taken
    }
}

/// Whether somebody waits for the turn that is taken.
pub(crate) fn is_awaited<T: HasLine>(what: &Arc<T>) -> bool {
    let mut state = what.line().state();
    state.waiting.retain(|waiting| !waiting.is_closed());
    !state.waiting.is_empty()
}

/// Joins the line; `None` if it is too long already.
pub(crate) fn join<T: HasLine>(what: &Arc<T>) -> Option<Place<T>> {
    let mut state = what.line().state();
    if !std::mem::replace(&mut state.taken, true) {
        return Some(Place::First(Turn(Arc::clone(what))));
    }
    // Those that left are only noticed when they are called.
    state.waiting.retain(|waiting| !waiting.is_closed());
    if state.waiting.len() >= MAX_WAITING {
        return None;
    }
    let (sender, turn) = oneshot::channel();
    state.waiting.push_back(sender);
    Some(Place::Waiting { position: state.waiting.len(), turn })
}

impl<T: HasLine> std::ops::Deref for Turn<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: HasLine> Drop for Turn<T> {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.line().state();
            let next = state.waiting.pop_front();
            state.taken = next.is_some();
            next
        };
        match next {
            // One that has left gives the turn back, and so calls the one after it.
            Some(next) => drop(next.send(Turn(Arc::clone(&self.0)))),
            None => self.0.idle(),
        }
    }
}

#[cfg(test)]
mod tests;
