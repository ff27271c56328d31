//! The user's own words, kept literally when the turns around them go: a summary is a model's opinion, these are not.
//!
//! What is too long keeps its two ends, and what in between sounds like a wish.
//!
//! They are chosen by core alone, under a budget that does not grow with the session: the very first words (most often the
//! goal), then what sounds like a wish or a correction, the oldest and the newest of it in turn, then the newest of the rest.

use agent_protocol::NodeId;
use serde::{Deserialize, Serialize};

use crate::tokens::TokenCounter;

mod cut;
mod ends;
mod wishes;

pub(crate) use ends::shortened;
pub use wishes::{WISH_WORDS, is_wish};

/// Something the user said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saying {
    /// The message's node.
    pub node_id: NodeId,
    /// Its words.
    pub text: String,
    /// Whether something is missing in the middle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What is kept of all that the user said in some part of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sayings {
    /// In the order in which it was said.
    pub kept: Vec<Saying>,
    /// How many messages found no room.
    pub left_out: usize,
}

/// What a saying costs beside its words.
const PER_SAYING: u64 = 4;

impl Sayings {
    /// Nothing yet of so many messages that were not looked at.
    #[must_use]
    pub fn unread(left_out: usize) -> Self {
        Self { kept: Vec::new(), left_out }
    }

    /// Adds newer sayings and keeps what fits into `room` estimated tokens.
    #[must_use]
    pub fn and(&self, newer: impl IntoIterator<Item = (NodeId, String)>, room: u64) -> Self {
        let newer = newer.into_iter().filter(|(_, text)| !text.trim().is_empty());
        let newer = newer.map(|(node_id, text)| Saying { node_id, text, cut: false });
        let mut all: Vec<_> = self.kept.iter().cloned().chain(newer).collect();
        // Of the whole texts: what is cut may be the rule.
        let are_wishes: Vec<bool> = all.iter().map(|saying| is_wish(&saying.text)).collect();
        for (at, saying) in all.iter_mut().enumerate() {
            // The first words get the biggest share, since they most often say what it is all about.
            shorten(saying, if at == 0 { room / 2 } else { room / 4 });
        }
        let mut left = room;
        let mut keep = vec![false; all.len()];
        for at in ranked(&are_wishes) {
            let cost = TokenCounter.text(&all[at].text) + PER_SAYING;
            if cost <= left {
                left -= cost;
                keep[at] = true;
            }
        }
        let before = all.len();
        let mut keep = keep.into_iter();
        all.retain(|_| keep.next().unwrap_or(false));
        Self { left_out: self.left_out.saturating_add(before - all.len()), kept: all }
    }

    /// Those of them that are not among `others`.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let is_new = |saying: &&Saying| others.kept.iter().all(|other| other.node_id != saying.node_id);
        Self { kept: self.kept.iter().filter(is_new).cloned().collect(), left_out: 0 }
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.left_out == 0
    }

    /// As a list for the model, after a heading.
    pub(crate) fn listed(&self, heading: &str) -> String {
        let mut text = heading.to_owned();
        for saying in &self.kept {
            text.push_str("\n- ");
            text.push_str(&saying.text.trim().replace('\n', "\n  "));
        }
        if self.left_out > 0 {
            let (n, s) = (self.left_out, if self.left_out == 1 { "" } else { "s" });
            text.push_str(&format!("\n({n} more message{s} of the user found no room here)"));
        }
        text
    }
}

fn shorten(saying: &mut Saying, room: u64) {
    if let Some(short) = cut::around_wishes(&saying.text, room.saturating_sub(PER_SAYING)) {
        saying.text = short;
        saying.cut = true;
    }
}

/// All of them, the most important first.
fn ranked(are_wishes: &[bool]) -> Vec<usize> {
    let (wishes, rest): (Vec<usize>, Vec<usize>) = (1..are_wishes.len()).partition(|at| are_wishes[*at]);
    let mut order: Vec<usize> = are_wishes.iter().take(1).map(|_| 0).collect();
    let (mut oldest, mut newest) = (wishes.iter(), wishes.iter().rev());
    for turn in 0..wishes.len() {
        // From both ends at once, until they meet.
        let next = if turn % 2 == 0 { newest.next() } else { oldest.next() };
        order.extend(next);
    }
    order.extend(rest.into_iter().rev());
    order
}

#[cfg(test)]
mod tests;
