//! What a path holds up to one of its nodes, counted once and kept: a path never changes below its tip, so whoever goes on with it
//! later need not walk it again (PERF-5).
//!
//! All of it is derived from nodes. One that is missing, or was made for another question, costs a longer walk and nothing else.

use std::collections::VecDeque;

use agent_protocol::{NodeId, NodeType, Role, SessionId};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::fault::Outcome;
use super::fields::Fields;
use super::json::encode;
use super::path::Vertebra;
use super::read::first;
use super::sql;
use crate::rows::Recent;

/// Changes whenever what is counted does.
const VERSION: u32 = 1;
/// Most nodes that are kept because of their type.
const MOST_PINNED: usize = 1024;

/// A state, and the node up to which it counts.
pub(super) struct Checkpoint {
    pub(super) node_id: NodeId,
    pub(super) node_seq: u64,
    /// `None` where what was stored cannot be read, or answers another question.
    pub(super) state: Option<PathState>,
}

/// What the beginning of a path holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathState {
    question: Question,
    /// Nodes, and how many of them are replies.
    pub(super) nodes: u64,
    pub(super) turns: u64,
    /// What is wanted wherever it stands, the oldest first.
    pinned: VecDeque<Pinned>,
    /// What no summary stands for; `None` where that is only known of paths on which a later summary covers it.
    pub(super) uncovered: Option<Uncovered>,
}

/// What the answer depends on, apart from how much of the end is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Question {
    version: u32,
    always: Vec<NodeType>,
    summary: Option<NodeType>,
    /// Version, rules, others.
    words: Option<(u32, usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Pinned {
    node_seq: u64,
    tokens: u64,
}

/// What lies behind the newest summary that counts, or behind the root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Uncovered {
    /// The place of that summary, and of the first node that it does not stand for.
    pub(super) summary: Option<(u64, u64)>,
    /// The first node that is not there because of its type.
    missing: Option<u64>,
    pub(super) said: Said,
}

/// Messages of the user that are wanted, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    pub(super) count: usize,
    first: Option<u64>,
    oldest_rules: Vec<u64>,
    newest_rules: VecDeque<u64>,
    others: VecDeque<u64>,
}

impl Uncovered {
    /// What no summary covers begins here.
    pub(super) fn after(summary: (u64, u64)) -> Self {
        Self { summary: Some(summary), ..Self::default() }
    }

    fn begins(&self) -> u64 {
        self.summary.map_or(0, |(_, kept)| kept)
    }

    fn miss(&mut self, node_seq: u64) {
        if node_seq >= self.begins() {
            self.missing = Some(self.missing.map_or(node_seq, |missing| missing.min(node_seq)));
        }
    }
}

impl PathState {
    /// Of no node.
    pub(super) fn new(recent: &Recent) -> Self {
        Self {
            question: Question::of(recent),
            nodes: 0,
            turns: 0,
            pinned: VecDeque::new(),
            uncovered: Some(Uncovered::default()),
        }
    }

    /// The next node of the path; `is_rule` for a message of the user whose words may be wanted.
    pub(super) fn push(&mut self, vertebra: &Vertebra, is_rule: Option<bool>) {
        self.nodes += 1;
        self.turns += u64::from(vertebra.role == Role::Assistant);
        let node_seq = vertebra.node_seq;
        if self.question.summary == Some(vertebra.node_type) {
            return;
        }
        if self.question.always.contains(&vertebra.node_type) {
            self.pinned.push_back(Pinned { node_seq, tokens: vertebra.token_count });
            if self.pinned.len() > MOST_PINNED
                && let Some(gone) = self.pinned.pop_front()
                && let Some(uncovered) = &mut self.uncovered
            {
                uncovered.miss(gone.node_seq);
            }
            return;
        }
        if let Some(uncovered) = &mut self.uncovered {
            uncovered.miss(node_seq);
            if let (Some(is_rule), Some((_, rules, others))) = (is_rule, self.question.words) {
                uncovered.said.push(node_seq, is_rule, rules, others);
            }
        }
    }

    /// The places of those that are wanted because of their type, oldest first; and the first place where something is missing
    /// that no summary stands for.
    pub(super) fn pinned(&self, tokens: u64) -> (Vec<u64>, Option<u64>) {
        let mut left = tokens;
        let fits = |pinned: &&Pinned| match left.checked_sub(pinned.tokens) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let mut places: Vec<_> = self.pinned.iter().rev().take_while(fits).map(|pinned| pinned.node_seq).collect();
        places.reverse();
        let missing = self.uncovered.as_ref().and_then(|uncovered| {
            let without = self.pinned.iter().take(self.pinned.len() - places.len());
            let first = without.map(|pinned| pinned.node_seq).find(|place| *place >= uncovered.begins());
            first.into_iter().chain(uncovered.missing).min()
        });
        (places, missing)
    }
}

impl Said {
    fn push(&mut self, node_seq: u64, is_rule: bool, rules: usize, others: usize) {
        let newest = |places: &mut VecDeque<u64>, most: usize| {
            places.push_back(node_seq);
            if places.len() > most {
                places.pop_front();
            }
        };
        self.count += 1;
        match self.first {
            None => self.first = Some(node_seq),
            Some(_) if is_rule && self.oldest_rules.len() < rules => self.oldest_rules.push(node_seq),
            Some(_) if is_rule => newest(&mut self.newest_rules, rules),
            Some(_) => newest(&mut self.others, others),
        }
    }

    /// Places in their order.
    pub(super) fn wanted(&self) -> Vec<u64> {
        let rules = self.oldest_rules.iter().chain(&self.newest_rules);
        let mut places: Vec<_> = self.first.iter().chain(rules).chain(&self.others).copied().collect();
        places.sort_unstable();
        places
    }
}

impl Question {
    fn of(recent: &Recent) -> Self {
        let words = recent.words.map(|words| (words.version, words.rules, words.others));
        Self { version: VERSION, always: recent.always.clone(), summary: recent.summary, words }
    }
}

/// The newest checkpoint before a place, whatever path it is of.
pub(super) fn before(
    conn: &Connection,
    session_id: &SessionId,
    node_seq: u64,
    recent: &Recent,
) -> Outcome<Option<Checkpoint>> {
    let place = i64::try_from(node_seq).unwrap_or(i64::MAX);
    first(conn, sql::CHECKPOINT_BEFORE, params![session_id.as_str(), place], |row| {
        let mut fields = Fields::of("path_checkpoints", row);
        let (node_id, node_seq) = (fields.parsed(NodeId::parse)?, fields.count()?);
        let state = serde_json::from_str::<PathState>(fields.text()?).ok();
        let state = state.filter(|state| state.question == Question::of(recent));
        Ok(Checkpoint { node_id, node_seq, state })
    })
}

/// Keeps one. Nothing is kept of a session that is gone.
pub(super) fn keep(tx: &Connection, session_id: &SessionId, checkpoint: &Checkpoint) -> Outcome<()> {
    let Some(state) = &checkpoint.state else { return Ok(()) };
    let state = encode("state_json", state)?;
    let place = (session_id.as_str(), checkpoint.node_seq, checkpoint.node_id.as_str(), state);
    tx.prepare_cached(sql::ADD_CHECKPOINT)?.execute(place)?;
    Ok(())
}
