//! The consuming side of a live stream.

use std::collections::VecDeque;
use std::sync::Arc;

use agent_protocol::{ContentBlock, EventPayload, EventType, MessageDelta, NodeId, RuntimeEvent, ToolProgress};
use agent_redact::within::in_object;
use agent_store::{SessionStore, StoreError};

use super::feed::Live;

/// Events read from the store at once by a consumer that fell behind.
const PAGE: u32 = 256;

/// A second consumer of a stream that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the events of this run already have a consumer; replay reads them again")]
pub struct StreamTaken;

impl Live {
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
        (state.watched, state.debug) = (true, debug);
        drop(state);
        Ok(EventStream { live: Arc::clone(self), store, debug, at: 0, ready: VecDeque::new(), owed: None })
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
                    self.ready = self.store.run_events(self.live.run_id(), self.at, PAGE).await?.into();
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
            let event = state.stored_after(self.at).cloned();
            return event.map_or(Found::Behind, |event| Found::Stored(Box::new(event)));
        }
        if state.closed { Found::End } else { Found::Nothing }
    }
}

impl Drop for EventStream {
    /// There is one consumer, so nobody comes after this one.
    fn drop(&mut self) {
        self.live.state().forget();
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
