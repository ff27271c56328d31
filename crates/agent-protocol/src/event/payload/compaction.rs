//! Making room: summaries of older turns, and turns that are left out (CMP-*, PRV-15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use crate::run::stored_enum;
use crate::{ErrorPayload, EventType, NodeId};

stored_enum! {
    /// Who waits for a summary (CMP-5).
    CompactMode {
        /// Nobody yet: it is made beside the running turns.
        Background = "background",
        /// Nobody any more: the run that asks for it ends.
        AtEnd = "at_end",
        /// The run: its next request does not fit.
        Recovery = "recovery",
    }
}

/// A summary of older turns is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactStarted {
    /// Who waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<CompactMode>,
    /// Estimated tokens of the messages now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Estimated tokens of what it is to stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_covered: Option<u64>,
    /// Turns it is to stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// There is more room in the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CompactCompleted {
    /// A summary stands for older turns. The event names its node.
    Summary {
        /// Who waited for it.
        mode: CompactMode,
        /// Turns it stands for.
        turns_summarised: u64,
        /// What is kept as it is begins here.
        first_kept_node_id: NodeId,
        /// Estimated tokens of the messages before.
        tokens_before: u64,
        /// And after.
        tokens_after: u64,
        /// Whether the summary was cut at its limit.
        summary_cut: bool,
    },
    /// The oldest turns are left out (PRV-15).
    WindowSlide {
        /// How many are missing now that are in no summary.
        turns_left_out: u64,
        /// What is kept begins here.
        first_kept_node_id: NodeId,
        /// Estimated tokens of the messages before.
        tokens_before: u64,
        /// And after.
        tokens_after: u64,
    },
    /// What tools brought is shortened further (CTX-6).
    Squeeze {
        /// How far, from 1.
        level: u8,
        /// Tokens that were needed.
        tokens_before: u64,
    },
}

/// No summary was written; the run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactFailed {
    /// Who waited for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<CompactMode>,
    /// Why.
    pub error: ErrorPayload,
}

payloads! {
    CompactStarted = CompactStarted,
    CompactCompleted = CompactCompleted,
    CompactFailed = CompactFailed,
}
