//! What a path lets go of as it is handed from one run to the next, as if it had not been loaded: no request needs it any more.

use agent_protocol::{ContentBlock, NodeId, NodeType, Role};

use super::{Compaction, Group, Omitted, PINNED, Path, PathNode};
use crate::marks::keys;
use crate::words::Sayings;

/// How much of a path is worth keeping in memory, in estimated tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// At least so much of the end: more than any request can hold.
    pub(crate) end: u64,
    /// The results of one reply count as no more than this: they may be shortened.
    pub(crate) results: u64,
    /// Of what is pinned before it.
    pub(crate) pinned: u64,
    /// Of the user's words before it.
    pub(crate) words: u64,
}

impl Path {
    /// Without what a summary covers. Of what is loaded stay the kept part, the summary, and before it what may be kept because of
    /// what it is.
    #[must_use]
    pub fn without_what_is_covered(self) -> Self {
        let Some(border) = self.compactions.last().map(|compaction| compaction.first_kept) else { return self };
        let stays = |path: &Self, index: usize| {
            index >= border || index < path.omitted.pinned || PINNED.contains(&path.nodes[index].node_type)
        };
        self.keeping(stays)
    }

    /// Without what lies so far back that no request can hold it, once that is as much again. The user's words out of it stay, as far
    /// as there is room.
    #[must_use]
    pub(crate) fn without_the_oldest(mut self, memory: Memory) -> Self {
        if self.nodes.iter().map(|node| node.tokens).sum::<u64>() <= memory.end.saturating_mul(2) {
            return self;
        }
        let Some(border) = self.border_of_end(memory) else { return self };
        let compaction = self.compactions.last().cloned();
        let uncovered = compaction.as_ref().filter(|compaction| compaction.is_loaded).map(|known| known.first_kept);
        // What a summary covers, its node holds.
        let known = if uncovered.is_some() { Sayings::default() } else { std::mem::take(&mut self.earlier_words) };
        self.earlier_words = known.and(self.words(uncovered.unwrap_or(0), border), memory.words);
        let mut left = memory.pinned;
        let mut pinned: Vec<_> = self.context.iter().rev().copied().filter(|index| *index < border).collect();
        pinned.retain(|index| {
            let fits = PINNED.contains(&self.nodes[*index].node_type) && self.nodes[*index].tokens <= left;
            left = if fits { left - self.nodes[*index].tokens } else { 0 };
            fits
        });
        let summary = compaction.map(|compaction| compaction.at);
        self.keeping(|_, index| index >= border || summary == Some(index) || pinned.contains(&index))
    }

    /// The head of the first group of the end; none where all of it is, or a summary covers what is not.
    fn border_of_end(&self, memory: Memory) -> Option<usize> {
        let mut left = memory.end;
        let group = self.groups.iter().rev().find(|group| {
            let weight = self.nodes[group.head].tokens + self.results_of(group).min(memory.results);
            left = left.saturating_sub(weight);
            left == 0
        })?;
        let covered = self.compactions.last().map_or(0, |compaction| compaction.first_kept);
        Some(group.head).filter(|head| *head > covered.max(self.omitted.pinned))
    }

    fn results_of(&self, group: &Group) -> u64 {
        group.results.iter().flatten().map(|index| self.nodes[*index].tokens).sum()
    }

    /// What a person said in these groups, in order.
    pub(crate) fn words(&self, from: usize, to: usize) -> impl Iterator<Item = (NodeId, String)> {
        let heads = self.groups.iter().map(|group| group.head);
        let said = |node: &&PathNode| node.role == Role::User && !node.synthetic;
        heads.filter(move |head| (from..to).contains(head)).map(|head| &self.nodes[head]).filter(said).map(|node| {
            // The date behind a message is core's.
            let dates = usize::from(node.message.metadata.contains_key(keys::TODAY));
            let said = node.message.content.len() - dates;
            let text = node.message.content.iter().take(said).filter_map(ContentBlock::to_model_text);
            (node.node_id.clone(), text.collect::<Vec<_>>().join("\n"))
        })
    }

    /// Only these nodes: groups go or stay as a whole, and what goes lies before what stays but for single nodes.
    fn keeping(mut self, stays: impl Fn(&Self, usize) -> bool) -> Self {
        // Groups behind the border may have no part before it: a border is a group's head.
        let mut place = vec![None; self.nodes.len()];
        let (mut next, mut gone) = (0, Vec::new());
        for (index, place) in place.iter_mut().enumerate() {
            if stays(&self, index) {
                *place = Some(next);
                next += 1;
            } else {
                gone.push(index);
            }
        }
        let Some(last) = gone.last().copied() else { return self };
        let before = |index: usize| place.iter().take(index).flatten().count();
        let compaction = self.compactions.last().cloned();
        // What is missing before that, the summary stands for.
        let covered = compaction.as_ref().map_or(0, |compaction| compaction.first_kept);
        let knows_gap = self.omitted.nodes > 0 && compaction.as_ref().is_none_or(|compaction| !compaction.is_loaded);
        let first = gone.iter().copied().find(|index| *index >= covered).or(gone.first().copied()).unwrap_or(last);
        // An earlier summary and a skill that has lost its room are no turns: with them nothing was said that is missing.
        let is_said = |index: usize| {
            let node = &self.nodes[index];
            node.mark.is_none() && node.node_type != NodeType::Compaction
        };
        let is_past_summary = compaction.as_ref().is_some_and(|known| {
            gone.iter().any(|index| *index >= known.first_kept && is_said(*index))
                || self.omitted.is_past_summary && !known.is_loaded
        });
        self.omitted = Omitted {
            nodes: self.omitted.nodes + gone.len(),
            turns: self.omitted.turns + gone.iter().filter(|index| self.nodes[**index].role == Role::Assistant).count(),
            at: before(if knows_gap { self.omitted.at } else { first }),
            pinned: before(last),
            is_past_summary,
        };
        let moved = |index: usize| place.get(index).copied().flatten();
        self.groups.retain_mut(|group| match moved(group.head) {
            Some(head) => {
                group.head = head;
                group.results.iter_mut().for_each(|result| *result = result.and_then(moved));
                true
            }
            None => false,
        });
        self.context = self.context.iter().filter_map(|index| moved(*index)).collect();
        let omitted = self.omitted;
        let moved_compaction = |compaction: Compaction| {
            let at = moved(compaction.at)?;
            // Where some of the kept part went, what is loaded of it begins behind that.
            let (first_kept, is_loaded) = match omitted.is_past_summary {
                false => (before(compaction.first_kept), compaction.is_loaded),
                true => (omitted.pinned, false),
            };
            Some(Compaction { at, first_kept, is_loaded, ..compaction })
        };
        self.compactions = compaction.and_then(moved_compaction).into_iter().collect();
        self.call_ids = self.groups.iter().flat_map(|group| group.calls.iter().cloned()).collect();
        let mut places = place.into_iter();
        self.nodes.retain(|_| places.next().flatten().is_some());
        self.memos = super::Memos::default();
        self
    }
}
