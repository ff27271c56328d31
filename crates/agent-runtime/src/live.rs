//! The live stream of a run: a tail of its log, with the deltas of text in between (EVT-2, API-13).
//!
//! Structural events are stored before they get here. A short tail of them is kept; a consumer that falls behind reads
//! the rest from the store at the place where it is. Deltas are not stored: those of one message merge into one pending
//! text, and when too much of it is pending, whole messages are dropped here and read from their node. So the run never
//! waits for a consumer, memory is bounded, and neither text nor structure is lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use agent_protocol::{
    ContentBlock, EventId, EventPayload, EventType, Level, MessageDelta, NodeId, Object, RunId, RuntimeEvent,
    SessionId, Timestamp, ToolCallId, ToolProgress,
};
use agent_redact::SecretPatterns;
use agent_redact::within::in_object;
use agent_store::{SessionStore, StoreError};
use tokio::sync::Notify;

use crate::storing::Storing;

/// Stored events kept in memory per run.
const TAIL: usize = 256;
/// Pending text of finished messages kept in memory per run, in bytes.
const PENDING_BYTES: usize = 1 << 20;
/// Debug deltas kept in memory per run; older ones give way, since they never carry anything that is not stored.
const DEBUG_DELTAS: usize = 1024;
/// Events read from the store at once by a consumer that fell behind.
const PAGE: u32 = 256;

/// A second consumer of a stream that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the events of this run already have a consumer; replay reads them again")]
pub struct StreamTaken;

/// The producing side.
pub(crate) struct Live {
    session_id: SessionId,
    run_id: RunId,
    /// What is not shown of events and errors.
    pub(crate) patterns: SecretPatterns,
    /// What is to be stored and is not yet.
    pub(crate) storing: Storing,
    /// Whether anybody will ever watch: for others no deltas are kept.
    is_watched: bool,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    /// The newest stored events, without a gap.
    tail: VecDeque<RuntimeEvent>,
    /// `run_seq` of the newest stored event.
    newest: u64,
    /// Messages whose end the consumer has not passed, oldest first.
    messages: VecDeque<MessageText>,
    /// Whether more text belongs to the last of them.
    writing: bool,
    /// Bytes of undelivered text in `messages`.
    pending_bytes: usize,
    /// The latest view of each call at work.
    views: Vec<Placed<(ToolCallId, Object)>>,
    /// For a debugging consumer only.
    debug_deltas: VecDeque<Placed<(EventType, Object)>>,
    debug: bool,
    taken: bool,
    closed: bool,
    deltas: u64,
}

/// Something live-only and the `run_seq` of the stored event it follows.
struct Placed<T> {
    after: u64,
    what: T,
}

/// The text of one message, as far as the consumer has not had it.
struct MessageText {
    after: u64,
    text: String,
    /// Bytes the consumer has had.
    had: usize,
    /// The text was dropped here; the message's node has it.
    dropped: bool,
}

