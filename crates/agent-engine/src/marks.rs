//! What a node says of itself in its metadata: what it brings into the context, or what it stands for.

use agent_protocol::{NodeDraft, NodeId, NodeType, Object, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::Sayings;

/// What a skill, memory or instruction node brings in, so that it is known as loaded (SKL-3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextMark {
    /// Key and hash of each thing: a skill's name, an instruction file's path, a memory's id.
    pub items: Vec<(String, String)>,
    /// The call that brought it in.
    pub call: Option<ToolCallId>,
}

/// Keys of a context node's metadata.
pub mod keys {
    /// The things: a list of objects with [`KEY`] and [`HASH`].
    pub const ITEMS: &str = "items";
    /// What a thing is known by.
    pub const KEY: &str = "key";
    /// The hash of its content.
    pub const HASH: &str = "hash";
    /// The call that brought it in.
    pub const TOOL_CALL_ID: &str = "tool_call_id";
    /// In a result's metadata: the file of which it is a page.
    pub const READ_PATH: &str = "resolved_path";
    /// In a result's metadata: the hash of that whole file.
    pub const READ_HASH: &str = "content_hash";
    /// In a result's metadata: it is no page, since the file was in the system part already.
    pub const NOT_REPEATED: &str = "not_repeated";
    /// Attributes of the frame the model sees around the node: an object of texts.
    pub const FRAME: &str = "frame";
    /// The user's date when a message was said. The model reads it behind the message.
    pub const TODAY: &str = "today";
}

impl ContextMark {
    /// The metadata of a node that brings in these things.
    #[must_use]
    pub fn metadata(&self) -> Object {
        let items: Vec<_> =
            self.items.iter().map(|(key, hash)| serde_json::json!({ keys::KEY: key, keys::HASH: hash })).collect();
        let mut metadata = Object::from_iter([(keys::ITEMS.to_owned(), items.into())]);
        if let Some(call) = &self.call {
            metadata.insert(keys::TOOL_CALL_ID.to_owned(), call.as_str().into());
        }
        metadata
    }

    /// What a node's metadata says; `None` where it says nothing of the kind.
    #[must_use]
    pub fn read(metadata: &Object) -> Option<Self> {
        let text = |item: &Value, key: &str| item.get(key)?.as_str().map(str::to_owned);
        let items = metadata.get(keys::ITEMS)?.as_array()?;
        let items = items.iter().filter_map(|item| Some((text(item, keys::KEY)?, text(item, keys::HASH)?)));
        let call = metadata.get(keys::TOOL_CALL_ID).and_then(Value::as_str);
        Some(Self { items: items.collect(), call: call.and_then(|id| ToolCallId::parse(id).ok()) })
    }
}

/// What a compaction node says besides its summary (CMP-1). Its content is what the model reads, in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionMark {
    /// Where what is kept as it is begins.
    pub first_kept_node_id: NodeId,
    /// Replies that it stands for, those of earlier summaries included.
    pub turns: usize,
    /// Replies before that node that no writer of a summary has seen: they had been left out before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub turns_left_out: usize,
    /// Estimated tokens of the messages before.
    pub tokens_before: u64,
    /// Estimated tokens of the messages after.
    pub tokens_after: u64,
    /// The user's own words out of what is covered.
    pub user_words: Sayings,
    /// How it was made.
    #[serde(default)]
    pub details: Object,
}

fn is_none(turns: &usize) -> bool {
    *turns == 0
}

impl CompactionMark {
    pub(crate) fn metadata(&self) -> Object {
        match serde_json::to_value(self) {
            Ok(Value::Object(metadata)) => metadata,
            // A struct of ids, numbers and texts always serialises to an object.
            _ => Object::new(),
        }
    }

    /// `None` where the node is no compaction, or none that can be understood: then it counts as not there (CMP-1).
    pub(crate) fn of(draft: &NodeDraft) -> Option<Self> {
        if draft.node_type != NodeType::Compaction {
            return None;
        }
        Self::deserialize(&draft.metadata).ok()
    }
}
