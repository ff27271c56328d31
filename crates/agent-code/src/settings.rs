//! What the code tools are handed.

use std::{ffi::OsString, sync::Arc, time::Duration};

use agent_policy::PathRules;

/// Everything the code tools need to know. They read no environment, no current folder and no home themselves.
#[derive(Debug, Clone)]
pub struct CodeToolSettings {
    /// The folders that matter and what is known about paths. Its places must have been resolved.
    pub rules: Arc<PathRules>,
    /// Where programs are looked for: the value of `PATH`.
    pub path_var: OsString,
    /// The environment of commands: what the allowlist let through, and nothing from the model.
    pub env: Vec<(OsString, OsString)>,
    /// Whether files may be read unasked. If not, why a write does not apply is told only after somebody was asked, as it
    /// tells what is in the file.
    pub reading_is_free: bool,
    /// How much is too much.
    pub limits: CodeLimits,
}

/// Limits of the code tools that are configurable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeLimits {
    /// A listing or search result bigger than this goes to an artifact; the result keeps its head (ART-2). Bytes.
    pub result_bytes: usize,
    /// How much of an output an artifact takes; the rest is read, counted and dropped. Bytes.
    pub artifact_max_bytes: u64,
    /// How much of a command's standard output its result keeps. Bytes.
    pub stdout_bytes: usize,
    /// How much of a command's standard error its result keeps. Bytes.
    pub stderr_bytes: usize,
    /// How long a command may run that asks for nothing else.
    pub default_timeout: Duration,
    /// How long a command may ask for.
    pub max_timeout: Duration,
}

impl Default for CodeLimits {
    /// The contract's values.
    fn default() -> Self {
        Self {
            result_bytes: 64 * 1024,
            artifact_max_bytes: 64 * 1024 * 1024,
            stdout_bytes: 64 * 1024,
            stderr_bytes: 64 * 1024,
            default_timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
        }
    }
}
