//! From the path to one request: pure, and append-only within an epoch (CTX-1, CTX-4, CTX-5, PRV-15).
//!
//! A new request is made of [`Parts`] that come from the sources, a past one of those its report holds ([`crate::rebuild()`]);
//! from there on both go the same way.

use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelMessage, ModelRequest, NodeId, Object, Role, SystemPrompt, ToolCallId, ToolList,
};

use crate::notes;
use crate::path::{Group, Path, PathNode};
use crate::selection::{Rules, Selection};
use crate::sources::{ModelSettings, Sources};
use crate::tokens::{Calibration, TokenCounter, Weighed};
use crate::window::Window;
use crate::words::Sayings;

/// The request does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// What the messages take, estimated and calibrated.
    pub needed: u64,
    /// What there is room for.
    pub available: u64,
}

/// What went into a request and what was left out; part of its report, [`ContextBuilt`](agent_protocol::event::ContextBuilt) (CTX-1).
#[derive(Debug, Clone, PartialEq)]
pub struct ContextReport {
    /// The summary that stands for the beginning.
    pub compaction: Option<NodeId>,
    /// First node of the kept part; pinned nodes before it are in too.
    pub first_kept: Option<NodeId>,
    /// Nodes from before the kept part that are in all the same.
    pub pinned: Vec<NodeId>,
    /// Newest node.
    pub last: Option<NodeId>,
    /// Nodes that went in.
    pub nodes_in: usize,
    /// Nodes that were left out.
    pub nodes_out: usize,
    /// Turns that were left out, those in the summary included.
    pub turns_out: usize,
    /// Turns that stand in the summary.
    pub turns_summarised: usize,
    /// Results that were shortened.
    pub results_shortened: usize,
    /// The marker's words, where turns are missing that are in no summary.
    pub marker: Option<String>,
    /// Estimated tokens of the messages.
    pub message_tokens: u64,
    /// Estimated tokens of the system blocks and tool schemas.
    pub system_tokens: u64,
    /// Estimated tokens of what comes last and is no history.
    pub tail_tokens: u64,
    /// Estimated tokens of the whole request, calibrated.
    pub request_tokens: u64,
}

/// How nodes become messages; a report says it, since past requests are made again as they were. 1: big arguments of calls are
/// shortened, and an instruction file's notice gives way when its text has gone.
pub(crate) const EDITION: u32 = 1;

/// Builds the request of the next turn.
///
/// # Errors
/// [`Overflow`] when the kept messages need more room than the budgets give.
pub fn compose(
    path: &Path,
    sources: &Sources,
    window: Window,
    calibration: Calibration,
) -> Result<(ModelRequest, ContextReport), Overflow> {
    let parts = Parts::of(sources, window);
    let selection = Selection::new(path, parts.rules);
    let build = Build::choose(&selection, parts.marker);
    let needed = calibration.apply(build.tokens);
    let tail_tokens = tail_tokens(sources);
    let messages = sources.budgets.calibrated(calibration, dynamic_tokens(&sources.system)).messages;
    let available = messages.saturating_sub(calibration.apply(tail_tokens));
    if needed > available {
        return Err(Overflow { needed, available });
    }
    let id = |index: usize| path.nodes().get(index).map(|node| node.node_id.clone());
    let system_tokens = sources.budgets.fixed + dynamic_tokens(&sources.system);
    let report = ContextReport {
        compaction: path.compaction().and_then(|compaction| id(compaction.at)),
        first_kept: id(window.first_kept),
        pinned: build.pinned.iter().filter_map(|index| id(*index)).collect(),
        last: path.tip().cloned(),
        nodes_in: build.nodes_in,
        nodes_out: path.omitted().nodes + path.len() - build.nodes_in,
        turns_out: build.turns_out,
        turns_summarised: build.turns_summarised,
        results_shortened: build.shortened,
        marker: build.marker(),
        message_tokens: build.tokens,
        system_tokens,
        tail_tokens,
        request_tokens: calibration.apply(build.tokens + tail_tokens + system_tokens),
    };
    Ok((build.request(&parts), report))
}

