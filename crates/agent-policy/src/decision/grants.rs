//! What was allowed for a session.

use std::collections::HashSet;

use super::scope::GrantKey;

/// The grants of one session: a plain value, held in memory while the session is open and never stored (PRM-3).
///
/// A grant covers calls with an equal key and no others. Nothing is ever matched by a prefix, a pattern or a part. Its size
/// is bounded by the patience of the person who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(HashSet<GrantKey>);

impl Grants {
    /// No grant.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps what a person allowed for the session.
    pub fn insert(&mut self, key: GrantKey) {
        self.0.insert(key);
    }

    /// Whether a call with this key was allowed.
    #[must_use]
    pub fn covers(&self, key: &GrantKey) -> bool {
        self.0.contains(key)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was allowed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
