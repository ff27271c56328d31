//! Running: a runtime, the runs it starts, and what becomes of them.

pub(crate) mod agent;
pub(crate) mod builder;

pub use agent_protocol::{EndReason, RunMode, RunStatus};
pub use agent_runtime::{Background, CancelResult, RunHandle, RunResult, StartOptions, Unanswered, UserMessage};

pub use agent::AgentRuntime;
pub use builder::AgentRuntimeBuilder;
