//! The machine's alphabet: what comes in, what goes out.

use std::collections::HashMap;
use std::sync::Arc;

use agent_protocol::{
    ContentBlock, EndReason, ErrorPayload, EventDraft, ModelFault, ModelMessage, ModelRequest, NodeDraft, NodeId,
    NodeType, Object, Reply, RunPatch, SystemPrompt, ToolCallId, ToolChoice, ToolClass, ToolList,
};
use serde::{Deserialize, Serialize};

use crate::budget::Budgets;
use crate::cut::CompactionPlan;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            pub(crate) fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }
    )*};
}

numbers! {
    /// Numbers the requests of a run, so that a late answer to an earlier one is known as late.
    RequestNo,
    /// Numbers the jobs that make room.
    JobNo,
    /// Numbers the commits.
    CommitNo
}

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

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// In a word.
    pub kind: ResultKind,
    /// What the model is shown.
    pub content: Vec<ContentBlock>,
    /// Set unless `kind` is `Ok`.
    pub error: Option<ErrorPayload>,
    /// Facts kept with the result.
    pub metadata: Object,
    /// One line for people.
    pub summary: Option<String>,
    /// Stands for what the call gave, where its content holds something that differs each time (an artifact's id).
    pub digest: Option<u64>,
    /// Nodes that join the path after all results of the reply.
    pub after: Vec<AfterNode>,
}

/// A node that a call adds to the context, such as a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct AfterNode {
    /// What it is.
    pub node_type: NodeType,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// Its source.
    pub metadata: Object,
}

/// How a call ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// It ran.
    Ok,
    /// It could not run, or ran into an error.
    Failed,
    /// Somebody said no.
    Denied,
    /// It was stopped.
    Aborted,
    /// An earlier call was in its way.
    Skipped,
}

impl ResultKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Aborted => "aborted",
            Self::Skipped => "skipped",
        }
    }
}

/// Who waits for a summary (CMP-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactMode {
    /// Nobody yet: it is made beside the running turns.
    Background,
    /// Nobody any more: the run that asks for it ends.
    AtEnd,
    /// The run: its next request does not fit.
    Recovery,
}

impl CompactMode {
    /// The word in events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::AtEnd => "at_end",
            Self::Recovery => "recovery",
        }
    }
}

/// What came of asking for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// The model's reply; whether it is a summary is the machine's to judge.
    pub reply: Reply,
    /// Facts to be kept with the summary: which model, which internal run.
    pub details: Object,
}

/// When and how older turns are summarised (CMP-5, CMP-8).
#[derive(Debug, Clone, Default)]
pub struct Compacting {
    /// Ahead of need, beside the running turns.
    pub background: bool,
    /// Ahead of need, when a run is over.
    pub at_end: bool,
    /// When a request does not fit.
    pub recovery: Recovery,
    /// The words that ask for a summary; `{max_words}` in them is filled in.
    pub request: Arc<str>,
    /// Who summarises; the run's own model in its own conversation if absent.
    pub by: Option<Summariser>,
    /// How the run's own model is asked for a summary, if otherwise than for an answer.
    pub temperature: Option<f64>,
}

impl Compacting {
    /// Whether anything is ever summarised.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.background || self.at_end || self.recovery == Recovery::Summary
    }
}

/// What happens when a request does not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Older turns are summarised; where that fails, they are left out.
    Summary,
    /// The oldest turns are left out (PRV-15).
    #[default]
    Slide,
    /// The run ends as `prompt_too_long`.
    End,
}

/// Another model that summarises: it is given the conversation as one text.
#[derive(Debug, Clone)]
pub struct Summariser {
    /// Which, and how it is asked.
    pub model: ModelSettings,
    /// What it is told.
    pub system: Arc<SystemPrompt>,
    /// Room for the text, in its tokens.
    pub room: u64,
    /// Most tokens of its answer.
    pub max_output_tokens: u64,
}

/// What a request is made of, besides the path.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The system blocks.
    pub system: Arc<SystemPrompt>,
    /// The effective tool set.
    pub tools: ToolSet,
    /// How the window is shared out.
    pub budgets: Budgets,
    /// Which model, and how.
    pub model: ModelSettings,
    /// User-role messages that come last and are no history: task board, runtime state.
    pub tail: Vec<Arc<ModelMessage>>,
    /// Instruction nodes whose file stands in the system part: its block takes the place of node and result (INS-3).
    pub in_system: Arc<[NodeId]>,
    /// When and how older turns are summarised.
    pub compacting: Compacting,
    /// Hashes of the system blocks and of the tool list, for `context_built` (STO-13).
    pub fingerprint: Object,
}

impl Sources {
    /// Whether a request made from `other` begins with the same bytes.
    pub(crate) fn same_fixed_part(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.system, &other.system) && Arc::ptr_eq(&self.tools.list, &other.tools.list)
    }
}

/// The effective tool set of a run.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    /// As the model sees it.
    pub list: Arc<ToolList>,
    /// How each is scheduled, by canonical name.
    pub classes: Arc<HashMap<String, ToolClass>>,
}

/// Which model, and how it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSettings {
    /// The model's name at its provider.
    pub name: String,
    /// Sampling temperature.
    #[serde(deserialize_with = "Option::deserialize")]
    pub temperature: Option<f64>,
    /// Whether and which tools may be called.
    pub tool_choice: ToolChoice,
    /// Options of this provider only.
    pub provider_options: Object,
}
