//! What a past request cannot be put together without.

use agent_engine::RebuildError;

/// What a past request cannot be put together without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The run has no turn of this number.
    #[error("the run has no such turn")]
    Turn,
    /// The report, the path or what they say together: another version wrote them.
    #[error(transparent)]
    Report(#[from] RebuildError),
    /// What the report says of system blocks and tools cannot be read.
    #[error("what its report says of the fixed part cannot be read: {0}")]
    FixedPart(String),
    /// The bytes behind a hash are not stored, or are not what they should be.
    #[error("the bytes of {part} under {hash} are missing or damaged")]
    Blob {
        /// A system block by its id, or the tool list.
        part: String,
        /// Their hash, as the report names it.
        hash: String,
    },
}
