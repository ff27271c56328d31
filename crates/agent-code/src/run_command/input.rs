//! What the model gives.

use schemars::JsonSchema;
use serde::Deserialize;

/// Runs a program in the project. No shell: for pipes and such use ["sh","-c","..."].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Program and arguments.
    pub(crate) argv: Vec<String>,
    /// Default the project.
    pub(crate) cwd: Option<String>,
    #[schemars(range(min = 1))]
    pub(crate) timeout_ms: Option<u64>,
}
