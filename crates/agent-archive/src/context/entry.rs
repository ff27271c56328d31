//! What a report of contexts consists of.

use agent_protocol::{
    CompactCompleted, CompactMode, Estimates, EventType, NodeId, NodeType, PayloadError, RunId, RunMode, RuntimeEvent,
    Timestamp, Usage,
};

use serde::{Serialize, Serializer};

use super::request::RequestContext;

/// One thing that the report of contexts tells, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum ContextEntry {
    /// A run began.
    Run(ContextRun),
    /// A request was made; told when it is known what came of it.
    Request(Box<RequestReport>),
    /// Older turns were summarised or left out, or it was tried.
    Compaction(Box<CompactionReport>),
    /// A run ended.
    End(Box<ContextEnd>),
    /// An event that cannot be read. What it would have told is missing.
    Unreadable(Box<UnreadableEvent>),
    /// A stored row that cannot be read, in one line that names it.
    Damaged {
        /// The line.
        message: String,
    },
}

/// An event that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnreadableEvent {
    /// The run that it is told in.
    pub run_id: Option<RunId>,
    /// When it was stored.
    pub at: Timestamp,
    /// Which, and what is wrong with it; serialised as one line that names the event.
    #[serde(serialize_with = "in_words")]
    pub error: PayloadError,
}

fn in_words<S: Serializer>(error: &PayloadError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

/// A run that began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextRun {
    /// The run.
    pub run_id: RunId,
    /// Its number in the session, from 1; none for an internal run, and where the report is of one run only.
    pub number: Option<u64>,
    /// What an internal run is for, such as `compact`.
    pub purpose: Option<String>,
    /// How the run works; none for an internal run.
    pub mode: Option<RunMode>,
    /// When it began.
    pub at: Timestamp,
}

/// A request, what it was made of and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestReport {
    /// Its run.
    pub run_id: RunId,
    /// When it was made.
    pub at: Timestamp,
    /// What went in.
    pub context: RequestContext,
    /// The pinned nodes by what they are, where an epoch begins or changes.
    pub pinned: Vec<PinnedNode>,
    /// Whether the turn has been asked for before: a stream broke off, or a prompt was too long.
    pub again: bool,
    /// What came of it.
    pub outcome: RequestOutcome,
}

/// A node that is in a request because of what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PinnedNode {
    /// The node.
    pub node_id: NodeId,
    /// What it is; none where it is not stored any more.
    pub node_type: Option<NodeType>,
    /// What it brings in: names of skills, paths of instruction files, ids of memories.
    pub items: Vec<String>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RequestOutcome {
    /// Nothing was stored: it is under way, was cancelled, or its process ended.
    Open,
    /// The model replied.
    Replied {
        /// What the provider counted.
        usage: Usage,
        /// What it should have counted, where its count cannot be that of this prompt (PRV-12).
        expected: Option<u64>,
    },
    /// It failed.
    Failed {
        /// The error's message.
        error: String,
        /// Whether the turn was asked for again.
        asked_again: bool,
    },
}

/// Older turns were summarised or left out, or it was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompactionReport {
    /// The run that it is told in; a summary may be asked for in one run and come in the next.
    pub run_id: Option<RunId>,
    /// When it came to an end; when it began where it has not.
    pub at: Timestamp,
    /// Who asked for it: `background`, `at_end`, `recovery`. None where turns were left out without asking.
    pub mode: Option<String>,
    /// When and for what it was asked, if that is in the report.
    pub begun: Option<CompactionBegun>,
    /// What came of it.
    pub outcome: CompactionOutcome,
}

/// A summary was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompactionBegun {
    /// When.
    pub at: Timestamp,
    /// Estimated tokens of the messages then.
    pub tokens_before: Option<u64>,
    /// Turns it was to stand for.
    pub turns: Option<u64>,
}

