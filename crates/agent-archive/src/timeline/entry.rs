//! What a timeline consists of.

use std::path::PathBuf;

use agent_protocol::task::{StepId, StepStatus};
use agent_protocol::{
    AgentId, AgentStatus, ArtifactId, CallEnd, ChildAgentCancelled, ChildAgentCompleted, ChildAgentCreated,
    ChildAgentFailed, CompactCompleted, CompactFailed, DecisionKind, ErrorPayload, EventId, EventType, ModelFailed,
    ModelRetry, NodeId, NodeType, PayloadError, PermissionRequestId, RunEnd, RunId, RunMode, RuntimeEvent, Timestamp,
    ToolCallId, Usage,
};
use agent_store::ArtifactInfo;
use serde::Serialize;

/// One thing that a timeline tells, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineEntry {
    /// The run it belongs to.
    pub run_id: Option<RunId>,
    /// When it happened; none where that is not stored, such as for what a run left open.
    pub at: Option<Timestamp>,
    /// The same in milliseconds since the run that is being told began.
    pub since_start_ms: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub step: TimelineStep,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum TimelineStep {
    /// The run began.
    Began {
        /// Its number in the session, from 1; none for an internal run, and where one run only is told.
        number: Option<u64>,
        /// What an internal run is for, such as `compact`.
        purpose: Option<String>,
        /// How the run works; none for an internal run.
        mode: Option<RunMode>,
    },
    /// The conversation goes on from somewhere else than its end (STO-7).
    Branched {
        /// The node it goes on from; none where it begins anew.
        from_node_id: Option<NodeId>,
        /// The number of that node's run, where runs are counted.
        from_run: Option<u64>,
    },
    /// The user said something.
    UserSaid {
        /// The node that holds it.
        node_id: NodeId,
        /// The text.
        text: String,
    },
    /// The model was told something that the user did not say: a note of core, a file's instructions.
    Added {
        /// The node that holds it.
        node_id: NodeId,
        /// What it is.
        node_type: NodeType,
        /// The text.
        text: String,
    },
    /// The model said something.
    ModelSaid {
        /// The node that holds it.
        node_id: NodeId,
        /// The text, without the calls beside it.
        text: String,
    },
    /// The model broke off what it said last. That is kept to be looked at and is on no path; a note in the
    /// next request may quote it.
    Partial,
    /// A call ended.
    Called(Box<TimelineCall>),
    /// A call began, and what came of it was not stored.
    CallLost {
        /// The call.
        tool_call_id: Option<ToolCallId>,
        /// Canonical name of the tool.
        tool_name: String,
        /// What the call does, in one line.
        call: Option<String>,
        /// The child agents that it asked for.
        children: Vec<TimelineChild>,
    },
    /// A person was asked about a call, and answered or did not.
    Asked(TimelineQuestion),
    /// Nobody could be asked about a call, or nobody answered.
    AskingFailed {
        /// The question.
        request_id: PermissionRequestId,
        /// What happened instead of an answer.
        message: String,
    },
    /// A request failed and is sent again after a pause.
    Retried(ModelRetry),
    /// An answer broke off and is asked for again (RUN-23).
    BrokeOff(ModelFailed),
    /// Earlier turns were summarised or left out (CTX-9).
    Compacted(CompactCompleted),
    /// No summary of earlier turns was written.
    CompactingFailed(CompactFailed),
    /// Something did not stop in time when it was told to. It can change nothing any more.
    DidNotStop,
    /// Something went wrong.
    Failed {
        /// What.
        error: ErrorPayload,
    },
    /// A message came and waits for the run that is being told; the entry's run is the message's own.
    Queued,
    /// A message that waited was cancelled; the entry's run is the message's own.
    QueuedCancelled,
    /// A run that waited ended before it began: its process ended.
    NeverBegan {
        /// Why.
        error: Option<ErrorPayload>,
    },
    /// The run made a child agent. What the child does is told in the child's own run.
    ChildBegan(Box<ChildAgentCreated>),
    /// A child agent ended.
    ChildEnded(Box<TimelineChildEnd>),
    /// The run ended.
    Ended(Box<TimelineEnd>),
    /// The run has not ended yet: its process is at work.
    AtWork {
        /// The question it waits for.
        question: Option<TimelineQuestion>,
        /// The child agents that are at work for it.
        children: Vec<TimelineChild>,
    },
    /// The run's process ended during the run, and nobody has opened the session since.
    Interrupted,
    /// An event that cannot be read. What it would have told is missing.
    Unreadable {
        /// The event.
        event_id: EventId,
        /// Its type.
        event_type: EventType,
        /// What is wrong with it, in one line that names the event.
        message: String,
    },
    /// A stored row that cannot be read. What it would have told is missing.
    Damaged {
        /// What is wrong with it, in one line that names the row.
        message: String,
    },
    /// An event without an entry of its own, where all events are asked for.
    Event {
        /// The event as it is stored.
        event: Box<RuntimeEvent>,
    },
    /// What another agent did meanwhile, where all events are asked for.
    OtherAgent {
        /// The event as it is stored.
        event: Box<RuntimeEvent>,
    },
}

