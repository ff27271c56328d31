//! Chunks let go by hand.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

/// Holds the chunks of one gated reply until the test lets them go.
///
/// A chunk is one protocol event (a line, a server-sent event) or, in a raw reply, one piece. The response's head is
/// sent at once. Dropping the gate releases the rest, so that a failing test never waits for itself.
#[derive(Debug)]
pub struct Gate(Arc<GateState>);

impl Gate {
    pub(crate) fn new() -> (Self, Arc<GateState>) {
        let state = Arc::new(GateState::default());
        (Self(Arc::clone(&state)), state)
    }

    /// Lets `n` more chunks go, now or as soon as the reply reaches them.
    pub fn release(&self, n: usize) {
        self.0.add(n);
    }

    /// Lets all chunks go.
    pub fn release_all(&self) {
        self.0.add(usize::MAX);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.release_all();
    }
}

/// The reply's side of a [`Gate`].
#[derive(Debug, Default)]
pub(crate) struct GateState(Mutex<Released>);

#[derive(Debug, Default)]
struct Released {
    chunks: usize,
    waiting: Option<Waker>,
}

impl GateState {
    fn add(&self, n: usize) {
        let mut released = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        released.chunks = released.chunks.saturating_add(n);
        if let Some(waker) = released.waiting.take() {
            waker.wake();
        }
    }

    /// How many chunks may be sent in all; the task is woken when that grows.
    pub(crate) fn released(&self, cx: &Context<'_>) -> usize {
        let mut released = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        released.waiting = Some(cx.waker().clone());
        released.chunks
    }
}
