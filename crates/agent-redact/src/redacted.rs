//! What a redactor gives back.

use std::borrow::Cow;

/// A text without the secrets that were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text; borrowed when nothing was replaced.
    pub text: Cow<'t, str>,
    /// Whether anything was replaced.
    pub hit: bool,
}