impl Live {
    pub(crate) fn new(session_id: SessionId, run_id: RunId, patterns: SecretPatterns) -> Self {
        Self {
            session_id,
            run_id,
            patterns,
            storing: Storing::default(),
            is_watched: true,
            state: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// For a run that nobody watches: what it stores is seen in replay.
    #[must_use]
    pub(crate) fn unwatched(self) -> Self {
        Self { is_watched: false, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        if !self.is_watched {
            return;
        }
        change(&mut self.state());
        self.news.notify_one();
    }

    /// These events are stored now.
    pub(crate) fn stored(&self, events: &[RuntimeEvent]) {
        if events.is_empty() {
            return;
        }
        self.tell(|state| {
            for event in events {
                state.keep(event);
            }
        });
    }

    /// The next text is that of a new message.
    pub(crate) fn begin_message(&self) {
        self.state().writing = false;
    }

    /// More text of the message being written.
    pub(crate) fn text(&self, more: &str) {
        self.tell(|state| {
            if !std::mem::replace(&mut state.writing, true) {
                let after = state.newest;
                state.messages.push_back(MessageText { after, text: String::new(), had: 0, dropped: false });
            }
            if let Some(message) = state.messages.back_mut() {
                message.text.push_str(more);
                state.pending_bytes += more.len();
            }
            state.drop_old_text();
        });
    }

    /// The latest view of a call at work.
    pub(crate) fn progress(&self, call: &ToolCallId, view: Object) {
        self.tell(|state| {
            state.views.retain(|placed| placed.what.0 != *call);
            let after = state.newest;
            state.views.push(Placed { after, what: (call.clone(), view) });
        });
    }

    /// Something only a debugging consumer sees; nothing is made while there is none.
    pub(crate) fn debug<P: EventPayload>(&self, payload: impl FnOnce() -> P) {
        self.tell(|state| {
            if !state.debug {
                return;
            }
            if state.debug_deltas.len() == DEBUG_DELTAS {
                state.debug_deltas.pop_front();
            }
            let after = state.newest;
            state.debug_deltas.push_back(Placed { after, what: (P::EVENT_TYPE, payload().into_object()) });
        });
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.tell(|state| state.closed = true);
    }

    /// The consuming side; there is one (API-4).
    pub(crate) fn take(
        self: &Arc<Self>,
        store: Arc<dyn SessionStore>,
        debug: bool,
    ) -> Result<EventStream, StreamTaken> {
        let mut state = self.state();
        if std::mem::replace(&mut state.taken, true) {
            return Err(StreamTaken);
        }
        state.debug = debug;
        drop(state);
        Ok(EventStream { live: Arc::clone(self), store, debug, at: 0, ready: VecDeque::new(), owed: None })
    }

    fn live_event(&self, state: &mut State, event_type: EventType, payload: Object) -> RuntimeEvent {
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

impl State {
    /// Adds a stored event to the tail. Where one before it has not been published — it comes later, or never, because whoever
    /// stored it was dropped — the tail begins anew: a consumer reads the gap from the store. One that comes late is there
    /// already.
    fn keep(&mut self, event: &RuntimeEvent) {
        let Some(run_seq) = event.run_seq.filter(|run_seq| *run_seq > self.newest) else { return };
        if run_seq != self.newest + 1 {
            self.tail.clear();
        }
        self.newest = run_seq;
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(event.clone());
    }

    /// Drops the undelivered text of finished messages once too much is pending; the one being written is kept.
    fn drop_old_text(&mut self) {
        if self.pending_bytes <= PENDING_BYTES {
            return;
        }
        let finished = self.messages.len().saturating_sub(1);
        for message in self.messages.iter_mut().take(finished).filter(|message| !message.text.is_empty()) {
            self.pending_bytes -= message.text.len();
            message.text = String::new();
            message.dropped = true;
        }
    }

    /// Undelivered text that stands before the event after `at`.
    fn take_text(&mut self, at: u64) -> Option<String> {
        let message = self.messages.iter_mut().find(|message| message.after <= at && !message.text.is_empty())?;
        let text = std::mem::take(&mut message.text);
        message.had += text.len();
        self.pending_bytes -= text.len();
        Some(text)
    }

    /// The consumer passes the end of a message. What it has had of it, if the rest was dropped.
    fn end_message(&mut self, run_seq: u64) -> Option<usize> {
        let mut dropped = None;
        while self.messages.front().is_some_and(|message| message.after < run_seq) {
            dropped = self.messages.pop_front().filter(|message| message.dropped).map(|message| message.had);
        }
        if self.messages.is_empty() {
            self.writing = false;
        }
        dropped
    }

    fn take_view(&mut self, at: u64) -> Option<(ToolCallId, Object)> {
        let index = self.views.iter().position(|placed| placed.after <= at)?;
        Some(self.views.remove(index).what)
    }

    fn take_debug(&mut self, at: u64) -> Option<(EventType, Object)> {
        self.debug_deltas.front().filter(|placed| placed.after <= at)?;
        self.debug_deltas.pop_front().map(|placed| placed.what)
    }
}

/// What happens in a run, as it happens: stored events in their order, deltas in between.
///
/// Opens at the run's first event whenever it is taken, as long as it is the first to be (API-13).
pub struct EventStream {
    live: Arc<Live>,
    store: Arc<dyn SessionStore>,
    debug: bool,
    /// `run_seq` of the last stored event that was passed.
    at: u64,
    /// Stored events that were read because this consumer fell behind.
    ready: VecDeque<RuntimeEvent>,
    /// A message whose text was dropped: its node, and how much of it was given out.
    owed: Option<(NodeId, usize)>,
}

impl EventStream {
    /// The next event; `None` when the run has ended and everything was given out. Dropping the future loses nothing.
    ///
    /// What looks like a secret is not shown (STO-10). Deltas are content like the nodes they become, and stay as they are.
    ///
    /// # Errors
    /// If this consumer fell behind and the store cannot be read. The run goes on.
    pub async fn next(&mut self) -> Result<Option<RuntimeEvent>, StoreError> {
        let mut event = self.next_as_it_is().await?;
        if let Some(event) = event.as_mut().filter(|event| !is_content(event.event_type)) {
            in_object(&self.live.patterns, &mut event.payload);
        }
        Ok(event)
    }

    async fn next_as_it_is(&mut self) -> Result<Option<RuntimeEvent>, StoreError> {
        loop {
            if let Some((node_id, had)) = self.owed.clone() {
                let text = self.node_text(&node_id).await?;
                self.owed = None;
                let rest = text.get(had..).unwrap_or_default().to_owned();
                return Ok(Some(self.live_event(MessageDelta { text: rest })));
            }
            match self.look() {
                Found::Live(event) => return Ok(Some(*event)),
                Found::Stored(event) => {
                    if let Some(event) = self.pass(*event) {
                        return Ok(Some(event));
                    }
                }
                Found::Behind => {
                    self.ready = self.store.run_events(&self.live.run_id, self.at, PAGE).await?.into();
                    if self.ready.is_empty() {
                        // The log does not have what its tail promised; waiting for it would never end.
                        return Ok(None);
                    }
                }
                Found::Nothing => self.live.news.notified().await,
                Found::End => return Ok(None),
            }
        }
    }

    /// Moves past a stored event. Where the text of its message was dropped, the rest of it comes first.
    fn pass(&mut self, event: RuntimeEvent) -> Option<RuntimeEvent> {
        let run_seq = event.run_seq.unwrap_or(self.at);
        if event.event_type == EventType::MessageCompleted {
            let dropped = self.live.state().end_message(run_seq);
            if let (Some(had), Some(node_id)) = (dropped, &event.node_id) {
                self.owed = Some((node_id.clone(), had));
                self.ready.push_front(event);
                return None;
            }
        }
        self.at = self.at.max(run_seq);
        (self.debug || !event.event_type.is_debug_only()).then_some(event)
    }

    async fn node_text(&self, node_id: &NodeId) -> Result<String, StoreError> {
        let node = self.store.node(node_id).await?;
        Ok(node.map(|node| node.content.iter().filter_map(ContentBlock::as_text).collect()).unwrap_or_default())
    }

    fn live_event<P: EventPayload>(&self, payload: P) -> RuntimeEvent {
        self.live.live_event(&mut self.live.state(), P::EVENT_TYPE, payload.into_object())
    }

    /// What there is to give, without waiting.
    fn look(&mut self) -> Found {
        let mut state = self.live.state();
        if let Some((event_type, payload)) = state.take_debug(self.at) {
            return Found::Live(Box::new(self.live.live_event(&mut state, event_type, payload)));
        }
        if let Some(text) = state.take_text(self.at) {
            let delta = MessageDelta { text }.into_object();
            return Found::Live(Box::new(self.live.live_event(&mut state, EventType::MessageDelta, delta)));
        }
        if let Some((call, view)) = state.take_view(self.at) {
            let view = ToolProgress(view).into_object();
            let mut event = self.live.live_event(&mut state, EventType::ToolProgress, view);
            event.tool_call_id = Some(call);
            return Found::Live(Box::new(event));
        }
        if let Some(event) = self.ready.pop_front() {
            return Found::Stored(Box::new(event));
        }
        if state.newest > self.at {
            let first = state.tail.front().and_then(|event| event.run_seq).unwrap_or(u64::MAX);
            let index = (self.at + 1).checked_sub(first).and_then(|index| usize::try_from(index).ok());
            let event = index.and_then(|index| state.tail.get(index)).cloned();
            return event.map_or(Found::Behind, |event| Found::Stored(Box::new(event)));
        }
        if state.closed { Found::End } else { Found::Nothing }
    }
}

/// Pieces of what nodes hold.
fn is_content(event_type: EventType) -> bool {
    matches!(event_type, EventType::MessageDelta | EventType::ModelReasoningDelta | EventType::ToolCallDelta)
}

enum Found {
    Stored(Box<RuntimeEvent>),
    Live(Box<RuntimeEvent>),
    Behind,
    Nothing,
    End,
}

fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(u64::try_from(since_1970.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests;
