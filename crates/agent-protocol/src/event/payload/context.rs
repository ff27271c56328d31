//! The report of a request (CTX-1): with the nodes, and the bytes behind the hashes of the fixed part, all that is needed to make
//! the request again (STO-11).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::EventPayload;
use super::older;
use crate::{EventType, ModelMessage, NodeId, Object, ToolCallId, ToolChoice};

/// A request was put together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextBuilt {
    /// The turn, from 1. A request that is made again belongs to the same turn (RUN-23).
    pub turn: u32,
    /// The request's number, unique in its run.
    pub request: u32,
    /// Which stretch of append-only requests of the run it belongs to (PRV-15).
    pub epoch: u32,
    /// What the requests of an epoch have in common: in the report of the first, and once more where it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_part: Option<EpochPart>,
    /// In every other report: the request of the same run whose report has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_part_of_request: Option<u32>,
    /// The summary that stands for the beginning of the path (CMP-1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_node_id: Option<NodeId>,
    /// First node of the kept part; without a summary, or where turns were left out after it.
    #[serde(deserialize_with = "Option::deserialize")]
    pub first_kept_node_id: Option<NodeId>,
    /// How far what tools brought is shortened, from 1; absent where it has the room it should have.
    #[serde(default, skip_serializing_if = "is_not_squeezed")]
    pub squeeze: u8,
    /// Nodes from before the kept part that are in all the same: loaded skills, the message of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_node_ids: Vec<NodeId>,
    /// Newest node.
    #[serde(deserialize_with = "Option::deserialize")]
    pub last_node_id: Option<NodeId>,
    /// Nodes that went in.
    pub nodes_in: usize,
    /// Nodes that were left out.
    pub nodes_out: usize,
    /// Turns that were left out, those in the summary included.
    pub turns_out: usize,
    /// Turns that stand in the summary.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns_summarised: usize,
    /// Results that were shortened.
    pub results_shortened: usize,
    /// Estimated tokens of the messages, not calibrated.
    pub message_tokens: u64,
    /// Estimated tokens of the system blocks and tool schemas, not calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_tokens: Option<u64>,
    /// Estimated tokens of the whole request, calibrated.
    pub request_tokens: u64,
    /// The provider's counts as a multiple of our estimates.
    pub calibration: f64,
    /// The model's context window as a refusal named it, where that is less than the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_learned: Option<u64>,
    /// The count of the last prompts, as far as it was the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_level: Option<CountLevel>,
    /// What the adapter's own call ids begin with (PRV-5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id_prefix: Option<ToolCallId>,
    /// The messages that came last and are no history. They are in no node, so they are here in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<Arc<ModelMessage>>,
}

/// A count that prompts of several sizes had: that of prompts that were cut, if they differ clearly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountLevel {
    /// Estimated tokens of the shortest of them.
    pub estimated: u64,
    /// What the provider counted.
    pub counted: u64,
}

/// What the requests of an epoch have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpochPart {
    /// Why the epoch began: `run_start`, `compaction`, `window_slide`, `squeeze`, `sources_changed`.
    pub epoch_because: String,
    /// Which model, and how it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSettings>,
    /// Most tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Most tokens of the results of one turn; longer ones are shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_limit: Option<u64>,
    /// How the window is shared out.
    pub budgets: WindowBudgets,
    /// Hashes of the system blocks and of the tool list (STO-13).
    pub fixed_part: Object,
    /// Instruction nodes whose file stands in the system part (INS-3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_system: Vec<NodeId>,
    /// What is said where turns are missing that are in no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// How nodes became messages, as a number that grows when that changes; 0 before it was told.
    #[serde(default, skip_serializing_if = "is_untold")]
    pub edition: u32,
}

fn is_untold(edition: &u32) -> bool {
    *edition == 0
}

/// Which model, and how it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSettings {
    /// The model's name at its provider.
    pub name: String,
    /// Sampling temperature.
    #[serde(deserialize_with = "Option::deserialize")]
    pub temperature: Option<f64>,
    /// Whether and which tools may be called.
    pub tool_choice: ToolChoice,
    /// Options of this provider only.
    pub provider_options: Object,
}

/// How the context window is shared out (CFG-8), in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowBudgets {
    /// All of it.
    pub window: u64,
    /// Static system blocks and tool schemas, as measured.
    pub fixed: u64,
    /// Room for the answer.
    pub output: u64,
    /// Room for dynamic system blocks.
    pub dynamic: u64,
    /// Room for messages.
    pub messages: u64,
    /// Messages above this are compacted.
    pub compact_at: u64,
    /// Room for a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<u64>,
    /// What a compaction keeps as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_recent: Option<u64>,
    /// Room for catalogs and the task board together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogs: Option<u64>,
}

impl EventPayload for ContextBuilt {
    const EVENT_TYPE: EventType = EventType::ContextBuilt;

    fn from_older(payload: &Object) -> Object {
        older::context_built(payload)
    }
}

impl ContextBuilt {
    /// The request whose report holds the epoch's part: this one, or an earlier one of the same run.
    #[must_use]
    pub fn epoch_part_in(&self) -> u32 {
        self.epoch_part_of_request.unwrap_or(self.request)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_not_squeezed(level: &u8) -> bool {
    *level == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
