//! What the requests of an epoch have in common, told once.

use agent_core::archive::{BlockReport, EpochContext, PinnedNode, RequestContext, RequestReport};
use agent_core::id::NodeId;
use agent_core::session::NodeType;
use agent_core::text::shorten;
use serde_json::Value;

use crate::lines::{counted, in_line, whole_line};
use crate::stored::below_home;

/// The mark of an epoch's first row.
pub(super) const EPOCH: &str = "epoch";
/// The mark where turns are missing.
pub(super) const LEFT_OUT: &str = "left out";

/// So many pinned nodes are named.
const NAMED: usize = 6;
/// Names of system blocks line up as far as this.
const NAMES: usize = 28;

/// So much of the marker is quoted, in columns.
const QUOTED: usize = 48;

/// A row: its mark, and what it says.
pub(super) type Line = (&'static str, String);

/// What has been told already.
#[derive(Default)]
pub(super) struct Told {
    /// The epoch, unless a run has just begun.
    epoch: Option<u32>,
    lines: Vec<Line>,
    /// Of the whole report: most runs have the same ones.
    system: (Vec<BlockReport>, Option<u64>),
    window: Option<u64>,
    /// Turns that are gone, and turns in a summary.
    missing: (u64, u64),
}

impl Told {
    /// A run begins, and with it an epoch.
    pub(super) fn run(&mut self) {
        *self = Self { system: std::mem::take(&mut self.system), ..Self::default() };
    }

    /// The size of the context window.
    pub(super) fn window(&self) -> Option<u64> {
        self.window
    }

    /// What there is to tell before a request.
    pub(super) fn news(&mut self, request: &RequestReport) -> Vec<Line> {
        let context = &request.context;
        let missing = (context.turns_gone().unwrap_or(0), context.turns_summarised);
        let changed = std::mem::replace(&mut self.missing, missing) != missing;
        let Some(part) = &context.epoch_part else {
            // Reports that name their epoch's part begin with one that has it; who knows what others did.
            return if changed { missing_turns(context, None) } else { Vec::new() };
        };
        self.window = part.shares.window;
        let same = context.epoch.is_some() && self.epoch == context.epoch;
        self.epoch = context.epoch;
        let mut lines = vec![shares(part)];
        lines.extend(self.system(part, context, same));
        lines.extend(pinned(&request.pinned));
        lines.extend(missing_turns(context, Some(part)));
        lines.extend(tail(context));
        let before = std::mem::replace(&mut self.lines, lines.clone());
        if same {
            lines.retain(|line| !before.contains(line));
        } else {
            lines.insert(0, (EPOCH, because(part, context.epoch)));
        }
        lines
    }

    /// The system part, block by block where it is not the one that was told before.
    fn system(&mut self, part: &EpochContext, context: &RequestContext, same_epoch: bool) -> Vec<Line> {
        let system = (part.blocks.clone(), part.tools);
        let known = std::mem::replace(&mut self.system, system) == self.system;
        if known && same_epoch {
            return Vec::new();
        }
        if part.blocks.is_empty() && part.tools.is_none() {
            return vec![("system", "what it is made of is not stored".to_owned())];
        }
        let blocks = counted(part.blocks.len() as u64, "block");
        let tools = part.tools.map(|tools| format!(" and {}", counted(tools, "tool"))).unwrap_or_default();
        let tokens =
            context.system_tokens.or(part.shares.fixed.map(|fixed| fixed.saturating_add(part.dynamic_tokens())));
        let tokens = tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
        let before = if known { ", as before" } else { "" };
        let mut lines = vec![("system", format!("{blocks}{tools}{tokens}{before}"))];
        if !known {
            let names = part.blocks.iter().map(|block| whole_line(&block.block_id));
            let width = names.map(|name| name.chars().count()).max().unwrap_or(0).min(NAMES);
            lines.extend(part.blocks.iter().map(|block| ("", block_line(block, width))));
        }
        if !part.in_system.is_empty() {
            let files = counted(part.in_system.len() as u64, "instruction file");
            lines.push(("", format!("{files} read earlier stand in it, and no more where they were read")));
        }
        lines
    }
}

fn because(part: &EpochContext, epoch: Option<u32>) -> String {
    let why = match part.because.as_deref() {
        Some("run_start") => "the run begins".to_owned(),
        Some("compaction") => "earlier turns became a summary".to_owned(),
        Some("window_slide") => "the window was full, so the oldest turns were left out".to_owned(),
        Some("sources_changed") => "system blocks or tools have changed".to_owned(),
        Some(other) => in_line(other),
        None => "why is not stored".to_owned(),
    };
    let number = epoch.map(|epoch| format!("{epoch}: ")).unwrap_or_default();
    let model = part.model.as_deref().map(|model| format!("; model {}", in_line(model))).unwrap_or_default();
    format!("{number}{why}{model}")
}

fn shares(part: &EpochContext) -> Line {
    let shares = &part.shares;
    let Some(window) = shares.window else { return ("window", "how it is shared out is not stored".to_owned()) };
    let used = format!(" ({} used)", part.dynamic_tokens());
    let parts = [
        ("system and tools", shares.fixed, ""),
        ("dynamic", shares.dynamic, &used),
        ("answer", shares.output, ""),
        ("messages", shares.messages, ""),
    ];
    let parts = parts.iter().filter_map(|(name, tokens, more)| Some(format!("{name} {}{more}", (*tokens)?)));
    ("window", format!("{window}: {}", parts.collect::<Vec<_>>().join(", ")))
}

fn block_line(block: &BlockReport, width: usize) -> String {
    let tokens = block.tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    let facts = block.facts.iter().filter_map(|(key, value)| fact(key, value));
    let dynamic = block.dynamic.then(|| "dynamic".to_owned());
    let facts: Vec<_> = dynamic.into_iter().chain(facts).collect();
    let facts = if facts.is_empty() { String::new() } else { format!("  ({})", facts.join(", ")) };
    let name = whole_line(&block.block_id);
    format!("{tokens:>6}  {name:width$}  {}{facts}", whole_line(&below_home(&block.source))).trim_end().to_owned()
}

/// Something a report says of a block, if it is worth a word.
fn fact(key: &str, value: &Value) -> Option<String> {
    let key = in_line(key).replace('_', " ");
    match value {
        // It tells contents apart, for programs.
        _ if key.ends_with("hash") => None,
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(key),
        Value::Number(number) if number.as_f64() == Some(0.0) => None,
        Value::Number(number) => Some(format!("{key}: {number}")),
        Value::String(text) => Some(format!("{key}: {}", in_line(text))),
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => Some(format!("{key}: {}", items.len())),
        Value::Object(_) => None,
    }
}

fn pinned(pinned: &[PinnedNode]) -> Option<Line> {
    let mut named: Vec<_> = pinned.iter().take(NAMED).map(pinned_node).collect();
    if pinned.len() > NAMED {
        named.push(format!("{} more", pinned.len() - NAMED));
    }
    (!named.is_empty()).then(|| ("pinned", named.join(", ")))
}

fn pinned_node(node: &PinnedNode) -> String {
    let what = match node.node_type {
        Some(NodeType::Message) => " (the run's message)".to_owned(),
        Some(other) => {
            let kind = other.as_str().trim_end_matches("_context").replace('_', " ");
            let items = node.items.iter().map(|item| in_line(item)).collect::<Vec<_>>().join(", ");
            format!(" ({})", format!("{kind} {items}").trim_end())
        }
        None => String::new(),
    };
    format!("{}{what}", short(&node.node_id))
}

/// What is missing, and why (CTX-9).
fn missing_turns(context: &RequestContext, part: Option<&EpochContext>) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(summary) = &context.summary {
        let turns = counted(context.turns_summarised, "turn");
        lines.push(("covered", format!("{turns} by the summary in {}", short(summary))));
    }
    let gone = context.turns_gone().unwrap_or(0);
    if gone > 0 {
        let because = part.and_then(|part| part.because.as_deref());
        let slid = because == Some("window_slide") || context.first_kept.is_some();
        let why = match (slid, gone) {
            (true, 1) => "the window slid past it",
            (true, _) => "the window slid past them",
            (false, 1) => "it is older than what the window holds",
            (false, _) => "they are older than what the window holds",
        };
        lines.push((LEFT_OUT, format!("{}: {why}", counted(gone, "turn"))));
    }
    if let Some(marker) = part.and_then(|part| part.marker.as_deref()) {
        let mut said = marker.lines();
        let first = in_line(said.next().unwrap_or_default());
        let first = shorten(&first, QUOTED);
        let more = match said.count() {
            0 => String::new(),
            more => format!(" and {} more", counted(more as u64, "line")),
        };
        lines.push(("marker", format!("the model reads: {first}{more}")));
    }
    lines
}

fn tail(context: &RequestContext) -> Option<Line> {
    let are = if context.tail == 1 { "is" } else { "are" };
    let messages = counted(context.tail as u64, "message");
    (context.tail > 0).then(|| ("tail", format!("{messages} at the end that {are} no history")))
}

/// So much of an id tells it apart.
const SHOWN: usize = 12;

/// A node for people: the beginning of its run's id, and its number in the run.
pub(super) fn short(node: &NodeId) -> String {
    let id = node.as_str().strip_prefix(NodeId::PREFIX).unwrap_or(node.as_str());
    match id.rsplit_once('_') {
        Some((run, number)) if run.len() > SHOWN => {
            let run = run.get(..SHOWN).unwrap_or(run);
            format!("{}{run}…_{number}", NodeId::PREFIX)
        }
        _ => node.to_string(),
    }
}
