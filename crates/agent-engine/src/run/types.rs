//! The machine's alphabet: what comes in, what goes out.

pub use agent_protocol::CompactMode;
use agent_protocol::{
    ContentBlock, EndReason, ErrorPayload, EventDraft, ModelFault, ModelRequest, NodeDraft, NodeId, Object, Reply,
    RunPatch, ToolCallId,
};

use crate::cut::CompactionPlan;
use crate::numbers::{CommitNo, JobNo, RequestNo};
use crate::outcome::Outcome;
use crate::sources::Sources;

/// What happened outside. Deltas, progress and spinners never come here: the driver sends them to the live stream itself.
#[derive(Debug)]
pub enum Input {
    /// The user's message; begins the run.
    Start {
        /// What is said.
        content: Vec<ContentBlock>,
    },
    /// The answer to [`Effect::Gather`].
    Sources(Box<Sources>),
    /// There is no answer to [`Effect::Gather`]: the run cannot go on.
    SourcesFailed(ErrorPayload),
    /// The model's complete reply, never assembled here.
    ModelDone {
        /// The request it answers.
        request: RequestNo,
        /// The reply.
        reply: Reply,
    },
    /// The stream failed, or was aborted.
    ModelFailed {
        /// The request it answers.
        request: RequestNo,
        /// What may be done about it.
        fault: ModelFault,
        /// What happened.
        error: ErrorPayload,
        /// What had arrived.
        partial: Option<Reply>,
    },
    /// Arguments checked, targets opened, preview made; no side effect yet. `Ok` holds one line about what will be done.
    Prepared {
        /// The call.
        call: ToolCallId,
        /// One line about what will be done, or why it cannot be.
        result: Result<String, ErrorPayload>,
    },
    /// Hooks, policy, grants and the person, in one answer.
    Authorized {
        /// The call.
        call: ToolCallId,
        /// The answer.
        verdict: Verdict,
    },
    /// A call ended; in any order.
    CallDone {
        /// The call.
        call: ToolCallId,
        /// How.
        outcome: Box<Outcome>,
    },
    /// The answer to [`Effect::Compact`]; may come in any phase.
    CompactionDone {
        /// The job.
        job: JobNo,
        /// What the model said, or why it said nothing.
        result: Result<Box<Compacted>, ErrorPayload>,
    },
    /// A commit did not commit: none of the effects after it was performed.
    StoreFailed {
        /// The commit; where two were stored as one ([`Effect::commit_may_wait`]), the first of them.
        commit: CommitNo,
        /// Why.
        error: ErrorPayload,
    },
    /// The user wants it to stop.
    Cancel,
    /// `cancel_timeout_ms` is over.
    DrainExpired,
}

/// What to do next. Perform strictly in order; await a `Commit` before the next one, so that every side effect is written
/// down before it happens.
#[derive(Debug)]
pub enum Effect {
    /// One transaction; its events reach the live stream only afterwards.
    Commit {
        /// Its number, for [`Input::StoreFailed`].
        commit: CommitNo,
        /// What to store, in order.
        writes: Vec<Write>,
    },
    /// Bring what the next request is made of: tools, system blocks, budgets.
    Gather {
        /// Whether an epoch begins anyway, so that what was loaded since the last one may join the system part (INS-3).
        fresh: bool,
    },
    /// Ask the model.
    CallModel {
        /// The request's number.
        request: RequestNo,
        /// The request.
        body: Box<ModelRequest>,
    },
    /// Check a call's arguments and open its targets; no side effect.
    Prepare {
        /// The call, complete.
        call: agent_protocol::ToolCall,
    },
    /// Get a decision about a prepared call.
    Authorize(ToolCallId),
    /// Run a prepared and allowed call; the prepared handle stays with the driver.
    Execute(ToolCallId),
    /// Have older turns summarised; the answer is [`Input::CompactionDone`]. A job that is under way when the run ends goes on
    /// and is handed to the next run ([`super::Run::adopt`]).
    Compact {
        /// The job's number.
        job: JobNo,
        /// Who waits for it.
        mode: CompactMode,
        /// What the summary stands for.
        plan: Box<CompactionPlan>,
        /// What to ask.
        request: Box<ModelRequest>,
    },
    /// Stop something; its own `…Done` or `…Failed` still comes.
    Abort(Target),
    /// Feed [`Input::DrainExpired`] after `cancel_timeout_ms`.
    ArmDrain,
    /// The last effect of a run; the machine is inert from here.
    Finish {
        /// Why it ended.
        end: EndReason,
        /// What went wrong.
        error: Option<ErrorPayload>,
    },
}

impl Effect {
    /// Whether the commit of a step with these effects may be held back and stored in one transaction with the next step's.
    ///
    /// That is so where nothing but `Gather` follows it: no side effect waits for it, and whatever comes in next, be it
    /// `Sources` or a cancel, gives a step that begins with a commit, or none at all. A driver that holds one back performs the
    /// `Gather` at once, and stores both in their order. Where the sources take their time, it had better not wait with what
    /// may be a call's result.
    #[must_use]
    pub fn commit_may_wait(effects: &[Self]) -> bool {
        matches!(effects, [Self::Commit { .. }, Self::Gather { .. }])
    }

    /// What begins outside when this is performed.
    pub(crate) fn opens(&self) -> Option<Target> {
        match self {
            Self::CallModel { request, .. } => Some(Target::Model(*request)),
            Self::Prepare { call } => Some(Target::Call(call.tool_call_id.clone())),
            Self::Authorize(call) | Self::Execute(call) => Some(Target::Call(call.clone())),
            Self::Compact { job, .. } => Some(Target::Job(*job)),
            Self::Commit { .. } | Self::Gather { .. } | Self::Abort(_) | Self::ArmDrain | Self::Finish { .. } => None,
        }
    }
}

/// Something at work outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A model stream.
    Model(RequestNo),
    /// A call.
    Call(ToolCallId),
    /// A job that makes room.
    Job(JobNo),
}

/// One thing to store.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A node.
    Node(NodeDraft),
    /// A line of the timeline.
    Event(EventDraft),
    /// The session's active node moves here.
    Activate(NodeId),
    /// The run's row changes.
    Run(RunPatch),
}

/// The answer about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Run it.
    Allow,
    /// Do not run it.
    Deny {
        /// What the model and the timeline are told.
        error: ErrorPayload,
    },
}

/// What came of asking for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// The model's reply; whether it is a summary is the machine's to judge.
    pub reply: Reply,
    /// Facts to be kept with the summary: which model, which internal run.
    pub details: Object,
}
