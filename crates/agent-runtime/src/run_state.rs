//! How a run stands and how it ended.

use agent_protocol::{EndReason, ErrorPayload, RunStatus};

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// Where it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub end_reason: Option<EndReason>,
    /// The text of the answer, as far as there is one.
    pub answer: Option<String>,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
}

/// What a run's driver tells whoever watches it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunState {
    pub(crate) status: RunStatus,
    /// Set once it has ended.
    pub(crate) result: Option<RunResult>,
}