/// What came of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CompactionOutcome {
    /// A summary was written.
    Summary {
        /// Its node.
        node_id: Option<NodeId>,
        /// Turns it stands for.
        turns: Option<u64>,
        /// Estimated tokens of the messages before.
        tokens_before: Option<u64>,
        /// And after.
        tokens_after: Option<u64>,
        /// Whether it was cut at its limit.
        cut: bool,
    },
    /// The oldest turns were left out (PRV-15).
    Slide {
        /// How many.
        turns: Option<u64>,
        /// What is kept from here on.
        first_kept: Option<NodeId>,
        /// Estimated tokens of the messages before.
        tokens_before: Option<u64>,
        /// And after.
        tokens_after: Option<u64>,
    },
    /// What tools brought is shortened further (CTX-6).
    Squeeze {
        /// How far, from 1.
        level: u8,
        /// Tokens that were needed.
        tokens_before: u64,
    },
    /// No summary was written.
    Failed {
        /// The error's message.
        error: String,
    },
    /// Nothing was stored: it is under way, or its process ended.
    Open,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextEnd {
    /// The run.
    pub run_id: RunId,
    /// When.
    pub at: Timestamp,
    /// `loop_completed`, `loop_aborted` or `loop_failed`.
    pub event_type: EventType,
    /// How many turns it took.
    pub turns: Option<u64>,
    /// The error's message, if something went wrong.
    pub error: Option<String>,
    /// Its process ended during the run; that was found out later, at this time.
    pub interrupted: bool,
    /// How far the estimates were off (CTX-7).
    pub estimates: Option<Estimates>,
}

impl RequestReport {
    /// Tokens of the prompt as the provider counted them.
    #[must_use]
    pub fn counted(&self) -> Option<u64> {
        match &self.outcome {
            RequestOutcome::Replied { usage, .. } => usage.input_tokens,
            RequestOutcome::Open | RequestOutcome::Failed { .. } => None,
        }
    }

    /// How far the estimate was off, in percent of the provider's count; above 0 where it was too high.
    #[must_use]
    pub fn error_percent(&self) -> Option<f64> {
        let counted = self.counted().filter(|counted| *counted > 0)? as f64;
        Some(100.0 * (self.context.request_tokens? as f64 - counted) / counted)
    }
}

impl CompactionReport {
    /// A summary that was written, or what was left out or shortened without one; the end of what `begun` began, if that is known.
    pub(super) fn completed(event: &RuntimeEvent, completed: CompactCompleted, begun: Option<CompactionBegun>) -> Self {
        let (mode, outcome) = match completed {
            CompactCompleted::Summary { mode, turns_summarised, tokens_before, tokens_after, summary_cut, .. } => {
                let outcome = CompactionOutcome::Summary {
                    node_id: event.node_id.clone(),
                    turns: Some(turns_summarised),
                    tokens_before: Some(tokens_before),
                    tokens_after: Some(tokens_after),
                    cut: summary_cut,
                };
                (Some(mode), outcome)
            }
            CompactCompleted::WindowSlide { turns_left_out, first_kept_node_id, tokens_before, tokens_after } => {
                let outcome = CompactionOutcome::Slide {
                    turns: Some(turns_left_out),
                    first_kept: Some(first_kept_node_id),
                    tokens_before: Some(tokens_before),
                    tokens_after: Some(tokens_after),
                };
                (None, outcome)
            }
            CompactCompleted::Squeeze { level, tokens_before } => {
                (None, CompactionOutcome::Squeeze { level, tokens_before })
            }
        };
        Self::of(event, mode, begun, outcome)
    }

    pub(super) fn of(
        event: &RuntimeEvent,
        mode: Option<CompactMode>,
        begun: Option<CompactionBegun>,
        outcome: CompactionOutcome,
    ) -> Self {
        let mode = mode.map(|mode| mode.as_str().to_owned());
        Self { run_id: event.run_id.clone(), at: event.created_at.clone(), mode, begun, outcome }
    }
}
