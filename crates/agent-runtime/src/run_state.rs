//! How a run stands and how it ended.

use std::sync::Arc;

use agent_engine::answer_text;
use agent_protocol::{ArtifactId, ContentBlock, EndReason, ErrorPayload, RunStatus, ToolCallId, TreeUsage, Usage};

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
    /// Tokens of its requests, as far as the provider counted.
    pub usage: Usage,
    /// What it and all agents below it used together.
    pub tree: TreeUsage,
    /// Turns it took.
    pub turns: u32,
    /// Calls that were denied because nobody answered whether they may run.
    pub unanswered: Vec<Unanswered>,
}

impl RunResult {
    /// Of a run that has done nothing, or of which nothing more is known.
    pub(crate) fn without_work(status: RunStatus, end_reason: Option<EndReason>, error: Option<ErrorPayload>) -> Self {
        let (usage, tree) = (Usage::default(), TreeUsage::default());
        Self { status, end_reason, answer: None, error, usage, tree, turns: 0, unanswered: Vec::new() }
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
    pub(crate) end: Option<Ended>,
}

/// How a run ended, with the answer where the conversation has it: whoever asks for it gets a text of their own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    /// Without its answer.
    result: RunResult,
    answer: Option<Vec<Arc<[ContentBlock]>>>,
    /// What else there is for who started it.
    pub(crate) left: Arc<Left>,
}

/// What a run leaves to who started it, besides its result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Left {
    /// What it had said, if it did not come to its answer.
    pub(crate) said: Option<String>,
    /// Artifacts that its calls made, in their order.
    pub(crate) artifacts: Vec<ArtifactId>,
}

impl Ended {
    pub(crate) fn with_answer(result: RunResult, answer: Option<Vec<Arc<[ContentBlock]>>>, left: Left) -> Self {
        Self { result, answer, left: Arc::new(left) }
    }

    /// All but the answer.
    pub(crate) fn without_answer(&self) -> &RunResult {
        &self.result
    }

    /// The whole of it.
    pub(crate) fn result(&self) -> RunResult {
        RunResult { answer: self.answer.as_deref().map(answer_text), ..self.result.clone() }
    }
}

impl From<RunResult> for Ended {
    fn from(result: RunResult) -> Self {
        Self { result, answer: None, left: Arc::default() }
    }
}
