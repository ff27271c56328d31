//! The report of a request for people and scripts: what an older build did not write is not known, and no error.

use agent_protocol::{ContextBuilt, EpochPart, NodeId, Object, WindowBudgets};
use serde::Serialize;
use serde_json::Value;

/// What went into a request and what was left out, as its report tells it (CTX-1). What the report does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RequestContext {
    /// The turn. A request that is made again belongs to the same turn.
    pub turn: Option<u32>,
    /// The request's number in its run.
    pub request: Option<u32>,
    /// Which stretch of append-only requests of the run it belongs to (PRV-15).
    pub epoch: Option<u32>,
    /// What the requests of the epoch have in common: with the first of them, and once more where it changed.
    pub epoch_part: Option<EpochContext>,
    /// The summary that stands for the beginning of the conversation (CMP-1).
    pub summary: Option<NodeId>,
    /// First node of what is kept as it is.
    pub first_kept: Option<NodeId>,
    /// Nodes from before that which are in all the same.
    pub pinned: Vec<NodeId>,
    /// Newest node.
    pub last: Option<NodeId>,
    /// Nodes that went in.
    pub nodes_in: Option<u64>,
    /// Nodes that were left out.
    pub nodes_out: Option<u64>,
    /// Turns that were left out, those in the summary included.
    pub turns_out: Option<u64>,
    /// Turns that stand in the summary.
    pub turns_summarised: u64,
    /// Results that were shortened.
    pub results_shortened: Option<u64>,
    /// Messages that came last and are no history.
    pub tail: usize,
    /// Estimated tokens of the messages, not calibrated.
    pub message_tokens: Option<u64>,
    /// Estimated tokens of the system blocks and tool schemas, not calibrated.
    pub system_tokens: Option<u64>,
    /// Estimated tokens of the whole request, calibrated.
    pub request_tokens: Option<u64>,
    /// The provider's counts as a multiple of our estimates, as far as was known then.
    pub calibration: Option<f64>,
}

/// What the requests of an epoch have in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EpochContext {
    /// Why the epoch began: `run_start`, `compaction`, `window_slide`, `sources_changed`.
    pub because: Option<String>,
    /// The model's name at its provider.
    pub model: Option<String>,
    /// How the window is shared out.
    pub shares: WindowShares,
    /// The system blocks, in their order.
    pub blocks: Vec<BlockReport>,
    /// How many tools the model was shown.
    pub tools: Option<u64>,
    /// Instruction nodes whose file stands in the system part (INS-3).
    pub in_system: Vec<NodeId>,
    /// What the model is told where turns are missing that are in no summary (CTX-9).
    pub marker: Option<String>,
}

/// How the window is shared out, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WindowShares {
    /// All of it.
    pub window: Option<u64>,
    /// Static system blocks and tool schemas.
    pub fixed: Option<u64>,
    /// Room for the answer.
    pub output: Option<u64>,
    /// Room for dynamic system blocks.
    pub dynamic: Option<u64>,
    /// Room for messages.
    pub messages: Option<u64>,
    /// Messages above this are summarised.
    pub compact_at: Option<u64>,
}

/// A system block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockReport {
    /// Its name.
    pub block_id: String,
    /// Where it comes from: a packaged text, a file.
    pub source: String,
    /// Estimated tokens.
    pub tokens: Option<u64>,
    /// Whether it shares the room for dynamic blocks.
    pub dynamic: bool,
    /// What else the report says of it, such as what was left out of it.
    pub facts: Object,
}

impl From<ContextBuilt> for RequestContext {
    fn from(built: ContextBuilt) -> Self {
        let count = |count: usize| Some(count as u64);
        Self {
            turn: Some(built.turn),
            request: Some(built.request),
            epoch: Some(built.epoch),
            epoch_part: built.epoch_part.map(EpochContext::from),
            summary: built.compaction_node_id,
            first_kept: built.first_kept_node_id,
            pinned: built.pinned_node_ids,
            last: built.last_node_id,
            nodes_in: count(built.nodes_in),
            nodes_out: count(built.nodes_out),
            turns_out: count(built.turns_out),
            turns_summarised: built.turns_summarised as u64,
            results_shortened: count(built.results_shortened),
            tail: built.tail.len(),
            message_tokens: Some(built.message_tokens),
            system_tokens: built.system_tokens,
            request_tokens: Some(built.request_tokens),
            calibration: Some(built.calibration),
        }
    }
}

impl RequestContext {
    /// Turns that are neither in the request nor in the summary.
    #[must_use]
    pub fn turns_gone(&self) -> Option<u64> {
        self.turns_out.map(|turns| turns.saturating_sub(self.turns_summarised))
    }
}

impl From<EpochPart> for EpochContext {
    fn from(part: EpochPart) -> Self {
        let fixed = &part.fixed_part;
        let tools = object(fixed, "tools");
        Self {
            because: Some(part.epoch_because),
            model: part.model.map(|model| model.name),
            shares: part.budgets.into(),
            blocks: list(fixed, "system_blocks").iter().map(BlockReport::read).collect(),
            tools: tools.and_then(|tools| number(tools, "count")),
            in_system: part.in_system,
            marker: part.marker,
        }
    }
}

impl EpochContext {
    /// Tokens of the dynamic blocks.
    #[must_use]
    pub fn dynamic_tokens(&self) -> u64 {
        self.blocks.iter().filter(|block| block.dynamic).filter_map(|block| block.tokens).fold(0, u64::saturating_add)
    }
}

impl From<WindowBudgets> for WindowShares {
    fn from(budgets: WindowBudgets) -> Self {
        let WindowBudgets { window, fixed, output, dynamic, messages, compact_at, .. } = budgets;
        let shares = [window, fixed, output, dynamic, messages, compact_at].map(Some);
        let [window, fixed, output, dynamic, messages, compact_at] = shares;
        Self { window, fixed, output, dynamic, messages, compact_at }
    }
}

impl BlockReport {
    fn read(block: &Value) -> Self {
        let empty = Object::new();
        let block = block.as_object().unwrap_or(&empty);
        let known = ["block_id", "source", "tokens", "hash", "dynamic", "facts"];
        let more = object(block, "facts").into_iter().flatten();
        let facts = block.iter().filter(|(key, _)| !known.contains(&key.as_str())).chain(more);
        Self {
            block_id: text(block, "block_id").unwrap_or_default(),
            source: text(block, "source").unwrap_or_default(),
            tokens: number(block, "tokens"),
            dynamic: block.get("dynamic").is_some_and(|dynamic| dynamic == true),
            facts: facts.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

fn number(object: &Object, key: &str) -> Option<u64> {
    object.get(key)?.as_u64()
}

fn text(object: &Object, key: &str) -> Option<String> {
    object.get(key)?.as_str().map(str::to_owned)
}

fn object<'o>(object: &'o Object, key: &str) -> Option<&'o Object> {
    object.get(key)?.as_object()
}

fn list<'o>(object: &'o Object, key: &str) -> &'o [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
