//! The end of a path: what is wanted of it is chosen by the spine, and only then read. The spine is walked as far as the end goes,
//! and on to the next checkpoint (PERF-5).

use agent_protocol::{Node, NodeId, NodeType, Object, Role, SessionId};
use rusqlite::Connection;
use serde_json::Value;

use super::checkpoint::{self, Checkpoint, PathState, Uncovered};
use super::fault::Outcome;
use super::fields::Fields;
use super::listing::SYNTHETIC;
use super::path::{Vertebra, Walk, bodies, broken};
use super::{read, sql};
use crate::rows::{Recent, RecentPath};

/// Key in the metadata of a summary: the first node that it does not stand for.
const FIRST_KEPT: &str = "first_kept_node_id";

/// What was loaded, and a checkpoint that is worth keeping.
pub(super) struct Loaded {
    pub(super) path: RecentPath,
    pub(super) checkpoint: Option<Checkpoint>,
}

pub(super) fn load_recent(
    conn: &Connection,
    session_id: &SessionId,
    leaf: &NodeId,
    recent: &Recent,
) -> Outcome<Loaded> {
    let mut statement = conn.prepare_cached(sql::SPINE)?;
    let mut walk = Walk::begin(conn, &mut statement, session_id, leaf)?;
    let end = find_end(conn, &mut walk, recent)?;
    let (summary, base) = find_base(conn, &mut walk, session_id, recent, &end)?;
    let (spine, border) = (&walk.spine, end.border);

    // What comes before the end, oldest first.
    let (from, mut state) = match base {
        Some((at, state)) => (at, state),
        None => (spine.len(), PathState::new(recent)),
    };
    let walked = from - border;
    let is_due = walked > recent.step;
    // A summary in the end of the path is no part of what comes before it.
    let is_before = summary.as_ref().is_some_and(|summary| summary.at >= border);
    if summary.is_some() {
        state.uncovered = None;
    }
    for (at, vertebra) in spine.iter().enumerate().take(from).skip(border).rev() {
        if let Some(summary) = summary.as_ref().filter(|summary| summary.kept == at) {
            state.uncovered = Some(Uncovered::after((spine[summary.at].node_seq, vertebra.node_seq)));
        }
        let is_rule = match &state.uncovered {
            Some(_) => is_rule(conn, vertebra, recent)?,
            None => None,
        };
        state.push(vertebra, is_rule);
    }

    let (mut places, missing) = state.pinned(recent.always_tokens);
    let earlier = match &summary {
        Some(summary) => is_before.then(|| spine[summary.at].node_seq),
        None => state.uncovered.as_ref().and_then(|uncovered| uncovered.summary).map(|(at, _)| at),
    };
    places.extend(earlier);
    places.sort_unstable();
    let nodes_pinned = places.len();
    let nodes_before = missing.map_or(nodes_pinned, |missing| places.partition_point(|place| *place < missing));
    let chosen = summary.as_ref().map(|summary| summary.at);
    let in_the_end = |(at, vertebra): &(usize, &Vertebra)| !is_summary(vertebra, recent) || chosen == Some(*at);
    let end_places = spine.iter().enumerate().take(border).rev().filter(in_the_end);
    places.extend(end_places.map(|(_, vertebra)| vertebra.node_seq));
    let nodes = bodies(conn, session_id, &places)?;

    let said = state.uncovered.as_ref().map(|uncovered| &uncovered.said);
    let earlier_words = said.map_or_else(|| Ok(Vec::new()), |said| bodies(conn, session_id, &said.wanted()))?;
    let earlier_unread = said.map_or(0, |said| said.count) - earlier_words.len();
    let turns = spine.iter().take(border).filter(|vertebra| vertebra.role == Role::Assistant).count();
    let loaded_turns = nodes.iter().filter(|node| node.role == Role::Assistant).count();
    let count = |counted: u64, end: usize, loaded: usize| usize::try_from(counted).unwrap_or(usize::MAX) + end - loaded;
    let path = RecentPath {
        omitted_nodes: count(state.nodes, border, nodes.len()),
        omitted_turns: count(state.turns, turns, loaded_turns),
        nodes_before,
        nodes_pinned,
        nodes,
        earlier_words,
        earlier_unread,
    };
    let checkpoint = spine.get(border).filter(|_| is_due).map(|vertebra| {
        if summary.is_some() && !is_before {
            state.uncovered = None;
        }
        Checkpoint { node_id: vertebra.node_id.clone(), node_seq: vertebra.node_seq, state: Some(state) }
    });
    Ok(Loaded { path, checkpoint })
}

/// A summary that counts, on the way that was gone: its place, and that of the first node that it does not stand for.
#[derive(Clone, Copy)]
struct Summary {
    at: usize,
    kept: usize,
}

/// How many nodes are the end of the path, and the summary that counts if it was met on the way.
struct End {
    border: usize,
    summary: Option<Summary>,
}

fn is_summary(vertebra: &Vertebra, recent: &Recent) -> bool {
    recent.summary == Some(vertebra.node_type)
}

fn find_end(conn: &Connection, walk: &mut Walk<'_>, recent: &Recent) -> Outcome<End> {
    // Steps grow with the way, so that what is looked at again is no more than the way itself.
    let mut step = 32;
    loop {
        for _ in 0..step {
            walk.step()?;
        }
        step *= 2;
        let summary = newest_summary(conn, walk, 0, recent)?;
        let (border, is_whole) = border(&walk.spine, summary, recent);
        if is_whole || walk.ended {
            return Ok(End { border, summary });
        }
    }
}

