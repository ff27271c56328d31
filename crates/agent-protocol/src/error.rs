//! Error codes and the payload that carries one across a boundary (ERR-1, ERR-2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Object;

macro_rules! error_codes {
    ($($group:ident { $($(#[$doc:meta])* $code:ident = $text:literal,)* })*) => {
        /// Every error code of the contract. The strings never change (ERR-1).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {
            $($($(#[$doc])* #[serde(rename = $text)] $code,)*)*
        }

        impl ErrorCode {
            /// All codes, in the contract's order.
            pub const ALL: &'static [ErrorCode] = &[$($(ErrorCode::$code,)*)*];

            /// The contract's string.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($(ErrorCode::$code => $text,)*)* }
            }

            /// The group the contract lists this code under.
            #[must_use]
            pub fn group(self) -> ErrorType {
                match self { $($(ErrorCode::$code => ErrorType::$group,)*)* }
            }
        }
    };
}

error_codes! {
    Common {
        /// Input of a tool or an API call does not hold up.
        ValidationError = "validation_error",
        /// Output of a hook, a declarative tool or a child does not match its schema (ERR-6).
        SchemaError = "schema_error",
        /// The configuration is missing, unreadable or impossible.
        ConfigError = "config_error",
        /// A person, a rule or the operating system's rights said no.
        PermissionDenied = "permission_denied",
        /// The tool is not in the effective tool set of this run.
        ToolNotAvailable = "tool_not_available",
        /// A tool, a hook or a child went over its limit.
        Timeout = "timeout",
        /// A call was cancelled or skipped, or a budget ended a run.
        Cancelled = "cancelled",
        /// A fault of ours, or a run that had to be stopped.
        InternalError = "internal_error",
    }
    Provider {
        /// The model server failed or sent something unusable.
        ProviderError = "provider_error",
        /// The provider or model cannot do what the run needs.
        UnsupportedCapability = "unsupported_capability",
        /// The key was refused or is missing.
        ProviderAuthFailed = "provider_auth_failed",
        /// Too many requests, or a quota is used up.
        ProviderRateLimited = "provider_rate_limited",
        /// The model server did not answer in time.
        ProviderTimeout = "provider_timeout",
    }
    Storage {
        /// Reading or writing stored data failed.
        StorageError = "storage_error",
        /// The database could not be brought to this version's schema.
        MigrationFailed = "migration_failed",
        /// Another run or process owns the session.
        SessionActive = "session_active",
        /// The target exists, or changed since it was last seen.
        PathConflict = "path_conflict",
        /// No such file.
        FileNotFound = "file_not_found",
        /// The text to replace is not in the file.
        TextNotFound = "text_not_found",
        /// The text to replace is in the file more than once.
        AmbiguousEdit = "ambiguous_edit",
        /// A diff does not apply.
        PatchApplyFailed = "patch_apply_failed",
        /// A diff names another file.
        PatchPathMismatch = "patch_path_mismatch",
        /// The target lies outside every folder that may be written.
        WriteOutsideAllowedRoots = "write_outside_allowed_roots",
    }
    Agent {
        /// An agent definition is not usable.
        InvalidAgentDefinition = "invalid_agent_definition",
        /// Two definitions share an id.
        DuplicateAgentDefinition = "duplicate_agent_definition",
        /// An override names nothing that exists.
        InvalidAgentOverride = "invalid_agent_override",
        /// Too many child agents.
        ChildAgentLimitExceeded = "child_agent_limit_exceeded",
        /// The named worker is at work.
        WorkerBusy = "worker_busy",
        /// The named worker does not exist or cannot be used.
        WorkerNotAvailable = "worker_not_available",
        /// No worker of the pool is idle.
        WorkerPoolBusy = "worker_pool_busy",
    }
    Task {
        /// Unknown task.
        TaskNotFound = "task_not_found",
        /// The task has ended.
        TaskTerminal = "task_terminal",
        /// The task's state does not allow this.
        TaskNotDispatchable = "task_not_dispatchable",
        /// Steps depend on each other in a circle.
        DependencyCycle = "dependency_cycle",
        /// Unknown step.
        StepNotFound = "step_not_found",
        /// The step's dependencies are not complete.
        StepNotReady = "step_not_ready",
        /// Another run holds the step.
        StepAlreadyClaimed = "step_already_claimed",
        /// This run has claimed a step before.
        StepAlreadyClaimedByRun = "step_already_claimed_by_run",
        /// Other steps depend on the step.
        StepHasDependents = "step_has_dependents",
        /// A business state inside a successful result, never an error (ERR-4).
        NoStepClaimed = "no_step_claimed",
        /// The task's journal cannot be used.
        TaskWalUnavailable = "task_wal_unavailable",
    }
    MemorySkill {
        /// Choosing memories failed.
        MemoryRecallFailed = "memory_recall_failed",
        /// The memory writer refused or failed.
        MemoryWriteFailed = "memory_write_failed",
        /// Unknown skill.
        SkillNotFound = "skill_not_found",
        /// A skill could not be read.
        SkillLoadFailed = "skill_load_failed",
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The contract's groups of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    /// Codes any part may use.
    Common,
    /// Model servers.
    Provider,
    /// Sessions and files.
    Storage,
    /// Agents and workers.
    Agent,
    /// Tasks and steps.
    Task,
    /// Memory and skills.
    MemorySkill,
}

/// What events, tool results and `runs.error` carry: no backtrace, no secret (ERR-2, ERR-5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorPayload {
    /// The group of the code.
    #[serde(rename = "type")]
    pub error_type: ErrorType,
    /// The contract's code.
    pub code: ErrorCode,
    /// What failed, on what, and what to do next.
    pub message: String,
    /// Whether doing the same again may succeed.
    pub retryable: bool,
    /// Facts for programs: `kind`, `path`, `limit`, …
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub details: Object,
    /// Whether something secret was taken out of `message` or `details`.
    #[serde(default)]
    pub redacted: bool,
}

impl ErrorPayload {
    /// A payload that is not retryable and has no details.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error_type: code.group(),
            code,
            message: message.into(),
            retryable: false,
            details: Object::new(),
            redacted: false,
        }
    }

    /// Says whether trying again may help.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// Adds one fact.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

impl std::fmt::Display for ErrorPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorPayload {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract's list, as it stands there.
    const CONTRACT: &str = "
        validation_error schema_error config_error permission_denied tool_not_available timeout cancelled internal_error
        provider_error unsupported_capability provider_auth_failed provider_rate_limited provider_timeout
        storage_error migration_failed session_active path_conflict file_not_found text_not_found ambiguous_edit
        patch_apply_failed patch_path_mismatch write_outside_allowed_roots
        invalid_agent_definition duplicate_agent_definition invalid_agent_override child_agent_limit_exceeded
        worker_busy worker_not_available worker_pool_busy
        task_not_found task_terminal task_not_dispatchable dependency_cycle step_not_found step_not_ready
        step_already_claimed step_already_claimed_by_run step_has_dependents no_step_claimed task_wal_unavailable
        memory_recall_failed memory_write_failed skill_not_found skill_load_failed";

    /// ERR-1: exactly the contract's codes, in its order, under the same strings when serialised.
    #[test]
    fn codes_are_the_contracts() {
        let ours: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(ours, CONTRACT.split_whitespace().collect::<Vec<_>>());
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    /// ERR-2: the payload's fields, and nothing beyond them.
    #[test]
    fn payload_fields() {
        let payload = ErrorPayload::new(ErrorCode::FileNotFound, "a.txt does not exist").detail("path", "a.txt");
        let value = serde_json::to_value(&payload).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "type": "storage", "code": "file_not_found", "message": "a.txt does not exist",
                "retryable": false, "details": {"path": "a.txt"}, "redacted": false,
            })
        );
        let mut extra = value;
        extra["backtrace"] = "x".into();
        assert!(serde_json::from_value::<ErrorPayload>(extra).is_err());
    }
}
