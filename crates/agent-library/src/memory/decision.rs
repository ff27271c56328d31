//! What a model decided, what it was based on, and what became of it (MEM-2, MEM-10).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{MemoryId, Refusal};

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

/// What became of a batch of decisions. Indices count them from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// New memories.
    pub created: Vec<MemoryId>,
    /// Replaced by update.
    pub updated: Vec<MemoryId>,
    /// Replaced by conflict.
    pub conflict: Vec<MemoryId>,
    /// Decisions to do nothing.
    pub ignored: Vec<usize>,
    /// Decisions that found, or named, a memory that says the same.
    pub duplicate: Vec<usize>,
    /// Not written, since the memory is not what the model saw (MEM-06, MEM-07).
    pub conflicted: Vec<Conflicted>,
    /// Not written, and never will be.
    pub refused: Vec<Refused>,
    /// The messages behind what was written, each once.
    pub source_node_ids: Vec<String>,
    /// Below the memory folder, in the order of writing.
    pub files_changed: Vec<String>,
}

impl Applied {
    /// Whether the scan cursor may move (MEM-6): everything that was to be written was. What somebody else changed
    /// meanwhile is to be decided again, on what is there now.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.conflicted.is_empty()
    }
}

/// A memory that was changed or removed by somebody else meanwhile, and left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicted {
    /// Of the decision.
    pub index: usize,
    /// The memory.
    pub id: MemoryId,
}

/// A decision that is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Of the decision.
    pub index: usize,
    /// What speaks against it.
    pub why: Refusal,
}
