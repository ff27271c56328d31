//! From the path to one request: pure, and append-only within an epoch (CTX-1, CTX-4, CTX-5, PRV-15).

use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelMessage, ModelRequest, NodeId, NodeType, Object, Role, SystemPrompt, ToolList,
};

use crate::notes;
use crate::path::{Group, Path, Weighed};
use crate::render;
use crate::run::Sources;
use crate::tokens::{Calibration, TokenCounter};

/// Where the kept part of the path begins. It only ever moves forward, and a move begins a new epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Groups that begin before this node index are left out, unless they must be kept.
    pub first_kept: usize,
}

/// How much to leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPlan {
    /// The new start of the kept part, as a node index of the path.
    pub first_kept: usize,
    /// The node at that place.
    pub first_kept_node_id: NodeId,
    /// How many more turns are left out.
    pub turns: usize,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
}

/// The request does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// What the messages take, estimated and calibrated.
    pub needed: u64,
    /// What there is room for.
    pub available: u64,
}

/// What went into a request and what was left out, stored as `context_built` (CTX-1).
#[derive(Debug, Clone, PartialEq)]
pub struct ContextReport {
    /// First node of the kept part; pinned nodes before it are in too.
    pub first_kept: Option<NodeId>,
    /// Newest node.
    pub last: Option<NodeId>,
    /// Nodes that went in.
    pub nodes_in: usize,
    /// Nodes that were left out.
    pub nodes_out: usize,
    /// Turns that were left out.
    pub turns_out: usize,
    /// Results that were shortened.
    pub results_shortened: usize,
    /// Estimated tokens of the messages.
    pub message_tokens: u64,
    /// Estimated tokens of the whole request, calibrated.
    pub request_tokens: u64,
}

/// Builds the request of the next turn.
///
/// # Errors
/// [`Overflow`] when the kept messages need more room than the budgets give; [`plan_cut`] says what could go.
pub fn compose(
    path: &Path,
    sources: &Sources,
    window: Window,
    calibration: Calibration,
) -> Result<(ModelRequest, ContextReport), Overflow> {
    let mut build = Build::default();
    let input = path.last_input();
    for group in path.groups() {
        if is_kept(path, group, window, input) {
            build.keep(path, group, sources.budgets.results_of_a_turn());
        } else {
            build.leave_out(path, group);
        }
    }
    let needed = calibration.apply(build.tokens);
    if needed > sources.budgets.messages {
        return Err(Overflow { needed, available: sources.budgets.messages });
    }
    let report = ContextReport {
        first_kept: path.nodes().get(window.first_kept).map(|node| node.node_id.clone()),
        last: path.tip().cloned(),
        nodes_in: build.nodes_in,
        nodes_out: path.len() - build.nodes_in,
        turns_out: build.turns_out,
        results_shortened: build.shortened,
        message_tokens: build.tokens,
        request_tokens: calibration.apply(build.tokens + sources.budgets.fixed),
    };
    Ok((request(build.finish(), sources), report))
}

fn request(mut messages: Vec<Arc<ModelMessage>>, sources: &Sources) -> ModelRequest {
    // Board and runtime state are no history: they come last and are made anew each turn (PRV-15).
    messages.extend(sources.tail.iter().cloned());
    ModelRequest {
        model: sources.model.name.clone(),
        system: sources.system.clone(),
        messages,
        tools: sources.tools.list.clone(),
        tool_choice: sources.model.tool_choice.clone(),
        temperature: sources.model.temperature,
        max_output_tokens: sources.budgets.output,
        provider_options: sources.model.provider_options.clone(),
        metadata: Object::new(),
    }
}

/// Collects the kept messages. The marker stands where the first turn is missing.
#[derive(Default)]
struct Build {
    messages: Vec<Arc<ModelMessage>>,
    gap_at: Option<usize>,
    tokens: u64,
    nodes_in: usize,
    turns_out: usize,
    shortened: usize,
}

impl Build {
    fn keep(&mut self, path: &Path, group: &Group, results_limit: u64) {
        let head = &path.nodes()[group.head];
        self.add(head.message.clone(), head.tokens);
        for (message, tokens) in results(path, group, results_limit, &mut self.shortened) {
            self.add(message, tokens);
        }
    }

    fn add(&mut self, message: Arc<ModelMessage>, tokens: u64) {
        self.messages.push(message);
        self.tokens += tokens;
        self.nodes_in += 1;
    }

    fn leave_out(&mut self, path: &Path, group: &Group) {
        self.gap_at.get_or_insert(self.messages.len());
        self.turns_out += usize::from(path.nodes()[group.head].role == Role::Assistant);
    }

    fn finish(mut self) -> Vec<Arc<ModelMessage>> {
        if let Some(at) = self.gap_at {
            self.messages.insert(at, Arc::new(marker(self.turns_out.max(1))));
        }
        self.messages
    }
}

