//! Why a path is not an ordinary one.

use std::fmt;

/// Why a path is not an ordinary one; its `Display` is for people: "may hold secrets (.env.*)".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The rule that matched, as it is written in the configuration or in the documentation.
    pub pattern: String,
    /// What it means, as the rest of a sentence that begins with the path.
    pub because: String,
}

impl Why {
    pub(super) fn new(pattern: impl Into<String>, because: &str) -> Self {
        Self { pattern: pattern.into(), because: because.to_owned() }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.because, self.pattern)
    }
}
