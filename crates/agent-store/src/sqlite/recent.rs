//! The end of a path: what is wanted of it is chosen by the spine, and only then read (PERF-5).

use agent_protocol::{Node, NodeId, NodeType, Object, Role, SessionId};
use rusqlite::Connection;
use serde_json::Value;

use super::fault::Outcome;
use super::fields::Fields;
use super::listing::SYNTHETIC;
use super::path::{Vertebra, bodies, broken, spine};
use super::{read, sql};
use crate::rows::{Recent, RecentPath};

/// Key in the metadata of a summary: the first node that it does not stand for.
const FIRST_KEPT: &str = "first_kept_node_id";

pub(super) fn load_recent(
    conn: &Connection,
    session_id: &SessionId,
    leaf: &NodeId,
    recent: &Recent,
) -> Outcome<RecentPath> {
    let spine = spine(conn, session_id, leaf)?;
    let summary = newest_summary(conn, &spine, recent)?;
    let border = border(&spine, summary.as_ref(), recent);
    let is_loaded = |(at, vertebra): &(usize, &Vertebra)| {
        if is_summary(vertebra, recent) {
            summary.as_ref().is_some_and(|summary| summary.at == *at)
        } else {
            *at >= border || recent.always.contains(&vertebra.node_type)
        }
    };
    let (loaded, omitted): (Vec<_>, Vec<_>) = spine.iter().enumerate().partition(is_loaded);
    // Where something is missing that no summary stands for.
    let first = summary.as_ref().map_or(0, |summary| summary.first_kept);
    let is_missing = |(at, vertebra): &(usize, &Vertebra)| {
        *at >= first && !is_summary(vertebra, recent) && !is_loaded(&(*at, *vertebra))
    };
    let gap = spine[..border].iter().enumerate().find(is_missing).map_or(border, |(at, _)| at);
    let words = omitted.iter().filter(|(at, vertebra)| *at < border && is_user_message(vertebra));
    Ok(RecentPath {
        omitted_nodes: omitted.len(),
        omitted_turns: omitted.iter().filter(|(_, vertebra)| vertebra.role == Role::Assistant).count(),
        nodes_before: loaded.partition_point(|(at, _)| *at < gap),
        nodes_pinned: loaded.partition_point(|(at, _)| *at < border),
        earlier_words: words_of(conn, words.map(|(_, vertebra)| *vertebra), recent.user_messages)?,
        nodes: bodies(conn, session_id, loaded.into_iter().map(|(_, vertebra)| vertebra).collect())?,
    })
}

/// A summary that counts: its place on the path, and that of the first node it does not stand for.
struct Summary {
    at: usize,
    first_kept: usize,
}

fn is_summary(vertebra: &Vertebra, recent: &Recent) -> bool {
    recent.summary == Some(vertebra.node_type)
}

/// The newest one whose first kept node stands before it on this path.
fn newest_summary(conn: &Connection, spine: &[Vertebra], recent: &Recent) -> Outcome<Option<Summary>> {
    for (at, vertebra) in spine.iter().enumerate().rev().filter(|(_, vertebra)| is_summary(vertebra, recent)) {
        let Some(kept) = first_kept(conn, &vertebra.node_id)? else { continue };
        if let Some(first_kept) = spine[..at].iter().rposition(|vertebra| vertebra.node_id.as_str() == kept) {
            return Ok(Some(Summary { at, first_kept }));
        }
    }
    Ok(None)
}

fn first_kept(conn: &Connection, node_id: &NodeId) -> Outcome<Option<String>> {
    let metadata = read::first(conn, sql::NODE_METADATA, [node_id.as_str()], |row| {
        let mut fields = Fields::of("nodes", row);
        fields.text()?;
        fields.json::<Object>()
    })?;
    let metadata = metadata.ok_or_else(|| broken(node_id))?;
    Ok(metadata.get(FIRST_KEPT).and_then(Value::as_str).map(str::to_owned))
}

/// Where so many tokens of the end begin, of what no summary covers: not between a call and its results. Summaries take no
/// part in it: they may stand there.
fn border(spine: &[Vertebra], summary: Option<&Summary>, recent: &Recent) -> usize {
    let first = summary.map_or(0, |summary| summary.first_kept);
    let kept = spine.iter().enumerate().skip(first).filter(|(_, vertebra)| !is_summary(vertebra, recent));
    let (mut left, mut results, mut border) = (recent.tokens, 0_u64, spine.len());
    let mut begins_with_result = false;
    for (at, vertebra) in kept.rev() {
        if left == 0 && !begins_with_result {
            break;
        }
        let tokens = vertebra.token_count.max(1);
        begins_with_result = vertebra.role == Role::Tool;
        if begins_with_result {
            results = results.saturating_add(tokens);
        } else {
            left = left.saturating_sub(tokens).saturating_sub(results.min(recent.results));
            results = 0;
        }
        border = at;
    }
    border
}

fn is_user_message(vertebra: &Vertebra) -> bool {
    vertebra.role == Role::User && vertebra.node_type == NodeType::Message
}

/// The oldest of these messages and the newest, so many in all, root first; not those that core wrote in the user's place,
/// which only their bodies tell.
fn words_of<'a>(
    conn: &Connection,
    mut messages: impl DoubleEndedIterator<Item = &'a Vertebra>,
    wanted: usize,
) -> Outcome<Vec<Node>> {
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let Some(oldest) = next_said(conn, &mut messages)? else { return Ok(Vec::new()) };
    let (mut words, mut newest) = (Vec::new(), messages.rev());
    while words.len() + 1 < wanted
        && let Some(node) = next_said(conn, &mut newest)?
    {
        words.push(node);
    }
    words.push(oldest);
    words.reverse();
    Ok(words)
}

fn next_said<'a>(conn: &Connection, messages: &mut impl Iterator<Item = &'a Vertebra>) -> Outcome<Option<Node>> {
    for message in messages {
        let node = read::node(conn, &message.node_id)?.ok_or_else(|| broken(&message.node_id))?;
        if !node.metadata.contains_key(SYNTHETIC) {
            return Ok(Some(node));
        }
    }
    Ok(None)
}
