//! Finding out what to remember (MEM-10): ids and counts, never a word of what is remembered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use crate::run::stored_enum;
use crate::{ErrorPayload, EventType, Usage};

stored_enum! {
    /// Why messages are looked through for what to remember (MEM-3).
    ExtractionReason {
        /// Somebody asked for it.
        ExplicitWish = "explicit_wish",
        /// So many new messages.
        MessageBacklog = "message_backlog",
        /// So much new text.
        TokenBacklog = "token_backlog",
        /// Quiet, and something new at all.
        Idle = "idle",
    }
}

/// Messages are looked through for what to remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryExtractionStarted {
    /// Why.
    pub reason: ExtractionReason,
    /// Messages that are looked through.
    pub messages: u64,
    /// Messages that wait, those among them.
    pub messages_waiting: u64,
    /// The model's name at its provider.
    pub model: String,
}

/// Everything that was found is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryExtractionCompleted {
    /// Why messages were looked through.
    pub reason: ExtractionReason,
    /// Messages that were looked through.
    pub messages: u64,
    /// Ids of new memories.
    pub created: Vec<String>,
    /// Ids of memories that were brought up to date.
    pub updated: Vec<String>,
    /// Ids of memories that said something else and were replaced.
    pub conflict: Vec<String>,
    /// How many decisions were to do nothing.
    pub ignored: u64,
    /// How many decisions found a memory that says the same.
    pub duplicate: u64,
    /// Why decisions were refused, one each.
    pub refused: Vec<String>,
    /// The nodes of the messages behind what was written.
    pub source_node_ids: Vec<String>,
    /// Paths below the memory folder, in the order of writing.
    pub files_changed: Vec<String>,
    /// The `node_seq` up to which the session has been looked through.
    pub scan_cursor: u64,
    /// Tokens; null where the model did not have to be asked.
    pub usage: Option<Usage>,
}

/// Finding out what to remember failed. What it came to is there where only the writing failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryExtractionFailed {
    /// Why messages were looked through; absent where that could not be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ExtractionReason>,
    /// Messages that were looked through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Ids of new memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Vec<String>>,
    /// Ids of memories that were brought up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated: Option<Vec<String>>,
    /// Ids of memories that said something else and were replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Vec<String>>,
    /// How many decisions were to do nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<u64>,
    /// How many decisions found a memory that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Why decisions were refused, one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Vec<String>>,
    /// The nodes of the messages behind what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_node_ids: Option<Vec<String>>,
    /// Paths below the memory folder, in the order of writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_changed: Option<Vec<String>>,
    /// Why it failed.
    pub error: ErrorPayload,
}

payloads! {
    MemoryExtractionStarted = MemoryExtractionStarted,
    MemoryExtractionCompleted = MemoryExtractionCompleted,
    MemoryExtractionFailed = MemoryExtractionFailed,
}

impl MemoryExtractionFailed {
    /// A failure before anything was found.
    #[must_use]
    pub fn new(reason: Option<ExtractionReason>, error: ErrorPayload) -> Self {
        Self {
            reason,
            messages: None,
            created: None,
            updated: None,
            conflict: None,
            ignored: None,
            duplicate: None,
            refused: None,
            source_node_ids: None,
            files_changed: None,
            error,
        }
    }

    /// A failure of what would have been complete without it.
    #[must_use]
    pub fn of(found: MemoryExtractionCompleted, error: ErrorPayload) -> Self {
        Self {
            reason: Some(found.reason),
            messages: Some(found.messages),
            created: Some(found.created),
            updated: Some(found.updated),
            conflict: Some(found.conflict),
            ignored: Some(found.ignored),
            duplicate: Some(found.duplicate),
            refused: Some(found.refused),
            source_node_ids: Some(found.source_node_ids),
            files_changed: Some(found.files_changed),
            error,
        }
    }
}
