//! The question to the person who decides about a call, and the answer.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::stored_enum;
use crate::{AgentId, AgentRole, Object, Permission, PermissionRequestId, RunId, SessionId, path_from_text};

/// The question: everything a person needs to decide about one call (PRM-6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRequest {
    /// Unique id.
    pub request_id: PermissionRequestId,
    /// The session.
    pub session_id: SessionId,
    /// Who asks.
    pub agent_id: AgentId,
    /// The run that asks.
    pub run_id: RunId,
    /// The parent of a child agent.
    pub parent_agent_id: Option<AgentId>,
    /// The run of the parent.
    pub parent_run_id: Option<RunId>,
    /// The part the agent plays.
    pub agent_role: AgentRole,
    /// Canonical tool name.
    pub tool_name: String,
    /// What the tool's definition claims.
    pub permission: Permission,
    /// The tool's tags.
    pub tags: Vec<String>,
    /// What matters of the arguments, bounded, with control characters escaped: a diff for edits, the argv for commands.
    pub args_summary: String,
    /// What the decision is about: the resolved paths of the targets, one a line, or the program of a command. Raw, for programs:
    /// whoever shows them escapes them. A path that is no UTF-8 or holds a line break is `bytes:` and its bytes, those that are
    /// not plain as `%` and two digits. Known secrets are replaced by their names.
    pub target_scope: Option<String>,
    /// The folder the call works in, raw as well.
    pub cwd: String,
    /// Names (never secret values) of the environment a command gets.
    pub env_summary: Object,
    /// The host a network tool talks to.
    pub network_host: Option<String>,
    /// The call may do more than its target shows.
    pub dangerous: bool,
    /// What hooks said about the call.
    pub hook_summary: Option<Object>,
    /// What core would answer.
    pub suggested_decision: DecisionKind,
    /// `reasons`: why this asks; `session_scope`: what an allow for the session would cover, absent where it would
    /// count once. Of a child agent also `agent_name`: what people know it by (a worker's id in its pool, else the name of its
    /// definition); `agent_definition_id`; `parent_role`: the part its parent plays.
    #[serde(default)]
    pub metadata: Object,
}

impl PermissionRequest {
    /// Key in `metadata`: what people know the child agent by that asks.
    pub const AGENT_NAME: &'static str = "agent_name";
    /// Key in `metadata`: the definition that the child agent was made from.
    pub const AGENT_DEFINITION: &'static str = "agent_definition_id";
    /// Key in `metadata`: the part that the child agent's parent plays.
    pub const PARENT_ROLE: &'static str = "parent_role";

    /// The paths in `target_scope`.
    pub fn targets(&self) -> impl Iterator<Item = PathBuf> {
        self.target_scope.iter().flat_map(|targets| targets.split('\n')).map(path_from_text)
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionDecision {
    /// The decision.
    pub decision: DecisionKind,
    /// Why, for the model and the timeline.
    pub reason: Option<String>,
    /// `unanswered`: nobody answered (end of input, timeout, no terminal).
    #[serde(default)]
    pub metadata: Object,
}

impl PermissionDecision {
    /// Key in `metadata`: the denial came because nobody answered. The value says what happened.
    pub const UNANSWERED: &'static str = "unanswered";

    /// A decision without further words.
    #[must_use]
    pub fn new(decision: DecisionKind) -> Self {
        Self { decision, reason: None, metadata: Object::new() }
    }

    /// A denial because nobody answered; `what` happened instead.
    #[must_use]
    pub fn unanswered(what: &str) -> Self {
        let mut metadata = Object::new();
        metadata.insert(Self::UNANSWERED.to_owned(), what.into());
        Self { decision: DecisionKind::Deny, reason: Some(format!("nobody answered: {what}")), metadata }
    }
}

stored_enum! {
    /// What may be answered; nothing else, and nothing is kept on disk (PRM-3).
    DecisionKind {
        /// This call.
        AllowOnce = "allow_once",
        /// This call, and calls with the same narrow scope while this session is open (PRM-4).
        AllowForSession = "allow_for_session",
        /// Not this call.
        Deny = "deny",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PRM-3: three decisions and no others.
    #[test]
    fn three_decisions() {
        let names: Vec<_> = DecisionKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names, ["allow_once", "allow_for_session", "deny"]);
        assert!(serde_json::from_value::<DecisionKind>("always_allow".into()).is_err());
    }

    /// PRM-6: the request carries every field of the contract.
    #[test]
    fn request_has_the_contracts_fields() {
        let schema = serde_json::to_value(schemars::schema_for!(PermissionRequest)).unwrap();
        let mut fields: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        fields.sort();
        let mut contract: Vec<_> =
            "request_id session_id agent_id run_id parent_agent_id parent_run_id agent_role tool_name \
             permission tags args_summary target_scope cwd env_summary network_host dangerous hook_summary \
             suggested_decision metadata"
                .split_whitespace()
                .collect();
        contract.sort_unstable();
        assert_eq!(fields, contract);
    }
}
