//! What the registry calls it.

/// The registry key.
pub(crate) const KEY: &str = "openai";
