//! Where to cut a path that has become too long: for a slide of the window, or for a summary.

use std::sync::Arc;

use agent_protocol::{ModelMessage, NodeId, Role};
use serde::{Deserialize, Serialize};

use crate::compose::{Build, Parts};
use crate::path::{Group, Path};
use crate::selection::{Rules, Selection};
use crate::sources::Sources;
use crate::tokens::TokenCounter;
use crate::transcript::transcript_tokens;
use crate::window::Window;
use crate::words::Sayings;

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

/// Where to cut so that at most `keep_tokens` are left, on group borders only. The latest exchange always stays.
///
/// `None`: nothing can be freed, so an overflow ends the run instead of looping.
#[must_use]
pub fn plan_cut(path: &Path, sources: &Sources, window: Window, keep_tokens: u64) -> Option<CutPlan> {
    let parts = Parts::of(sources, window);
    let selection = Selection::new(path, parts.rules);
    let kept: Vec<&Group> = path.groups().iter().filter(|group| selection.keeps(group)).collect();
    let summary = path.compaction().map_or(0, |compaction| path.nodes()[compaction.at].tokens);
    let before: u64 = summary + kept.iter().map(|group| selection.size(group)).sum::<u64>();
    let last_border = selection.last_border();

    let borders: Vec<usize> = kept.iter().map(|group| group.head).filter(|head| *head > selection.border).collect();
    let borders = &borders[..borders.partition_point(|head| *head <= last_border)];
    // What is kept because of what it is depends on the border, so each is weighed with what would be kept then. The first that
    // leaves little enough, or the last there is.
    let weigh = |border: usize| {
        let then =
            Selection::new(path, Rules { window: Window { first_kept: border, ..parts.rules.window }, ..parts.rules });
        summary + kept.iter().filter(|group| then.keeps(group)).map(|group| then.size(group)).sum::<u64>()
    };
    let place = borders.partition_point(|border| weigh(*border) > keep_tokens).min(borders.len().saturating_sub(1));
    let first_kept = *borders.get(place)?;
    let after = weigh(first_kept);
    let gone = kept.iter().filter(|group| (selection.border..first_kept).contains(&group.head));
    let turns = gone.filter(|group| path.nodes()[group.head].role == Role::Assistant).count();
    let node = path.nodes().get(first_kept)?;
    (after < before).then(|| CutPlan {
        first_kept,
        first_kept_node_id: node.node_id.clone(),
        turns,
        tokens_before: before,
        tokens_after: after,
    })
}

/// What a summary is to stand for (CMP-1, CMP-2). It holds by ids, so that it survives the run that asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionPlan {
    /// The first node that is kept as it is.
    pub first_kept_node_id: NodeId,
    /// The newest node when it was planned: while it is on the active path, the plan holds (CMP-6).
    pub tip: NodeId,
    /// Replies that the summary will stand for, those of earlier summaries included.
    pub turns: usize,
    /// Replies before the kept part that its writer is not shown.
    #[serde(default)]
    pub turns_left_out: usize,
    /// Estimated tokens of the messages before.
    pub tokens_before: u64,
    /// Estimated tokens of the messages that are kept, without the new summary.
    pub tokens_kept: u64,
    /// Longest summary, in estimated tokens.
    pub summary_limit: u64,
    /// The user's words out of what is covered.
    pub user_words: Sayings,
}

/// A plan and the messages it covers, as they were sent: an earlier summary, then what has become too old to be kept.
#[derive(Debug, Clone)]
pub struct PlannedCompaction {
    /// The plan.
    pub plan: CompactionPlan,
    /// What is to be summarised.
    pub messages: Vec<Arc<ModelMessage>>,
    /// Estimated tokens of the messages.
    pub tokens: u64,
}

/// Room in tokens, as estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionRoom {
    /// What may stay as it is.
    pub keep: u64,
    /// Most that a request for a summary may hold of what it covers.
    pub covered: u64,
    /// Longest summary.
    pub summary: u64,
}

/// Shortest summary worth asking for: the headings alone take most of half of it.
const LEAST_SUMMARY: u64 = 160;

/// Why no summary is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlan {
    /// It would free too little to be worth its cost.
    NotWorthIt,
    /// Not even the oldest exchange fits into a request for one: what it takes, in estimated tokens.
    NoRoom(u64),
}

/// Plans a summary: walks back from the tip until `room.keep`, then to the next message of a person if there is one near; a
/// turn that is too big for that is split between its exchanges (CMP-2).
///
/// `None`: a summary would free too little to be worth its cost, so nothing goes round in circles by construction.
#[must_use]
pub fn plan_compaction(
    path: &Path,
    sources: &Sources,
    window: Window,
    room: CompactionRoom,
) -> Option<PlannedCompaction> {
    plan(path, sources, window, room).ok()
}

