//! One line of the timeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event_type::EventType;
use super::level::Level;
use crate::{AgentId, EventId, NodeId, Object, RunId, SessionId, Timestamp, ToolCallId};

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuntimeEvent {
    /// Unique id.
    pub event_id: EventId,
    /// Place in the session's timeline, from 1, gapless. Absent on live-only deltas (TYP-4); the order is this, never
    /// the clock (EVT-4).
    pub seq: Option<u64>,
    /// Place within the run, from 1.
    pub run_seq: Option<u64>,
    /// The session.
    pub session_id: SessionId,
    /// Whose event it is.
    pub agent_id: Option<AgentId>,
    /// The run.
    pub run_id: Option<RunId>,
    /// How loud.
    pub level: Level,
    /// What happened.
    pub event_type: EventType,
    /// The node it is about.
    pub node_id: Option<NodeId>,
    /// The call it is about.
    pub tool_call_id: Option<ToolCallId>,
    /// Facts, by event type; [`RuntimeEvent::read`] gives them their type.
    pub payload: Object,
    /// When it was stored or sent.
    pub created_at: Timestamp,
}
