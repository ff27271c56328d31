//! What a listing is made of.

use serde::Serialize;

use crate::traverse::Few;

/// One entry; its path is relative to the folder that was listed.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(super) path: String,
    pub(super) kind: &'static str,
    /// Of files only. Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    /// A folder that could not be looked into.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) unreadable: bool,
}

/// What a pass through a folder found.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    pub(super) entries: Vec<Entry>,
    pub(super) truncated: bool,
    /// Entries in all, where they were counted.
    pub(super) total: Option<u64>,
    pub(super) sensitive: u64,
    /// What ignore rules left out.
    pub(super) ignored: Few,
}