/// What is in a request of this path because it was loaded: skills, memories, instruction files (SKL-3).
pub(crate) fn in_context<'a>(path: &'a Path, sources: &'a Sources, window: Window) -> Vec<&'a PathNode> {
    Selection::new(path, Parts::of(sources, window).rules).loaded()
}

/// What the blocks cost that are not part of the fixed part.
pub(crate) fn dynamic_tokens(system: &SystemPrompt) -> u64 {
    system.blocks.iter().filter(|block| block.dynamic).map(|block| block.token_count).sum()
}

/// What comes last and is no history takes its room from the messages.
fn tail_tokens(sources: &Sources) -> u64 {
    sources.tail.iter().map(|message| TokenCounter.message(&message.content)).sum()
}

/// All that a request is made of besides the nodes.
pub(crate) struct Parts<'a> {
    pub(crate) rules: Rules<'a>,
    pub(crate) marker: Marker<'a>,
    pub(crate) system: &'a Arc<SystemPrompt>,
    pub(crate) tools: &'a Arc<ToolList>,
    pub(crate) model: &'a ModelSettings,
    pub(crate) max_output_tokens: u64,
    pub(crate) tail: &'a [Arc<ModelMessage>],
}

/// What is said where turns are missing that are in no summary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Marker<'a> {
    /// How many, and what the user said in them, in so much room.
    Words(u64),
    /// What was said then.
    Then(Option<&'a str>),
}

impl<'a> Parts<'a> {
    pub(crate) fn of(sources: &'a Sources, window: Window) -> Self {
        let budgets = &sources.budgets;
        Self {
            rules: Rules {
                window,
                results_limit: window.share(budgets.results_of_a_turn()),
                pinned_limit: window.pinned(budgets.pinned()),
                in_system: &sources.in_system,
                edition: EDITION,
            },
            marker: Marker::Words(window.share(budgets.words())),
            system: &sources.system,
            tools: &sources.tools.list,
            model: &sources.model,
            max_output_tokens: budgets.output,
            tail: &sources.tail,
        }
    }
}

/// What goes with a request besides what the model is shown.
pub(crate) fn request_metadata(call_id_prefix: &ToolCallId) -> Object {
    Object::from_iter([("call_id_prefix".to_owned(), call_id_prefix.as_str().into())])
}

/// Collects the kept messages: the summary, then what is kept in the path's order. A marker stands where the first turn is
/// missing that is not in the summary.
#[derive(Default)]
pub(crate) struct Build {
    messages: Vec<Arc<ModelMessage>>,
    gap_at: Option<usize>,
    pub(crate) tokens: u64,
    pub(crate) nodes_in: usize,
    pub(crate) turns_out: usize,
    pub(crate) turns_summarised: usize,
    pub(crate) shortened: usize,
    pinned: Vec<usize>,
}

impl Build {
    pub(crate) fn choose(selection: &Selection<'_>, marker: Marker<'_>) -> Self {
        Self::choose_until(selection, marker, usize::MAX)
    }

    /// Only what comes before this node.
    pub(crate) fn choose_until(selection: &Selection<'_>, marker: Marker<'_>, end: usize) -> Self {
        let path = selection.path;
        let omitted = path.omitted();
        let mut build = Self { turns_out: omitted.turns, ..Self::default() };
        if let Some(compaction) = selection.compaction() {
            let node = &path.nodes()[compaction.at];
            build.turns_summarised = compaction.mark.turns;
            build.add(node.message.clone(), node.tokens);
        }
        // What was not loaded is in the summary, unless that ends before it.
        let is_covered = selection.compaction().is_some_and(|known| {
            let turns = known.mark.turns + known.mark.turns_left_out;
            known.is_loaded || !omitted.is_past_summary && omitted.turns <= turns
        });
        let unknown = omitted.nodes > 0 && !is_covered;
        for group in path.groups().iter().take_while(|group| group.head < end) {
            if unknown && group.head >= omitted.at {
                build.gap_at.get_or_insert(build.messages.len());
            }
            if selection.keeps(group) {
                build.keep(selection, group);
            } else if !selection.is_apart(group.head) {
                build.leave_out(selection, group);
            }
        }
        build.mark_gap(selection, marker);
        build
    }

