//! The states of Tasks and steps (TSK-3).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! statuses {
    ($(#[$doc:meta])* $name:ident { $($(#[$state_doc:meta])* $state:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$state_doc])* #[serde(rename = $text)] $state,)*
        }

        impl $name {
            /// All of them, in the contract's order.
            pub const ALL: &'static [Self] = &[$(Self::$state,)*];

            /// The contract's word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$state => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

statuses! {
    /// The state of a Task.
    TaskStatus {
        /// No step has been ready yet, or the Task was reopened.
        Pending = "pending",
        /// A step was ready, claimed or running.
        Running = "running",
        /// Stopped by the Orchestrator: nothing is dispatched or claimed.
        Blocked = "blocked",
        /// Ended: every required step is completed.
        Completed = "completed",
        /// Ended without success.
        Failed = "failed",
        /// Ended by a cancel.
        Cancelled = "cancelled",
    }
}

statuses! {
    /// The state of a step.
    StepStatus {
        /// It waits for others.
        Pending = "pending",
        /// All it depends on is completed; nobody holds it.
        Ready = "ready",
        /// A worker holds it.
        Claimed = "claimed",
        /// Its holder, or the Orchestrator, is at work on it.
        Running = "running",
        /// It cannot go on before the Orchestrator reopens it.
        Blocked = "blocked",
        /// Done. Final.
        Completed = "completed",
        /// Ended without success; the Orchestrator may reopen it.
        Failed = "failed",
        /// Given up. Final.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether the Task has ended (TSK-7: ends are final).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl StepStatus {
    /// Whether somebody is at work on it.
    #[must_use]
    pub fn is_held(self) -> bool {
        matches!(self, Self::Claimed | Self::Running)
    }

    /// Whether it has ended: completed, failed or cancelled. A failed step may be reopened.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