/// A call that ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineCall {
    /// The call.
    pub tool_call_id: Option<ToolCallId>,
    /// The tool, what was asked of it, and what came of it.
    #[serde(flatten)]
    pub end: CallEnd,
    /// How long it took, in milliseconds; none where it never began.
    pub duration_ms: Option<u64>,
    /// What was stored beside its result (ART-2).
    pub files: Vec<TimelineFile>,
    /// The child agents that it asked for, in the order in which they began.
    pub children: Vec<TimelineChild>,
}

/// A child agent, as the timeline of its parent's run tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineChild {
    /// Who it is and what it was asked.
    pub created: Box<ChildAgentCreated>,
    /// How it ended; none where it is at work, or that was not stored.
    pub end: Option<TimelineChildEnd>,
    /// How long it took, in milliseconds, once it has ended.
    pub duration_ms: Option<u64>,
}

/// A file that a call left in the session's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineFile {
    /// The artifact.
    pub artifact_id: ArtifactId,
    /// Where the file lies.
    pub path: PathBuf,
    /// Its name, for people.
    pub filename: String,
    /// Its media type, where known.
    pub mime_type: Option<String>,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineQuestion {
    /// Pairs it with its answer.
    pub request_id: PermissionRequestId,
    /// Canonical name of the tool; none where the timeline has the answer only.
    pub tool_name: Option<String>,
    /// What the call would touch.
    pub targets: Vec<String>,
    /// The answer; none where there is none.
    pub decision: Option<DecisionKind>,
    /// Why, if somebody said so.
    pub reason: Option<String>,
}

/// A child agent that ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineChildEnd {
    /// The child.
    pub child_agent_id: AgentId,
    /// Its run.
    pub child_run_id: RunId,
    /// `completed`, `failed` or `cancelled`.
    pub status: AgentStatus,
    /// Turns it took.
    pub turns: u32,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
    /// The step that a worker had claimed.
    pub step_id: Option<StepId>,
    /// Where that step stood then.
    pub step_status: Option<StepStatus>,
}

impl TimelineChildEnd {
    /// What an event that tells a child's end says: `child_agent_completed`, `child_agent_failed` or `child_agent_cancelled`.
    ///
    /// # Errors
    /// If its payload cannot be read.
    pub fn read(event: &RuntimeEvent) -> Result<Self, PayloadError> {
        match event.event_type {
            EventType::ChildAgentFailed => {
                let ChildAgentFailed { child_agent_id, child_run_id, turns, usage, error, step_id, step_status } =
                    event.read()?;
                let (status, error) = (AgentStatus::Failed, Some(error));
                Ok(Self { child_agent_id, child_run_id, status, turns, usage, error, step_id, step_status })
            }
            EventType::ChildAgentCancelled => {
                let ChildAgentCancelled { child_agent_id, child_run_id, turns, usage, step_id, step_status } =
                    event.read()?;
                let status = AgentStatus::Cancelled;
                Ok(Self { child_agent_id, child_run_id, status, turns, usage, error: None, step_id, step_status })
            }
            _ => {
                let ChildAgentCompleted { child_agent_id, child_run_id, turns, usage, step_id, step_status } =
                    event.read()?;
                let status = AgentStatus::Completed;
                Ok(Self { child_agent_id, child_run_id, status, turns, usage, error: None, step_id, step_status })
            }
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineEnd {
    /// How, in a word.
    pub outcome: TimelineOutcome,
    /// How long the run took, in milliseconds; none where its process ended during it.
    pub duration_ms: Option<u64>,
    /// Why, and what it took.
    #[serde(flatten)]
    pub end: RunEnd,
}

/// How a run ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineOutcome {
    /// The model answered.
    Completed,
    /// The user cancelled it.
    Cancelled,
    /// It failed.
    Failed,
    /// Its process ended during the run; a later owner of the session found that out (RUN-20).
    Interrupted,
}

impl From<&ArtifactInfo> for TimelineFile {
    fn from(artifact: &ArtifactInfo) -> Self {
        Self {
            artifact_id: artifact.artifact_id.clone(),
            path: artifact.path.clone(),
            filename: artifact.filename.clone(),
            mime_type: artifact.mime_type.clone(),
            size_bytes: artifact.size_bytes,
        }
    }
}