    pub(crate) fn request(self, parts: &Parts<'_>) -> ModelRequest {
        let mut messages = self.messages;
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

    /// The messages alone.
    pub(crate) fn into_messages(self) -> Vec<Arc<ModelMessage>> {
        self.messages
    }

    fn keep(&mut self, selection: &Selection<'_>, group: &Group) {
        if group.head < selection.border && selection.is_pinned(group) {
            self.pinned.push(group.head);
        }
        let (messages, shortened) = selection.messages(group);
        self.shortened += shortened;
        for (message, tokens) in messages {
            self.add(message, tokens);
        }
    }

    fn add(&mut self, message: Arc<ModelMessage>, tokens: u64) {
        self.messages.push(message);
        self.tokens += tokens;
        self.nodes_in += 1;
    }

    fn leave_out(&mut self, selection: &Selection<'_>, group: &Group) {
        let node = &selection.path.nodes()[group.head];
        // A skill that has lost its room is no turn; what the summary covers is said there.
        if group.head >= selection.covered && node.mark.is_none() {
            self.gap_at.get_or_insert(self.messages.len());
        }
        self.turns_out += usize::from(node.role == Role::Assistant);
    }

    fn mark_gap(&mut self, selection: &Selection<'_>, marker: Marker<'_>) {
        let Some(at) = self.gap_at else { return };
        let turns = self.turns_out.saturating_sub(self.turns_summarised).max(1);
        let (message, tokens) = match marker {
            Marker::Then(text) => marked(text.map_or_else(|| notes::left_out(turns), str::to_owned)),
            Marker::Words(room) => {
                let key = (selection.covered, selection.border, turns, room, selection.input);
                selection.path.memos().marker(key, || marked(marker_text(selection, turns, room)))
            }
        };
        self.messages.insert(at, message);
        self.tokens += tokens;
    }

    fn marker(&self) -> Option<String> {
        self.gap_at.and_then(|at| self.messages[at].content.first()?.as_text().map(str::to_owned))
    }
}

fn marker_text(selection: &Selection<'_>, turns: usize, room: u64) -> String {
    let text = notes::left_out(turns);
    let words = words_between(selection, room);
    if words.is_empty() { text } else { words.listed(&format!("{text}\n{}", notes::WORDS_LEFT_OUT)) }
}

fn marked(text: String) -> Weighed {
    let content = vec![ContentBlock::text(text)];
    let tokens = TokenCounter.message(&content);
    let mut marker = ModelMessage::new(Role::User, content);
    marker.metadata.insert("synthetic".to_owned(), true.into());
    marker.metadata.insert("source_node_type".to_owned(), "window".into());
    (Arc::new(marker), tokens)
}

/// The user's words out of what neither the summary nor the request holds.
fn words_between(selection: &Selection<'_>, room: u64) -> Sayings {
    let earlier = match selection.compaction() {
        None => selection.path.earlier_words().clone(),
        // What a summary covers, its node holds.
        Some(compaction) if compaction.is_loaded => Sayings::default(),
        Some(compaction) => selection.path.earlier_words().without(&compaction.mark.user_words),
    };
    let between = selection.path.words(selection.covered, selection.border);
    // The input of the run is kept as it is.
    let input = selection.input.map(|index| &selection.path.nodes()[index].node_id);
    earlier.and(between.filter(|(node_id, _)| Some(node_id) != input), room)
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