/// The newest one whose first kept node stands before it on this path, of those on the way from `from` on. Goes on as far as it takes
/// to know.
fn newest_summary(conn: &Connection, walk: &mut Walk<'_>, from: usize, recent: &Recent) -> Outcome<Option<Summary>> {
    let mut at = from;
    while let Some(vertebra) = walk.spine.get(at) {
        if is_summary(vertebra, recent)
            && let Some((kept, kept_seq)) = first_kept(conn, vertebra)?
        {
            walk.to(kept_seq)?;
            if let Some(kept) = walk.position(&kept, kept_seq) {
                return Ok(Some(Summary { at, kept }));
            }
        }
        at += 1;
    }
    Ok(None)
}

/// The node that a summary names, and its place, if that lies before the summary.
fn first_kept(conn: &Connection, summary: &Vertebra) -> Outcome<Option<(NodeId, u64)>> {
    let metadata = read::first(conn, sql::NODE_METADATA, [summary.node_id.as_str()], |row| {
        let mut fields = Fields::of("nodes", row);
        fields.text()?;
        fields.json::<Object>()
    })?;
    let metadata = metadata.ok_or_else(|| broken(summary.node_id.as_str()))?;
    let named = metadata.get(FIRST_KEPT).and_then(Value::as_str).and_then(|id| NodeId::parse(id).ok());
    let Some(named) = named else { return Ok(None) };
    let place = read::first(conn, sql::PLACE_OF_NODE, [named.as_str()], |row| Fields::of("nodes", row).count::<u64>())?;
    Ok(place.filter(|place| *place < summary.node_seq).map(|place| (named, place)))
}

/// Where so many tokens of the end begin, of what no summary covers: not between a call and its results. Summaries take no
/// part in it: they may stand there. Also whether more of the way could change it.
fn border(spine: &[Vertebra], summary: Option<Summary>, recent: &Recent) -> (usize, bool) {
    let first = summary.map_or(spine.len(), |summary| summary.kept + 1);
    let kept = spine.iter().enumerate().take(first).filter(|(_, vertebra)| !is_summary(vertebra, recent));
    let (mut left, mut results, mut border) = (recent.tokens, 0_u64, 0);
    let mut begins_with_result = false;
    for (at, vertebra) in kept {
        if left == 0 && !begins_with_result {
            return (border, true);
        }
        let tokens = vertebra.token_count.max(1);
        begins_with_result = vertebra.role == Role::Tool;
        if begins_with_result {
            results = results.saturating_add(tokens);
        } else {
            left = left.saturating_sub(tokens).saturating_sub(results.min(recent.results));
            results = 0;
        }
        border = at + 1;
    }
    (border, summary.is_some())
}

/// The summary that counts, if it stands on the way that is gone then, and the newest checkpoint before the end that helps: its place
/// on the way, and its state.
type Base = (Option<Summary>, Option<(usize, PathState)>);

fn find_base(
    conn: &Connection,
    walk: &mut Walk<'_>,
    session_id: &SessionId,
    recent: &Recent,
    end: &End,
) -> Outcome<Base> {
    let mut summary = end.summary;
    let place = |walk: &Walk<'_>, at: usize| walk.spine.get(at).map(|vertebra| vertebra.node_seq);
    // The end itself begins no earlier than this.
    let mut limit = match end.border.checked_sub(1) {
        Some(oldest) => place(walk, oldest).unwrap_or(0),
        None => place(walk, 0).map_or(0, |leaf| leaf + 1),
    };
    let mut looked_at = walk.spine.len();
    loop {
        if let Some(kept) = summary.and_then(|summary| place(walk, summary.kept)) {
            limit = limit.min(kept);
        }
        let found = checkpoint::before(conn, session_id, limit, recent)?;
        match &found {
            Some(found) => walk.to(found.node_seq)?,
            None => walk.walk_to_root()?,
        }
        if summary.is_none() {
            // One may stand between the end and the checkpoint.
            summary = newest_summary(conn, walk, looked_at, recent)?;
            looked_at = walk.spine.len();
            if summary.is_some() {
                continue;
            }
        }
        let Some(Checkpoint { node_id, node_seq, state }) = found else { return Ok((summary, None)) };
        let at = walk.position(&node_id, node_seq);
        let helps = |state: &PathState| summary.is_some() || state.uncovered.is_some();
        if let (Some(at), Some(state)) = (at, state.filter(helps)) {
            return Ok((summary, Some((at, state))));
        }
        limit = node_seq;
    }
}

/// Whether a message of the user whose words may be wanted is a rule; nothing where it is none, or core wrote it in the user's
/// place, which only its body tells.
fn is_rule(conn: &Connection, vertebra: &Vertebra, recent: &Recent) -> Outcome<Option<bool>> {
    let Some(words) = recent.words else { return Ok(None) };
    if (vertebra.role, vertebra.node_type) != (Role::User, NodeType::Message) {
        return Ok(None);
    }
    let node: Node = read::node(conn, &vertebra.node_id)?.ok_or_else(|| broken(vertebra.node_id.as_str()))?;
    Ok((!node.metadata.contains_key(SYNTHETIC)).then(|| (words.is_rule)(&node)))
}

#[cfg(test)]
mod tests;
