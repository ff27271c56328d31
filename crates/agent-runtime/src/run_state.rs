//! How a run stands and how it ended.

use agent_protocol::{EndReason, ErrorPayload, RunStatus, ToolCallId, Usage};

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
    /// Tokens of its requests.
    pub usage: Usage,
    /// Turns it took.
    pub turns: u32,
    /// Calls that were denied because nobody answered whether they may run.
    pub unanswered: Vec<Unanswered>,
}

impl RunResult {
    /// Of a run that has done nothing, or of which nothing more is known.
    pub(crate) fn without_work(status: RunStatus, end_reason: Option<EndReason>, error: Option<ErrorPayload>) -> Self {
        Self { status, end_reason, answer: None, error, usage: Usage::default(), turns: 0, unanswered: Vec::new() }
    }
}

/// A call that was denied because nobody answered: there was no permission callback, or it failed, took too long, or said that
/// nobody was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool that was to be called.
    pub tool_name: String,
    /// What the model was told.
    pub reason: String,
}

/// What a run's driver tells whoever watches it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunState {
    pub(crate) status: RunStatus,
    /// Something that was cancelled did not stop in time.
    pub(crate) left_behind: bool,
    /// Set once it has ended.
    pub(crate) result: Option<RunResult>,
}
