//! What a user said since the last look, with a little of what it answered (MEM-2, MEM-4).
//!
//! Only messages of the user to the session's own agent are taken, and of those only the words: results of tools, whatever they
//! say, are nobody's statement.

use agent_engine::TokenCounter;
use agent_protocol::{AgentId, ContentBlock, Node, NodeType, Role, SessionId};
use agent_redact::SecretPatterns;
use agent_store::{SessionStore, StoreError};
use serde::Serialize;

use super::shorten::shorten;
use super::trigger::{MOST_WAITING, UserMessages};
use super::wish::is_wish;

/// Messages that one job looks at.
const MOST_MESSAGES: u32 = 200;
/// Tokens of one message that are shown.
const MOST_TOKENS: u64 = 2_000;
/// Tokens that are shown of what the agent had said before.
const CONTEXT_TOKENS: u64 = 120;
/// Between a message and what it answers there is nothing, unless a run broke off.
const STEPS_BACK: usize = 6;

/// Messages of the user, oldest first.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) said: Vec<Said>,
    /// The place of the last one that was looked at; 0 if there is none.
    pub(super) cursor: u64,
}

/// A message, as a model is shown it.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    pub(super) node_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    text: String,
}

impl Said {
    /// One line.
    pub(super) fn line(&self) -> String {
        // A struct of texts always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What of a backlog was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) new: UserMessages,
    /// A wish is among the messages.
    pub(super) wish: bool,
}

/// Whose messages.
pub(super) struct Source<'a> {
    pub(super) store: &'a dyn SessionStore,
    pub(super) session_id: &'a SessionId,
    pub(super) agent_id: &'a AgentId,
    pub(super) patterns: &'a SecretPatterns,
}

impl Source<'_> {
    /// The messages behind a place, as many of the oldest as there is room for. What comes after them is for the next time.
    pub(super) async fn batch(&self, after: u64, room: u64) -> Result<Batch, StoreError> {
        let nodes = self.store.user_messages(self.session_id, self.agent_id, after, MOST_MESSAGES).await?;
        let (mut batch, mut used) = (Batch::default(), 0);
        for node in &nodes {
            if let Some(said) = self.said(node, room).await? {
                used += TokenCounter.text(&said.line()) + 1;
                if used > room && !batch.said.is_empty() {
                    break;
                }
                batch.said.push(said);
            }
            batch.cursor = node.node_seq;
        }
        Ok(batch)
    }

    /// What waits behind a place, as far as it decides whether to begin: as many of the newest messages as are enough to begin for
    /// their number alone. So it takes no longer the more there is.
    pub(super) async fn waiting(&self, after: u64, enough: u64) -> Result<Waiting, StoreError> {
        let limit = u32::try_from(enough).unwrap_or(u32::MAX).clamp(1, MOST_WAITING);
        let nodes = self.store.newest_user_messages(self.session_id, self.agent_id, after, limit).await?;
        Ok(Waiting {
            new: UserMessages {
                count: nodes.len() as u64,
                tokens: nodes.iter().map(|node| node.token_count).fold(0, u64::saturating_add),
                last_node_seq: nodes.first().map(|node| node.node_seq),
            },
            wish: nodes.iter().any(|node| is_wish(&words(node))),
        })
    }

    /// Nothing for a message without words. What looks like a secret goes first, since half of one is not recognised.
    async fn said(&self, node: &Node, room: u64) -> Result<Option<Said>, StoreError> {
        let text = self.patterns.redact(&words(node)).text.trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        let before = self.before(node).await?;
        Ok(Some(Said { node_id: node.node_id.to_string(), before, text: shorten(&text, MOST_TOKENS.min(room / 2)) }))
    }

    /// What the agent had said. It has no id, so that nothing can be traced to it.
    async fn before(&self, node: &Node) -> Result<Option<String>, StoreError> {
        let mut next = node.parent_id.clone();
        for _ in 0..STEPS_BACK {
            let Some(id) = next else { return Ok(None) };
            let Some(node) = self.store.node(&id).await? else { return Ok(None) };
            match (node.role, node.node_type) {
                (Role::Assistant, NodeType::Message) => {
                    let said = words(&node);
                    if !said.trim().is_empty() {
                        return Ok(Some(shorten(self.patterns.redact(said.trim()).text.trim(), CONTEXT_TOKENS)));
                    }
                }
                (Role::User, NodeType::Message) => return Ok(None),
                _ => {}
            }
            next = node.parent_id;
        }
        Ok(None)
    }
}

/// The words of a message, and nothing that is in it besides.
fn words(node: &Node) -> String {
    node.content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}
