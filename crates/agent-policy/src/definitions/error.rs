//! Why a definition was not taken.

use agent_protocol::{DefinitionSource, ErrorCode};

/// Why a definition was not taken. The registry is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The id is taken, and the definition does not say that it overrides anything.
    #[error("there already is an agent definition `{id}` ({}){hint}", .existing.as_str())]
    Duplicate {
        /// The id.
        id: String,
        /// Where the one that stays comes from.
        existing: DefinitionSource,
        /// How it could be replaced, if it can.
        hint: String,
    },
    /// `overrides` names nothing that this definition may replace.
    #[error("agent definition `{id}` cannot override \"{overrides}\": {reason}")]
    Override {
        /// The id.
        id: String,
        /// What it says.
        overrides: String,
        /// What is wrong with that.
        reason: String,
    },
    /// A field is not as it has to be.
    #[error("agent definition `{id}`: {field} {problem}")]
    Invalid {
        /// The id, shortened where it is too long.
        id: String,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl DefinitionError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } => ErrorCode::DuplicateAgentDefinition,
            Self::Override { .. } => ErrorCode::InvalidAgentOverride,
            Self::Invalid { .. } => ErrorCode::InvalidAgentDefinition,
        }
    }
}
