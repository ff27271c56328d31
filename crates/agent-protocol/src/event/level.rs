//! How loud events are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How loud an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For debugging only.
    Debug,
    /// The normal course.
    Info,
    /// Something a person should know.
    Warning,
    /// Something failed.
    Error,
}

impl Level {
    /// The stored string.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
