//! Which nodes of a path go into a request (CTX-4, CTX-5).

use std::collections::HashSet;

use agent_protocol::{ContentBlock, NodeId, NodeType, Role};

use crate::marks::keys;
use crate::path::{Compaction, Group, Path, PathNode, is_instruction};
use crate::render;
use crate::tokens::Weighed;
use crate::window::Window;

/// What a selection depends on besides the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) window: Window,
    /// Most tokens of the results of one turn; longer ones are shortened.
    pub(crate) results_limit: u64,
    /// Most tokens of what is kept from before the window because of what it is.
    pub(crate) pinned_limit: u64,
    /// Instruction nodes whose file stands in the system part.
    pub(crate) in_system: &'a [NodeId],
    /// How nodes become messages.
    pub(crate) edition: u32,
}

/// What goes in of one path.
pub(crate) struct Selection<'a> {
    pub(crate) path: &'a Path,
    rules: Rules<'a>,
    /// Everything from here on is kept.
    pub(crate) border: usize,
    /// Everything before this stands in the summary.
    pub(crate) covered: usize,
    pub(crate) input: Option<usize>,
    pins: Vec<usize>,
    hidden: Vec<usize>,
    /// Path and hash of files that are in the system part.
    elsewhere: HashSet<(&'a str, &'a str)>,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(path: &'a Path, rules: Rules<'a>) -> Self {
        let covered = path.compaction().map_or(0, |compaction| compaction.first_kept);
        Self::with_border(path, rules, covered, rules.window.first_kept.max(covered))
    }

    /// As if a summary stood for everything before `border`.
    pub(crate) fn covering(path: &'a Path, rules: Rules<'a>, border: usize) -> Self {
        Self::with_border(path, rules, border, border)
    }

    fn with_border(path: &'a Path, rules: Rules<'a>, covered: usize, border: usize) -> Self {
        let in_system = |index: &usize| rules.in_system.contains(&path.nodes()[*index].node_id);
        // Most runs have none, and then nothing is looked for.
        let hidden: Vec<_> = match rules.in_system {
            [] => Vec::new(),
            _ => path.context().iter().copied().filter(in_system).collect(),
        };
        let marks = hidden.iter().filter_map(|index| path.nodes()[*index].mark.as_ref());
        let elsewhere = marks.flat_map(|mark| &mark.items).map(|(path, hash)| (path.as_str(), hash.as_str())).collect();
        let input = path.last_input();
        let mut selection = Self { path, rules, border, covered, input, pins: Vec::new(), hidden, elsewhere };
        selection.pins = selection.pinned();
        selection
    }

    /// The summary that goes first.
    pub(crate) fn compaction(&self) -> Option<&'a Compaction> {
        self.path.compaction()
    }

    /// What is kept from before the border, newest first as long as there is room; of one thing only the newest.
    fn pinned(&self) -> Vec<usize> {
        // In a squeeze what was loaded has to share one room wherever it stands.
        let end = if self.rules.window.squeeze > 0 { usize::MAX } else { self.border };
        let before = self.path.context().partition_point(|index| *index < end);
        let before = &self.path.context()[..before];
        let mut seen = HashSet::new();
        let (mut left, mut pins) = (self.rules.pinned_limit, Vec::new());
        for index in before.iter().rev() {
            let node = &self.path.nodes()[*index];
            if self.hidden.contains(index) || !self.counts(before, *index, node.node_type) {
                continue;
            }
            let items = node.mark.iter().flat_map(|mark| &mark.items);
            let news = items.filter(|(key, _)| seen.insert((node.node_type, key.as_str()))).count();
            if (news > 0 || node.mark.is_none()) && node.tokens <= left {
                left -= node.tokens;
                pins.push(*index);
            }
        }
        pins.reverse();
        pins
    }

    /// A plan's instruction counts as long as the run that asked for it goes on; of those before the border the newest. What comes
    /// behind the border changes nothing before it: within an epoch a request only grows.
    fn counts(&self, before: &[usize], index: usize, node_type: NodeType) -> bool {
        let of_type = |other: &&usize| self.path.nodes()[**other].node_type == node_type;
        !is_instruction(node_type)
            || (self.input.is_some_and(|input| index > input) && before.iter().rev().find(of_type) == Some(&index))
    }

    /// Whether a group goes in. One whose results are not all there never does: no call without its result.
    pub(crate) fn keeps(&self, group: &Group) -> bool {
        let is_in_place = group.head >= self.border
            && (self.rules.window.squeeze == 0 || self.path.context().binary_search(&group.head).is_err());
        group.is_complete() && !self.is_apart(group.head) && (is_in_place || self.is_pinned(group))
    }

    pub(crate) fn is_pinned(&self, group: &Group) -> bool {
        Some(group.head) == self.input || self.pins.binary_search(&group.head).is_ok()
    }

    /// Whether a node never stands in its place: summaries go first, or not at all; instructions may be in the system part.
    pub(crate) fn is_apart(&self, index: usize) -> bool {
        self.path.nodes()[index].node_type == NodeType::Compaction || self.hidden.binary_search(&index).is_ok()
    }

    /// The messages of a group, and how many results were shortened.
    pub(crate) fn messages(&self, group: &Group) -> (Vec<Weighed>, usize) {
        let (results, shortened) = self.results(group);
        let messages = std::iter::once(self.head(group)).chain(results).collect();
        (messages, shortened)
    }

    /// Estimated tokens of a group.
    pub(crate) fn size(&self, group: &Group) -> u64 {
        let results: u64 = self.results(group).0.iter().map(|(_, tokens)| tokens).sum();
        self.head(group).1 + results
    }

    /// The first message of a group: a reply whose calls are too big is shortened like results are (CTX-6).
    fn head(&self, group: &Group) -> Weighed {
        let head = &self.path.nodes()[group.head];
        let limit = self.rules.results_limit;
        if self.rules.edition > 0 && !group.calls.is_empty() && head.tokens > limit {
            // Made once per group, so that the next turn sends the same bytes.
            let (kept_limit, kept) =
                group.short_calls.get_or_init(|| (limit, render::shorten_calls(&head.message, limit)));
            return if *kept_limit == limit { kept.clone() } else { render::shorten_calls(&head.message, limit) };
        }
        if self.has_lost_its_text(head) {
            let path = head.mark.iter().flat_map(|mark| &mark.items).map(|(path, _)| path.as_str()).next();
            return self.path.memos().reference(group.head, || render::lost_instruction(&head.message, path));
        }
        (head.message.clone(), head.tokens)
    }

    /// Whether a node is the notice of an instruction file whose text went with the turns before the border.
    fn has_lost_its_text(&self, node: &PathNode) -> bool {
        if self.rules.edition == 0 || node.node_type != NodeType::InstructionContext {
            return false;
        }
        let Some(call) = node.mark.as_ref().and_then(|mark| mark.call.as_ref()) else { return false };
        let reading = self.path.groups().iter().rev().find(|group| group.calls.contains(call));
        reading.is_none_or(|group| !self.keeps(group))
    }

    /// The results of a group in the model's order, shortened if together they are too big.
    fn results(&self, group: &Group) -> (Vec<Weighed>, usize) {
        let limit = self.rules.results_limit;
        let mut references = 0;
        let results = group.results.iter().flatten();
        let whole: Vec<_> = results
            .map(|index| {
                let node = &self.path.nodes()[*index];
                if self.is_elsewhere(node) {
                    references += 1;
                    return self.path.memos().reference(*index, || render::reference(&node.message));
                }
                (node.message.clone(), node.tokens)
            })
            .collect();
        if whole.iter().map(|(_, tokens)| tokens).sum::<u64>() <= limit {
            return (whole, 0);
        }
        let key = (limit, references);
        // Made once per group, so that the next turn sends the same bytes.
        let (kept_key, kept) = group.shortened.get_or_init(|| (key, render::shorten_results(&whole, limit)));
        let short = if *kept_key == key { kept.clone() } else { render::shorten_results(&whole, limit) };
        (short, group.results.len())
    }

    /// Whether a result is a page of a file that stands in the system part, whichever call read it.
    fn is_elsewhere(&self, node: &PathNode) -> bool {
        let Some(ContentBlock::ToolResult(result)) =
            node.message.content.first().filter(|_| !self.elsewhere.is_empty())
        else {
            return false;
        };
        let fact = |key: &str| result.metadata.get(key).and_then(serde_json::Value::as_str);
        let file = fact(keys::READ_PATH).zip(fact(keys::READ_HASH));
        let says_so_itself = result.metadata.contains_key(keys::NOT_REPEATED);
        !says_so_itself && file.is_some_and(|file| self.elsewhere.contains(&file))
    }

    /// The first node of the latest exchange of this input, or the input itself if there is none yet: it always stays.
    pub(crate) fn last_border(&self) -> usize {
        let groups = self.path.groups();
        let latest = groups.iter().rev().find(|group| self.path.nodes()[group.head].role == Role::Assistant);
        latest.map_or(0, |group| group.head).max(self.input.unwrap_or(0))
    }

    /// What is in because it was loaded; of that in the system part, the nodes that stand for it.
    pub(crate) fn loaded(&self) -> Vec<&'a PathNode> {
        let is_in = |index: &usize| {
            (self.rules.window.squeeze == 0 && *index >= self.border) || self.pins.binary_search(index).is_ok()
        };
        let is_hidden = |index: &usize| self.hidden.binary_search(index).is_ok();
        let loaded = self.path.context().iter().filter(|index| is_in(index) || is_hidden(index));
        let counts = |index: &&usize| is_hidden(index) || !self.has_lost_its_text(&self.path.nodes()[**index]);
        loaded.filter(counts).map(|index| &self.path.nodes()[*index]).filter(|node| node.mark.is_some()).collect()
    }
}