fn marker(turns: usize) -> ModelMessage {
    let mut marker = ModelMessage::new(Role::User, vec![ContentBlock::text(notes::left_out(turns))]);
    marker.metadata.insert("synthetic".to_owned(), true.into());
    marker.metadata.insert("source_node_type".to_owned(), "window".into());
    marker
}

/// The results of a group in the model's order, shortened if together they are too big.
fn results(path: &Path, group: &Group, limit: u64, shortened: &mut usize) -> Vec<Weighed> {
    let whole = || -> Vec<_> {
        let nodes = group.results.iter().flatten().map(|index| &path.nodes()[*index]);
        nodes.map(|node| (node.message.clone(), node.tokens)).collect()
    };
    let total: u64 = group.results.iter().flatten().map(|index| path.nodes()[*index].tokens).sum();
    if total <= limit {
        return whole();
    }
    *shortened += group.results.len();
    // Made once per group, so that the next turn sends the same bytes.
    let (kept_limit, kept) = group.shortened.get_or_init(|| (limit, render::shorten_results(&whole(), limit)));
    if *kept_limit == limit { kept.clone() } else { render::shorten_results(&whole(), limit) }
}

/// Whether a group goes into the request. A group whose results are not all there never does: no call without its result.
fn is_kept(path: &Path, group: &Group, window: Window, input: Option<usize>) -> bool {
    group.is_complete() && (group.head >= window.first_kept || is_pinned(path, group, input))
}

/// What is kept whatever the window (CTX-4).
fn is_pinned(path: &Path, group: &Group, input: Option<usize>) -> bool {
    if Some(group.head) == input {
        return true;
    }
    match path.nodes()[group.head].node_type {
        NodeType::SkillContext | NodeType::MemoryContext | NodeType::InstructionContext => true,
        NodeType::Message
        | NodeType::Compaction
        | NodeType::ChildResult
        | NodeType::PlanInstruction
        | NodeType::TaskInstruction
        | NodeType::TaskBoard
        | NodeType::SystemNote => false,
    }
}

/// Where to cut so that at most `keep_tokens` are left, on group borders only. The latest exchange always stays.
///
/// `None`: nothing can be freed, so an overflow ends the run instead of looping.
#[must_use]
pub fn plan_cut(path: &Path, window: Window, results_limit: u64, keep_tokens: u64) -> Option<CutPlan> {
    let input = path.last_input();
    let groups = path.groups();
    let size = |group: &Group| -> u64 {
        let head = path.nodes()[group.head].tokens;
        head + results(path, group, results_limit, &mut 0).iter().map(|(_, tokens)| tokens).sum::<u64>()
    };
    let kept: Vec<&Group> = groups.iter().filter(|group| is_kept(path, group, window, input)).collect();
    let before: u64 = kept.iter().map(|group| size(group)).sum();
    // What stays is the latest exchange of this input, or everything from the input on if there is none yet.
    let latest = groups.iter().rev().find(|group| path.nodes()[group.head].role == Role::Assistant);
    let last_border = latest.map_or(0, |group| group.head).max(input.unwrap_or(0));

    let (mut after, mut turns, mut first_kept) = (before, 0, window.first_kept);
    for (at, group) in kept.iter().enumerate() {
        if after <= keep_tokens || group.head >= last_border {
            break;
        }
        if is_pinned(path, group, input) {
            continue;
        }
        after -= size(group);
        turns += usize::from(path.nodes()[group.head].role == Role::Assistant);
        first_kept = kept.get(at + 1).map_or(last_border, |next| next.head);
    }
    let node = path.nodes().get(first_kept)?;
    (after < before).then(|| CutPlan {
        first_kept,
        first_kept_node_id: node.node_id.clone(),
        turns,
        tokens_before: before,
        tokens_after: after,
    })
}

/// Tokens of the static system blocks and of the tool schemas by name: the fixed part [`crate::Budgets::derive`] shares
/// the window with.
#[must_use]
pub fn fixed_parts(system: &SystemPrompt, tools: &ToolList) -> Vec<(String, u64)> {
    /// What a tool costs beyond its own words: type, braces, separators.
    const PER_TOOL: u64 = 10;
    let blocks = system.blocks.iter().filter(|block| !block.dynamic);
    let mut parts: Vec<_> = blocks.map(|block| (block.block_id.clone(), block.token_count)).collect();
    let schemas = tools.tools.iter().map(|tool| {
        let schema = tool.input_schema.to_string();
        [tool.name.as_str(), &tool.description, &schema].map(|text| TokenCounter.text(text)).iter().sum::<u64>()
            + PER_TOOL
    });
    parts.push(("the tool schemas".to_owned(), schemas.sum()));
    parts
}
