//! What is kept in memory of a run for the one who watches it.

use std::collections::VecDeque;

use agent_protocol::{EventType, Object, RuntimeEvent, ToolCallId};

/// Stored events kept in memory per run.
pub(super) const TAIL: usize = 256;
/// Pending text of finished messages kept in memory per run, in bytes.
const PENDING_BYTES: usize = 1 << 20;
/// Debug deltas kept in memory per run; older ones give way, since they never carry anything that is not stored.
const DEBUG_DELTAS: usize = 1024;

#[derive(Default)]
pub(super) struct State {
    /// The newest stored events, without a gap.
    pub(super) tail: VecDeque<RuntimeEvent>,
    /// `run_seq` of the newest stored event.
    pub(super) newest: u64,
    /// Messages whose end the consumer has not passed, oldest first.
    pub(super) messages: VecDeque<MessageText>,
    /// Whether more text belongs to the last of them.
    writing: bool,
    /// Bytes of the message being written that came while nobody watched.
    missed: usize,
    /// Bytes of undelivered text in `messages`.
    pending_bytes: usize,
    /// The latest view of each call at work.
    pub(super) views: Vec<Placed<(ToolCallId, Object)>>,
    /// For a debugging consumer only.
    pub(super) debug_deltas: VecDeque<Placed<(EventType, Object)>>,
    pub(super) debug: bool,
    /// It has a consumer, or had one.
    pub(super) taken: bool,
    /// Somebody watches, or may do so from the first event on: deltas and the tail are kept.
    pub(super) watched: bool,
    pub(super) closed: bool,
    pub(super) deltas: u64,
}

/// Something live-only and the `run_seq` of the stored event it follows.
pub(super) struct Placed<T> {
    after: u64,
    pub(super) what: T,
}

/// The text of one message, as far as the consumer has not had it.
pub(super) struct MessageText {
    after: u64,
    pub(super) text: String,
    /// Bytes that the consumer has had, or that came before it watched.
    had: usize,
    /// The text was dropped here; the message's node has it.
    dropped: bool,
}

impl State {
    /// Of a run that is watched from its first event on, or of one that nobody watches yet.
    pub(super) fn new(watched: bool) -> Self {
        Self { watched, ..Self::default() }
    }

    /// Nobody watches any more, and nobody can: nothing is kept from here on.
    pub(super) fn forget(&mut self) {
        *self = Self { taken: self.taken, newest: self.newest, closed: self.closed, ..Self::default() };
    }

    /// The next text is that of a new message.
    pub(super) fn begin_message(&mut self) {
        (self.writing, self.missed) = (false, 0);
    }

    /// More text of the message being written.
    pub(super) fn text(&mut self, more: &str) {
        if !self.watched {
            self.missed += more.len();
            return;
        }
        if !std::mem::replace(&mut self.writing, true) {
            let message = MessageText { after: self.newest, text: String::new(), had: self.missed, dropped: false };
            self.messages.push_back(message);
        }
        if let Some(message) = self.messages.back_mut() {
            message.text.push_str(more);
            self.pending_bytes += more.len();
        }
        self.drop_old_text();
    }

    /// The latest view of a call at work.
    pub(super) fn progress(&mut self, call: &ToolCallId, view: Object) {
        if self.watched {
            self.views.retain(|placed| placed.what.0 != *call);
            self.views.push(Placed { after: self.newest, what: (call.clone(), view) });
        }
    }

    /// Whether a debugging consumer is there to see something.
    pub(super) fn is_debugged(&self) -> bool {
        self.watched && self.debug
    }

    pub(super) fn debug_delta(&mut self, event_type: EventType, payload: Object) {
        if self.debug_deltas.len() == DEBUG_DELTAS {
            self.debug_deltas.pop_front();
        }
        self.debug_deltas.push_back(Placed { after: self.newest, what: (event_type, payload) });
    }

    /// Adds a stored event to the tail. Where one before it has not been published — it comes later, or never, because whoever
    /// stored it was dropped — the tail begins anew: a consumer reads the gap from the store. One that comes late is there
    /// already. Where nobody watches only its number is kept: who begins to reads what came before from the store.
    pub(super) fn keep(&mut self, event: &RuntimeEvent) {
        let Some(run_seq) = event.run_seq.filter(|run_seq| *run_seq > self.newest) else { return };
        if run_seq != self.newest + 1 {
            self.tail.clear();
        }
        self.newest = run_seq;
        if !self.watched {
            return;
        }
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
    pub(super) fn take_text(&mut self, at: u64) -> Option<String> {
        let message = self.messages.iter_mut().find(|message| message.after <= at && !message.text.is_empty())?;
        let text = std::mem::take(&mut message.text);
        message.had += text.len();
        self.pending_bytes -= text.len();
        Some(text)
    }

    /// The consumer passes the end of a message. What it has had of it, if the rest was dropped.
    pub(super) fn end_message(&mut self, run_seq: u64) -> Option<usize> {
        let mut dropped = None;
        while self.messages.front().is_some_and(|message| message.after < run_seq) {
            dropped = self.messages.pop_front().filter(|message| message.dropped).map(|message| message.had);
        }
        if self.messages.is_empty() {
            self.writing = false;
        }
        dropped
    }

    pub(super) fn take_view(&mut self, at: u64) -> Option<(ToolCallId, Object)> {
        let index = self.views.iter().position(|placed| placed.after <= at)?;
        Some(self.views.remove(index).what)
    }

    pub(super) fn take_debug(&mut self, at: u64) -> Option<(EventType, Object)> {
        self.debug_deltas.front().filter(|placed| placed.after <= at)?;
        self.debug_deltas.pop_front().map(|placed| placed.what)
    }

    /// A stored event of the tail, by the number of the one before it.
    pub(super) fn stored_after(&self, at: u64) -> Option<&RuntimeEvent> {
        let first = self.tail.front()?.run_seq?;
        let index = usize::try_from((at + 1).checked_sub(first)?).ok()?;
        self.tail.get(index)
    }
}
