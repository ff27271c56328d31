//! Runs: waiting in line, beginning, ending.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use crate::run::stored_enum;
use crate::{EndReason, ErrorPayload, EventType, NodeId, PayloadError, RunId, RunMode, RuntimeEvent, Usage};

/// A message waits for the session's earlier runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunQueued {
    /// Its place in the queue, from 1.
    pub position: u64,
}

/// A queued run is no longer queued: its turn has come, or it was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDequeued {}

/// The user cancelled the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCancelled {}

/// The run began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopStarted {
    /// What core started it for, such as `compact`; absent for a run with a task of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// How it works; absent in normal mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// The agent's run before it, where that was cut short without a word to the model (RUN-20).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
}

stored_enum! {
    /// What cut a run short.
    CutCause {
        /// The process ended.
        ProcessEnded = "process_ended",
        /// The session could not be stored any more.
        StorageFailed = "storage_failed",
        /// An error in core.
        InternalError = "internal_error",
    }
}

/// A run that was cut short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutShort {
    /// The run.
    pub run_id: RunId,
    /// What cut it short.
    pub cause: CutCause,
    /// Its calls that had begun and that may have changed something; what they did is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CutCall>,
}

/// A call whose outcome was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CutCall {
    /// Canonical name of the tool.
    pub tool_name: String,
    /// What the call does, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether a program that it started may still be running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_still_run: bool,
}

/// The model answered without calling a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LoopCompleted(pub RunEnd);

/// The run was cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LoopAborted(pub RunEnd);

/// The run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LoopFailed(pub RunEnd);

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// Why; absent where the run could not end itself, such as when its process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<EndReason>,
    /// Turns it took; absent where it could not end itself, and for runs of core's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tokens of all its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What it cost, in the currency of the configured prices; for a run of a model with prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether the cost rests on estimates, since the provider did not count all tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_estimate: bool,
    /// What it and the agents below it used together; absent where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeUsage>,
    /// The nodes that make up the answer of a completed run: more than one where the model was asked to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_node_ids: Option<Vec<NodeId>>,
    /// How far token estimates were off (CTX-7); absent where the provider counted nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimates: Option<Estimates>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorPayload>,
}

/// What a run and all agents below it used together, however these ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeUsage {
    /// Child agents below the run.
    pub children: u32,
    /// Tokens of all their requests and of the run's own. Where a provider did not count, or a reply broke off, they are estimated.
    pub usage: Usage,
    /// What that cost, each request by the price of its model; absent where none of the models has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether some of it is an estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_estimate: bool,
}

/// How far the token estimates of a run were off, in percent of the provider's counts (CTX-7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimates {
    /// Requests that were counted.
    pub calls: u64,
    /// On average, as corrected by what was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_error_percent: Option<f64>,
    /// On average, without correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_error_uncalibrated_percent: Option<f64>,
    /// At most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_error_percent: Option<f64>,
    /// In the last request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_percent: Option<f64>,
    /// The correction at the end: the provider's counts as a multiple of the estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<f64>,
}

/// Something did not stop in time after the run was cancelled. Whatever it still does changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelTimeout {}

/// Something failed, and the run with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReported {
    /// What failed.
    pub error: ErrorPayload,
}

payloads! {
    RunQueued = RunQueued,
    RunDequeued = RunDequeued,
    RunCancelled = RunCancelled,
    LoopStarted = LoopStarted,
    LoopCompleted = LoopCompleted,
    LoopAborted = LoopAborted,
    LoopFailed = LoopFailed,
    CancelTimeout = CancelTimeout,
    ErrorReported = Error,
}

impl TreeUsage {
    /// Adds what others used.
    pub fn add(&mut self, other: &Self) {
        self.children = self.children.saturating_add(other.children);
        self.usage.add(&other.usage);
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
        self.is_estimate |= other.is_estimate;
    }
}

impl RunEnd {
    /// Reads the event that ended a run.
    ///
    /// # Errors
    /// [`PayloadError`] where the event says no such thing.
    pub fn read(event: &RuntimeEvent) -> Result<Self, PayloadError> {
        Ok(match event.event_type {
            EventType::LoopAborted => event.read::<LoopAborted>()?.0,
            EventType::LoopFailed => event.read::<LoopFailed>()?.0,
            _ => event.read::<LoopCompleted>()?.0,
        })
    }

    /// Whether its process ended during the run, which a later owner of the session found out (RUN-20).
    #[must_use]
    pub fn was_interrupted(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.details.get("kind").is_some_and(|kind| kind == "interrupted"))
    }
}
