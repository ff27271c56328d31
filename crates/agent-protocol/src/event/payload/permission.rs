//! Questions to a person. The call is the event's `tool_call_id`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::{EventPayload, payloads};
use crate::{DecisionKind, EventType, PermissionRequestId};

/// A person is asked about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRequested {
    /// Pairs the question with its answer.
    pub request_id: PermissionRequestId,
    /// Canonical name of the tool.
    pub tool_name: String,
    /// The resolved targets the decision is about, one a line; null where the call has none.
    pub target_scope: Option<String>,
    /// Why this asks.
    pub reasons: Vec<String>,
}

/// The question was answered, or is settled without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionResolved {
    /// The question.
    pub request_id: PermissionRequestId,
    /// The decision.
    pub decision: DecisionKind,
    /// Why, if somebody said so.
    pub reason: Option<String>,
}

/// Nobody could be asked, or nobody answered; the call is denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionFailed {
    /// The question.
    pub request_id: PermissionRequestId,
    /// What happened instead of an answer.
    pub message: String,
}

impl PermissionRequested {
    /// The targets, one by one.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.target_scope.iter().flat_map(|targets| targets.split('\n'))
    }
}

payloads! {
    PermissionRequested = PermissionRequested,
    PermissionResolved = PermissionResolved,
    PermissionFailed = PermissionFailed,
}
