//! From the path to one request: pure, and append-only within an epoch (CTX-1, CTX-4, CTX-5, PRV-15).
//!
//! A new request is made of [`Parts`] that come from the sources, a past one of those its report holds ([`crate::rebuild()`]);
//! from there on both go the same way.

use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelMessage, ModelRequest, NodeId, NodeType, Object, Role, SystemPrompt, ToolCallId, ToolList,
};

use crate::notes;
use crate::path::{Group, Path, Weighed};
use crate::render;
use crate::run::{ModelSettings, Sources};
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

/// What went into a request and what was left out; part of its report, [`crate::ContextBuilt`] (CTX-1).
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
    let parts = Parts::of(sources, window);
    let build = Build::choose(path, &parts);
    let needed = calibration.apply(build.tokens);
    if needed > sources.budgets.messages {
        return Err(Overflow { needed, available: sources.budgets.messages });
    }
    let report = ContextReport {
        first_kept: path.nodes().get(window.first_kept).map(|node| node.node_id.clone()),
        last: path.tip().cloned(),
        nodes_in: build.nodes_in,
        nodes_out: path.omitted().nodes + path.len() - build.nodes_in,
        turns_out: build.turns_out,
        results_shortened: build.shortened,
        message_tokens: build.tokens,
        request_tokens: calibration.apply(build.tokens + sources.budgets.fixed),
    };
    Ok((build.request(&parts), report))
}

/// All that a request is made of besides the nodes.
pub(crate) struct Parts<'a> {
    pub(crate) window: Window,
    /// Most tokens of the results of one turn; longer ones are shortened.
    pub(crate) results_limit: u64,
    pub(crate) system: &'a Arc<SystemPrompt>,
    pub(crate) tools: &'a Arc<ToolList>,
    pub(crate) model: &'a ModelSettings,
    pub(crate) max_output_tokens: u64,
    pub(crate) tail: &'a [Arc<ModelMessage>],
}

impl<'a> Parts<'a> {
    pub(crate) fn of(sources: &'a Sources, window: Window) -> Self {
        Self {
            window,
            results_limit: sources.budgets.results_of_a_turn(),
            system: &sources.system,
            tools: &sources.tools.list,
            model: &sources.model,
            max_output_tokens: sources.budgets.output,
            tail: &sources.tail,
        }
    }
}

/// What goes with a request besides what the model is shown.
pub(crate) fn request_metadata(call_id_prefix: &ToolCallId) -> Object {
    Object::from_iter([("call_id_prefix".to_owned(), call_id_prefix.as_str().into())])
}

/// Collects the kept messages. The marker stands where the first turn is missing.
#[derive(Default)]
pub(crate) struct Build {
    messages: Vec<Arc<ModelMessage>>,
    gap_at: Option<usize>,
    tokens: u64,
    pub(crate) nodes_in: usize,
    pub(crate) turns_out: usize,
    pub(crate) shortened: usize,
}

impl Build {
    pub(crate) fn choose(path: &Path, parts: &Parts<'_>) -> Self {
        let omitted = path.omitted();
        let mut build = Self { turns_out: omitted.turns, ..Self::default() };
        let input = path.last_input();
        for group in path.groups() {
            if omitted.nodes > 0 && group.head >= omitted.at {
                build.gap_at.get_or_insert(build.messages.len());
            }
            if is_kept(path, group, parts.window, input) {
                build.keep(path, group, parts.results_limit);
            } else {
                build.leave_out(path, group);
            }
        }
        build
    }

    pub(crate) fn request(self, parts: &Parts<'_>) -> ModelRequest {
        let mut messages = self.finish();
        // Board and runtime state are no history: they come last and are made anew each turn (PRV-15).
        messages.extend(parts.tail.iter().cloned());
        ModelRequest {
            model: parts.model.name.clone(),
            system: Arc::clone(parts.system),
            messages,
            tools: Arc::clone(parts.tools),
            tool_choice: parts.model.tool_choice.clone(),
            temperature: parts.model.temperature,
            max_output_tokens: parts.max_output_tokens,
            provider_options: parts.model.provider_options.clone(),
            metadata: Object::new(),
        }
    }

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

/// What is kept whatever the window, besides the user's message of the run (CTX-4).
pub const PINNED: [NodeType; 3] = [NodeType::SkillContext, NodeType::MemoryContext, NodeType::InstructionContext];

fn is_pinned(path: &Path, group: &Group, input: Option<usize>) -> bool {
    Some(group.head) == input || PINNED.contains(&path.nodes()[group.head].node_type)
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
