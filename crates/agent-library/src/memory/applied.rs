//! What became of decisions (MEM-10).

use super::error::PlaceError;
use super::id::MemoryId;
use super::refusal::Refusal;

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
    /// Not written, since their name or category is not allowed (MEM-01, MEM-02).
    pub misplaced: Vec<Misplaced>,
    /// Not written, and never will be.
    pub refused: Vec<Refused>,
    /// The messages behind what was written, each once.
    pub source_node_ids: Vec<String>,
    /// Below the memory folder, in the order of writing.
    pub files_changed: Vec<String>,
}

impl Applied {
    /// Whether the scan cursor may move (MEM-6): everything that was to be written was. What somebody else changed
    /// meanwhile is to be decided again, on what is there now, and so is what had no place.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.conflicted.is_empty() && self.misplaced.is_empty()
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

/// A decision that names no place a memory may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// Of the decision.
    pub index: usize,
    /// What is wrong with its name or category.
    pub why: PlaceError,
}

/// A decision that is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Of the decision.
    pub index: usize,
    /// What speaks against it.
    pub why: Refusal,
}
