//! The types of events: who sees them, and which are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may see an event, and whether it is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Stored; for every consumer.
    Open,
    /// Stored; seen with `debug`, in inspect and in replay (EVT-1).
    Debug,
    /// Not stored (EVT-3); for every consumer.
    Live,
    /// Not stored; seen with `debug`.
    LiveDebug,
}

macro_rules! event_types {
    ($($kind:ident: $($name:ident = $text:literal),+;)*) => {
        /// What happened. The strings are the contract's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[expect(missing_docs, reason = "the contract's strings name themselves")]
        pub enum EventType {
            $($(#[serde(rename = $text)] $name,)*)*
        }

        impl EventType {
            /// Every event type.
            pub const ALL: &'static [EventType] = &[$($(EventType::$name,)*)*];

            /// The contract's string.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($(EventType::$name => $text,)*)* }
            }

            /// The type behind a stored string.
            #[must_use]
            pub fn from_stored(text: &str) -> Option<Self> {
                match text { $($($text => Some(EventType::$name),)*)* _ => None }
            }

            fn kind(self) -> Kind {
                match self { $($(EventType::$name => Kind::$kind,)*)* }
            }
        }
    };
}

event_types! {
    Open: RunQueued = "run_queued", RunDequeued = "run_dequeued", RunCancelled = "run_cancelled";
    Open: LoopStarted = "loop_started", LoopCompleted = "loop_completed", LoopAborted = "loop_aborted",
        LoopFailed = "loop_failed";
    Debug: ContextBuilt = "context_built";
    Open: MessageCreated = "message_created", MessageCompleted = "message_completed";
    Live: MessageDelta = "message_delta", ToolProgress = "tool_progress";
    Open: ModelStarted = "model_started", ModelCompleted = "model_completed", ModelFailed = "model_failed",
        ModelRetry = "model_retry";
    LiveDebug: ModelTextDelta = "model_text_delta", ModelReasoningDelta = "model_reasoning_delta",
        ToolCallDelta = "tool_call_delta";
    Open: ToolStarted = "tool_started", ToolCompleted = "tool_completed", ToolFailed = "tool_failed",
        ToolDenied = "tool_denied";
    Open: PermissionRequested = "permission_requested", PermissionResolved = "permission_resolved",
        PermissionFailed = "permission_failed";
    Debug: HookStarted = "hook_started", HookCompleted = "hook_completed";
    Open: HookFailed = "hook_failed", HookDenied = "hook_denied", StopHookPrevented = "stop_hook_prevented";
    Open: ChildAgentCreated = "child_agent_created", WorkerDispatched = "worker_dispatched",
        WorkerDispatchFailed = "worker_dispatch_failed",
        ChildAgentCancelRequested = "child_agent_cancel_requested", ChildAgentCancelled = "child_agent_cancelled",
        ChildAgentCancelTimeout = "child_agent_cancel_timeout", ChildAgentCompleted = "child_agent_completed",
        ChildAgentFailed = "child_agent_failed",
        ChildResultSchemaValidationFailed = "child_result_schema_validation_failed";
    Open: CompactStarted = "compact_started", CompactCompleted = "compact_completed",
        CompactFailed = "compact_failed";
    Debug: MemoryExtractionStarted = "memory_extraction_started",
        MemoryExtractionCompleted = "memory_extraction_completed",
        MemoryExtractionFailed = "memory_extraction_failed";
    Open: McpServerFailed = "mcp_server_failed", CancelTimeout = "cancel_timeout", Error = "error";
    Debug: TaskCreated = "task_created", TaskRunning = "task_running", TaskUpdated = "task_updated",
        TaskReopened = "task_reopened", TaskCompleted = "task_completed", TaskFailed = "task_failed",
        TaskCancelled = "task_cancelled", TaskStepReady = "task_step_ready", TaskStepClaimed = "task_step_claimed",
        TaskStepStarted = "task_step_started", TaskStepClaimSkipped = "task_step_claim_skipped",
        TaskStepUpdated = "task_step_updated", TaskStepBlocked = "task_step_blocked",
        TaskStepCompleted = "task_step_completed", TaskStepFailed = "task_step_failed",
        TaskStepCancelled = "task_step_cancelled", TaskStepReopened = "task_step_reopened",
        TaskStepLeaseExpired = "task_step_lease_expired", TaskWalReplayed = "task_wal_replayed",
        TaskWalFailed = "task_wal_failed";
}

impl EventType {
    /// Seen only with `debug`, in inspect and in replay (EVT-1).
    #[must_use]
    pub fn is_debug_only(self) -> bool {
        matches!(self.kind(), Kind::Debug | Kind::LiveDebug)
    }

    /// Kept in the session's timeline; the others are live-only deltas without a `seq` (EVT-3).
    #[must_use]
    pub fn is_stored(self) -> bool {
        matches!(self.kind(), Kind::Open | Kind::Debug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EVT-1: exactly these are for debugging only.
    #[test]
    fn debug_only_types() {
        for event in EventType::ALL {
            let name = event.as_str();
            let expected = name.starts_with("task_")
                || name.starts_with("memory_extraction_")
                || [
                    "context_built",
                    "model_text_delta",
                    "tool_call_delta",
                    "model_reasoning_delta",
                    "hook_started",
                    "hook_completed",
                ]
                .contains(&name);
            assert_eq!(event.is_debug_only(), expected, "{name}");
        }
    }

    /// EVT-3: deltas are not stored, everything else is. TYP-9: types serialise to the contract's strings.
    #[test]
    fn deltas_are_not_stored() {
        for event in EventType::ALL {
            let name = event.as_str();
            assert_eq!(event.is_stored(), !name.ends_with("_delta") && name != "tool_progress", "{name}");
            assert_eq!(serde_json::to_value(event).unwrap(), name);
            assert_eq!(EventType::from_stored(name), Some(*event));
        }
        assert_eq!(EventType::from_stored("no_such_event"), None);
    }
}
