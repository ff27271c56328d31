//! The report of a request, stored as `context_built` (CTX-1): with the nodes, and the bytes behind the hashes of the fixed
//! part, all that is needed to make the request again (STO-11).

use std::sync::Arc;

use agent_protocol::{ModelMessage, NodeId, Object, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Budgets;
use crate::compose::Parts;
use crate::numbers::RequestNo;
use crate::rebuild_error::RebuildError;
use crate::sources::{ModelSettings, Sources};
use crate::window::Window;

/// One report. The type writes the payload and reads it: what a later version has added is ignored, what is missing is an error
/// that names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextBuilt {
    /// The turn. A request that is made again belongs to the same turn (RUN-23).
    pub turn: u32,
    /// The request's number, unique in its run.
    pub request: RequestNo,
    /// Which stretch of append-only requests of the run it belongs to (PRV-15).
    pub epoch: u32,
    /// What the requests of an epoch have in common: in the report of the first, and once more where it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_part: Option<EpochPart>,
    /// In every other report: the request of the same run whose report has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_part_of_request: Option<RequestNo>,
    /// The summary that stands for the beginning of the path (CMP-1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_node_id: Option<NodeId>,
    /// First node of the kept part; without a summary, or where turns were left out after it.
    #[serde(deserialize_with = "Option::deserialize")]
    pub first_kept_node_id: Option<NodeId>,
    /// How far what tools brought is shortened ([`Window::squeeze`]).
    #[serde(default, skip_serializing_if = "is_not_squeezed")]
    pub squeeze: u8,
    /// Nodes from before the kept part that are in all the same: loaded skills, the message of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_node_ids: Vec<NodeId>,
    /// Newest node.
    #[serde(deserialize_with = "Option::deserialize")]
    pub last_node_id: Option<NodeId>,
    /// Nodes that went in.
    pub nodes_in: usize,
    /// Nodes that were left out.
    pub nodes_out: usize,
    /// Turns that were left out, those in the summary included.
    pub turns_out: usize,
    /// Turns that stand in the summary.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns_summarised: usize,
    /// Results that were shortened.
    pub results_shortened: usize,
    /// Estimated tokens of the messages.
    pub message_tokens: u64,
    /// Estimated tokens of the system blocks and tool schemas.
    #[serde(default)]
    pub system_tokens: u64,
    /// Estimated tokens of the whole request, calibrated.
    pub request_tokens: u64,
    /// The provider's counts as a multiple of our estimates.
    pub calibration: f64,
    /// What the adapter's own call ids begin with (PRV-5).
    pub call_id_prefix: ToolCallId,
    /// The messages that came last and are no history. They are in no node, so they are here in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<Arc<ModelMessage>>,
}

/// What the requests of an epoch have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochPart {
    /// Why the epoch began.
    pub epoch_because: String,
    /// Which model, and how it is asked.
    pub model: ModelSettings,
    /// Most tokens of an answer.
    pub max_output_tokens: u64,
    /// Most tokens of the results of one turn; longer ones are shortened.
    pub results_limit: u64,
    /// How the window is shared out.
    pub budgets: Budgets,
    /// Hashes of the system blocks and of the tool list (STO-13).
    pub fixed_part: Object,
    /// Instruction nodes whose file stands in the system part (INS-3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_system: Vec<NodeId>,
    /// What is said where turns are missing that are in no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_not_squeezed(level: &u8) -> bool {
    *level == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ContextBuilt {
    /// Reads the payload of a `context_built` event.
    ///
    /// # Errors
    /// [`RebuildError::Report`] names what is missing or wrong.
    pub fn read(payload: &Object) -> Result<Self, RebuildError> {
        serde_path_to_error::deserialize(payload)
            .map_err(|error| RebuildError::Report { at: error.path().to_string(), message: error.inner().to_string() })
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> Object {
        match serde_json::to_value(self) {
            Ok(Value::Object(payload)) => payload,
            // A struct of numbers, ids and JSON always serialises to an object.
            _ => Object::new(),
        }
    }

    /// The request whose report holds the epoch's part: this one, or an earlier one of the same run.
    #[must_use]
    pub fn epoch_part_in(&self) -> RequestNo {
        self.epoch_part_of_request.unwrap_or(self.request)
    }
}

impl EpochPart {
    pub(crate) fn of(sources: &Sources, window: Window, marker: Option<&String>, because: &str) -> Self {
        let parts = Parts::of(sources, window);
        Self {
            epoch_because: because.to_owned(),
            model: parts.model.clone(),
            max_output_tokens: parts.max_output_tokens,
            results_limit: parts.rules.results_limit,
            budgets: sources.budgets,
            fixed_part: sources.fingerprint.clone(),
            in_system: sources.in_system.to_vec(),
            marker: marker.cloned(),
        }
    }

    /// Whether it says of these sources what there is to say. The two limits follow from the budgets.
    pub(crate) fn is_of(&self, sources: &Sources, marker: Option<&String>) -> bool {
        self.budgets == sources.budgets
            && self.model == sources.model
            && self.fixed_part == sources.fingerprint
            && *self.in_system == *sources.in_system
            && self.marker.as_ref() == marker
    }
}
