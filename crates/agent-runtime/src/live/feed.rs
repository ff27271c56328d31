//! The producing side of a live stream.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use agent_protocol::{
    EventId, EventPayload, EventType, Level, Object, RunId, RuntimeEvent, SessionId, Timestamp, ToolCallId,
};
use agent_redact::SecretPatterns;
use tokio::sync::Notify;

use super::state::State;
use crate::storing::Storing;

/// The producing side.
pub(crate) struct Live {
    session_id: SessionId,
    run_id: RunId,
    /// What is not shown of events and errors.
    pub(crate) patterns: SecretPatterns,
    /// What is to be stored and is not yet.
    pub(crate) storing: Storing,
    state: Mutex<State>,
    pub(super) news: Notify,
}

impl Live {
    pub(crate) fn new(session_id: SessionId, run_id: RunId, patterns: SecretPatterns) -> Self {
        let state = Mutex::new(State::new(true));
        Self { session_id, run_id, patterns, storing: Storing::default(), state, news: Notify::new() }
    }

    /// Of a run that nobody watches yet, and most likely nobody will.
    #[must_use]
    pub(crate) fn unwatched(self) -> Self {
        Self { state: Mutex::new(State::new(false)), ..self }
    }

    /// The run.
    pub(crate) fn run_id(&self) -> &RunId {
        &self.run_id
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        if state.watched {
            drop(state);
            self.news.notify_one();
        }
    }

    /// These events are stored now.
    pub(crate) fn stored(&self, events: &[RuntimeEvent]) {
        if !events.is_empty() {
            self.tell(|state| events.iter().for_each(|event| state.keep(event)));
        }
    }

    /// The next text is that of a new message.
    pub(crate) fn begin_message(&self) {
        self.state().begin_message();
    }

    /// More text of the message being written.
    pub(crate) fn text(&self, more: &str) {
        self.tell(|state| state.text(more));
    }

    /// The latest view of a call at work.
    pub(crate) fn progress(&self, call: &ToolCallId, view: Object) {
        self.tell(|state| state.progress(call, view));
    }

    /// Something only a debugging consumer sees; nothing is made while there is none.
    pub(crate) fn debug<P: EventPayload>(&self, payload: impl FnOnce() -> P) {
        self.tell(|state| {
            if state.is_debugged() {
                state.debug_delta(P::EVENT_TYPE, payload().into_object());
            }
        });
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.tell(|state| state.closed = true);
    }

    pub(super) fn live_event(&self, state: &mut State, event_type: EventType, payload: Object) -> RuntimeEvent {
        state.deltas += 1;
        let id = format!("{}{}_live_{}", EventId::PREFIX, self.run_id.stem(), state.deltas);
        RuntimeEvent {
            event_id: EventId::parse(&id).unwrap_or_else(|error| unreachable!("made of an id: {error}")),
            seq: None,
            run_seq: None,
            session_id: self.session_id.clone(),
            agent_id: None,
            run_id: Some(self.run_id.clone()),
            level: if event_type.is_debug_only() { Level::Debug } else { Level::Info },
            event_type,
            node_id: None,
            tool_call_id: None,
            payload,
            created_at: now(),
        }
    }
}

/// Ends the live stream of a run whatever becomes of the run, so that nobody waits for more of it.
pub(crate) struct ClosedAtTheEnd(pub(crate) Arc<Live>);

impl Drop for ClosedAtTheEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(u64::try_from(since_1970.as_millis()).unwrap_or(0))
}
