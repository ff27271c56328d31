//! What a model decided, and what it was based on (MEM-2).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::id::MemoryId;

/// One decision of an extraction, in the words of the model that made it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Decision {
    /// What is to be done.
    pub action: Action,
    /// The memory there is; for update and conflict.
    #[serde(default)]
    pub memory_id: Option<String>,
    /// For new ones.
    #[serde(default)]
    pub category: Option<String>,
    /// Part of the file's name; for new ones.
    #[serde(default)]
    pub name: Option<String>,
    /// One line.
    #[serde(default, deserialize_with = "or_default")]
    pub summary: String,
    /// Words to find it by.
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// The whole text.
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    /// The messages that say it.
    #[serde(default, deserialize_with = "or_default")]
    pub source_node_ids: Vec<String>,
    /// Where it holds; in this project only, unless said.
    #[serde(default, deserialize_with = "or_default")]
    pub scope: Scope,
}

/// Models write `null` for what they have nothing to say about.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// There is no such memory yet.
    New,
    /// A memory needs more or newer detail.
    Update,
    /// There is one that says the same.
    Duplicate,
    /// A memory says the opposite by now, and is replaced.
    Conflict,
    /// Nothing is to be remembered.
    Ignore,
}

/// Where a memory holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Everywhere.
    User,
    /// In the project in which it was said.
    #[default]
    Project,
}

/// Where decisions may come from: what was scanned, and nothing else (MEM-4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The session.
    pub session_id: String,
    /// Its project, as entries name it.
    pub project: String,
    /// The messages. Results of tools, and whatever else neither the user nor the model said, are none.
    pub nodes: BTreeMap<String, SourceKind>,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// The memories a model was shown, each with its hash then ([`MemoryListing::based`](super::MemoryListing::based)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Based(pub BTreeMap<MemoryId, String>);
