//! What the run machine wants stored, before the store has given it a place and a time.

use std::sync::Arc;

use crate::{
    CallEnd, ContentBlock, EndReason, ErrorPayload, EventPayload, EventType, Level, LoopAborted, LoopCompleted,
    LoopFailed, NodeId, NodeType, Object, ResultKind, Role, RunEnd, RunStatus, ToolCallId, ToolCompleted, ToolDenied,
    ToolFailed, Usage,
};

/// A node without its place (`node_seq`), its owner and its time; the store adds them.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeDraft {
    /// Unique id, given by the run (see [`crate::RunId::node`]).
    pub node_id: NodeId,
    /// The node before it on its path.
    pub parent_id: Option<NodeId>,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub node_type: NodeType,
    /// What is said.
    pub content: Arc<[ContentBlock]>,
    /// `synthetic`, `partial`, usage, provider extras, …
    pub metadata: Object,
    /// Estimated tokens.
    pub token_count: u64,
}

/// An event without its place, its owner and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDraft {
    /// What happened.
    pub event_type: EventType,
    /// How loud.
    pub level: Level,
    /// The node it is about.
    pub node_id: Option<NodeId>,
    /// The call it is about.
    pub tool_call_id: Option<ToolCallId>,
    /// Facts, by event type.
    pub payload: Object,
}

impl EventDraft {
    /// An event that says this: debug level for debug-only types, info for the rest.
    #[must_use]
    pub fn of<P: EventPayload>(payload: P) -> Self {
        Self::raw(P::EVENT_TYPE, payload.into_object())
    }

    /// An event whose payload no type of this build has written, such as one of an older build. Prefer [`Self::of`]: nothing checks
    /// that such an event can be read.
    #[must_use]
    pub fn raw(event_type: EventType, payload: Object) -> Self {
        let level = if event_type.is_debug_only() { Level::Debug } else { Level::Info };
        Self { event_type, level, node_id: None, tool_call_id: None, payload }
    }

    /// Sets how loud it is.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Names the node it is about.
    #[must_use]
    pub fn node(mut self, node_id: &NodeId) -> Self {
        self.node_id = Some(node_id.clone());
        self
    }

    /// Names the call it is about.
    #[must_use]
    pub fn call(mut self, tool_call_id: &ToolCallId) -> Self {
        self.tool_call_id = Some(tool_call_id.clone());
        self
    }
}

impl RunEnd {
    /// The event that says so: `loop_completed`, `loop_aborted` or `loop_failed`.
    #[must_use]
    pub fn into_event(self) -> EventDraft {
        match self.end_reason.map_or(RunStatus::Failed, EndReason::status) {
            RunStatus::Completed => EventDraft::of(LoopCompleted(self)),
            RunStatus::Aborted => EventDraft::of(LoopAborted(self)),
            _ => EventDraft::of(LoopFailed(self)),
        }
    }

    /// The same, as an error where there is one.
    #[must_use]
    pub fn into_event_at(self, level: Level) -> EventDraft {
        let failed = self.error.is_some();
        let event = self.into_event();
        if failed { event.level(level) } else { event }
    }
}

impl CallEnd {
    /// The event that says so: `tool_completed`, `tool_failed` or `tool_denied`.
    #[must_use]
    pub fn into_event(self) -> EventDraft {
        match self.kind {
            ResultKind::Ok => EventDraft::of(ToolCompleted(self)),
            ResultKind::Denied => EventDraft::of(ToolDenied(self)),
            ResultKind::Failed | ResultKind::Aborted | ResultKind::Skipped => EventDraft::of(ToolFailed(self)),
        }
    }
}

/// What changes of a run's row.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPatch {
    /// Where it stands now.
    pub status: RunStatus,
    /// Why it ended, once it has.
    pub end_reason: Option<EndReason>,
    /// The last node a user may see, once it has ended.
    pub end_node_id: Option<NodeId>,
    /// Turns taken so far.
    pub turn_count: u32,
    /// Tokens so far.
    pub usage: Usage,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
}