/// The same, and why there is none.
pub(crate) fn plan(
    path: &Path,
    sources: &Sources,
    window: Window,
    room: CompactionRoom,
) -> Result<PlannedCompaction, NoPlan> {
    let parts = Parts::of(sources, window);
    let now = Selection::new(path, parts.rules);
    let tokens_before = Build::choose(&now, parts.marker).tokens;
    let groups = path.groups();
    let candidates: Vec<usize> =
        (0..groups.len()).filter(|at| groups[*at].head >= now.border && !now.is_apart(groups[*at].head)).collect();
    let wanted = cut_point(&now, &candidates, room.keep).ok_or(NoPlan::NotWorthIt)?;
    // What is covered goes into one request: as much of it as fits, the rest with the next summary. More borders never hold less.
    let up_to = |cut: usize| covered_messages(&now, &parts, groups[candidates[cut]].head);
    // Another model gets them written down, with long results shortened.
    let asked = |cut: usize| match (&sources.compacting.by, up_to(cut)) {
        (None, (_, tokens)) => tokens,
        (Some(_), (messages, _)) => transcript_tokens(&messages),
    };
    let (mut cut, mut too_many) = (0, wanted + 1);
    if asked(wanted) <= room.covered {
        cut = wanted;
    } else {
        while cut + 1 < too_many {
            let middle = usize::midpoint(cut, too_many);
            if asked(middle) <= room.covered { cut = middle } else { too_many = middle }
        }
    }
    if cut == 0 {
        return Err(NoPlan::NoRoom(asked(1)));
    }
    let (covered, tokens) = up_to(cut);
    let border = groups[candidates[cut]].head;
    let tip = path.tip().ok_or(NoPlan::NotWorthIt)?.clone();
    let after = Selection::covering(path, parts.rules, border);
    let tokens_kept: u64 = groups.iter().filter(|group| after.keeps(group)).map(|group| after.size(group)).sum();
    let user_words = words_covered(path, &now, border, sources.budgets.words());
    let words = TokenCounter.text(&user_words.listed(""));
    let summary_limit = room.summary.min(tokens / 2);
    let tokens_after = tokens_kept + words + summary_limit;
    let is_worth_it = summary_limit >= LEAST_SUMMARY && tokens_after + tokens_before / 10 <= tokens_before;
    if !is_worth_it {
        return Err(NoPlan::NotWorthIt);
    }
    let is_shown =
        |group: &&Group| group.head < border && path.nodes()[group.head].role == Role::Assistant && now.keeps(group);
    let turns = path.compaction().map_or(0, |known| known.mark.turns) + groups.iter().filter(is_shown).count();
    Ok(PlannedCompaction {
        plan: CompactionPlan {
            first_kept_node_id: path.nodes()[border].node_id.clone(),
            tip,
            turns,
            turns_left_out: turns_before(path, border).saturating_sub(turns),
            tokens_before,
            tokens_kept,
            summary_limit,
            user_words,
        },
        messages: covered,
        tokens,
    })
}

/// The first group to keep, as a place among the candidates; none where everything fits, or nothing may go.
fn cut_point(now: &Selection<'_>, candidates: &[usize], keep: u64) -> Option<usize> {
    let groups = now.path.groups();
    let size = |at: usize| if now.keeps(&groups[at]) { now.size(&groups[at]) } else { 0 };
    // Kept tokens from each candidate on.
    let mut suffix = vec![0; candidates.len() + 1];
    for (place, at) in candidates.iter().enumerate().rev() {
        suffix[place] = suffix[place + 1] + size(*at);
    }
    let last_border = now.last_border();
    let last = candidates.iter().rposition(|at| groups[*at].head <= last_border)?;
    let near = (0..=last).find(|place| suffix[*place] <= keep).unwrap_or(last);
    let is_turn_start = |place: &usize| {
        let node = &now.path.nodes()[groups[candidates[*place]].head];
        node.role == Role::User && !node.synthetic
    };
    let turn_start = (near..=last).find(|place| is_turn_start(place) && suffix[*place] >= keep / 2);
    Some(turn_start.unwrap_or(near)).filter(|place| *place > 0)
}

/// The messages of the current request that come before `border`: the very ones that were sent, so that a server that has
/// them cached need not read them again.
fn covered_messages(now: &Selection<'_>, parts: &Parts<'_>, border: usize) -> (Vec<Arc<ModelMessage>>, u64) {
    let build = Build::choose_until(now, parts.marker, border);
    let tokens = build.tokens;
    (build.into_messages(), tokens)
}

/// Replies before a node of the path, those that were not loaded included.
pub(crate) fn turns_before(path: &Path, border: usize) -> usize {
    let groups = path.groups().iter().filter(|group| group.head < border);
    path.omitted().turns + groups.filter(|group| path.nodes()[group.head].role == Role::Assistant).count()
}

/// The words of earlier summaries, and those that are covered now.
fn words_covered(path: &Path, now: &Selection<'_>, border: usize, room: u64) -> Sayings {
    let unread = path.earlier_words();
    let covered = path.words(now.covered, border);
    match path.compaction() {
        None => unread.and(covered, room),
        Some(compaction) if compaction.is_loaded => compaction.mark.user_words.and(covered, room),
        // What lies between that summary and what was loaded.
        Some(compaction) => {
            let known = &compaction.mark.user_words;
            let between = unread.without(known);
            let said = between.kept.into_iter().map(|saying| (saying.node_id, saying.text));
            known.and(said.chain(covered), room)
        }
    }
}

#[cfg(test)]
mod tests;
