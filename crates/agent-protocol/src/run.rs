//! States and modes of runs and agents. All serialise to the contract's snake_case strings (TYP-9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! stored_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The stored string.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The value behind a stored string.
            #[must_use]
            pub fn from_stored(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.as_str() == text)
            }
        }
    };
}
pub(crate) use stored_enum;

stored_enum! {
    /// Where a run stands (RUN-6).
    RunStatus {
        /// Waits for the session's earlier run.
        Queued = "queued",
        /// Made, not started.
        Pending = "pending",
        /// At work.
        Running = "running",
        /// Ended as it should.
        Completed = "completed",
        /// Ended with an error.
        Failed = "failed",
        /// The user cancelled it while it ran.
        Aborted = "aborted",
        /// The user cancelled it while it was queued.
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// No further change will come.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Pending | Self::Running => false,
            Self::Completed | Self::Failed | Self::Aborted | Self::Cancelled => true,
        }
    }
}

stored_enum! {
    /// Why a run ended (RUN-6).
    EndReason {
        /// The model answered without calling a tool.
        Completed = "completed",
        /// `runtime.max_turns` was reached.
        MaxTurns = "max_turns",
        /// Cancelled while the model was answering.
        AbortedStreaming = "aborted_streaming",
        /// Cancelled while tools were at work.
        AbortedTools = "aborted_tools",
        /// The prompt does not fit the context window and nothing is left to drop.
        PromptTooLong = "prompt_too_long",
        /// The answer was cut at the output limit again and again.
        MaxOutputTokensRecovery = "max_output_tokens_recovery",
        /// Anything else; `runs.error` has the details.
        Failed = "failed",
    }
}

impl EndReason {
    /// The run status this end leads to (RUN-6).
    #[must_use]
    pub fn status(self) -> RunStatus {
        match self {
            Self::Completed => RunStatus::Completed,
            Self::AbortedStreaming | Self::AbortedTools => RunStatus::Aborted,
            Self::MaxTurns | Self::PromptTooLong | Self::MaxOutputTokensRecovery | Self::Failed => RunStatus::Failed,
        }
    }
}

stored_enum! {
    /// How a run works (API-3).
    RunMode {
        /// One agent does the work.
        Normal = "normal",
        /// The main agent is the Orchestrator of a Task.
        Orchestrator = "orchestrator",
    }
}

stored_enum! {
    /// What kind of agent a row is (STO-2).
    AgentType {
        /// The session's own agent.
        Main = "main",
        /// The session's own agent in orchestrator mode.
        Orchestrator = "orchestrator",
        /// A child with its own context.
        Sub = "sub",
        /// A child that inherits its parent's context.
        Fork = "fork",
    }
}

stored_enum! {
    /// The part an agent plays when it asks for permission.
    AgentRole {
        /// The session's own agent.
        Main = "main",
        /// The session's own agent in orchestrator mode.
        Orchestrator = "orchestrator",
        /// A child with its own context.
        Sub = "sub",
        /// A child that inherits its parent's context.
        Fork = "fork",
        /// A child that works on steps of a Task.
        Worker = "worker",
    }
}

stored_enum! {
    /// Where an agent stands (STO-2).
    AgentStatus {
        /// No run at work.
        Idle = "idle",
        /// A run at work.
        Running = "running",
        /// Its work is done.
        Completed = "completed",
        /// Its work failed.
        Failed = "failed",
        /// Its work was cancelled.
        Cancelled = "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RUN-6: which end leads to which status.
    #[test]
    fn ends_map_to_statuses() {
        let table: Vec<_> = EndReason::ALL.iter().map(|end| (end.as_str(), end.status().as_str())).collect();
        assert_eq!(
            table,
            [
                ("completed", "completed"),
                ("max_turns", "failed"),
                ("aborted_streaming", "aborted"),
                ("aborted_tools", "aborted"),
                ("prompt_too_long", "failed"),
                ("max_output_tokens_recovery", "failed"),
                ("failed", "failed"),
            ]
        );
    }
}
