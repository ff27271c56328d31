//! The replies to come.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::record::RecordedRequest;
use crate::reply::Reply;

/// Makes replies up as requests come; gets the request and how many it answered before.
pub(crate) type Responder = Arc<dyn Fn(&RecordedRequest, usize) -> Reply + Send + Sync>;

/// The queue of replies and what answers when it is empty.
#[derive(Default)]
pub(crate) struct Script(Mutex<State>);

#[derive(Default)]
struct State {
    queue: VecDeque<Reply>,
    responder: Option<Responder>,
    answered: usize,
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, reply: Reply) {
        self.state().queue.push_back(reply);
    }

    pub(crate) fn respond_with(&self, responder: Responder) {
        self.state().responder = Some(responder);
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// The reply for a request, if there is one. The responder runs outside the lock: it may push replies itself.
    pub(crate) fn next(&self, request: &RecordedRequest) -> Option<Reply> {
        let (responder, answered) = {
            let mut state = self.state();
            if let Some(reply) = state.queue.pop_front() {
                return Some(reply);
            }
            let responder = state.responder.clone()?;
            state.answered += 1;
            (responder, state.answered - 1)
        };
        Some(responder(request, answered))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "Script({} replies, responder: {})", state.queue.len(), state.responder.is_some())
    }
}
