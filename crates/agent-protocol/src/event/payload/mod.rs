//! What an event says, by its type: one struct writes a payload and reads it.
//!
//! What is written today stands in the structs. A field that some builds did not write is an `Option` or has a default;
//! [`older`] says what else changed. Keys that a struct does not know are passed over, so that a database of a later build
//! reads as well. Anything else that does not fit is a [`PayloadError`], never a default.

mod agent;
mod compaction;
mod context;
mod contract;
mod fields;
mod memory;
mod message;
mod model;
mod older;
mod permission;
mod run;
mod schema;
mod task;
mod tool;

#[cfg(test)]
mod tests;

pub use agent::{
    ChildAgentCancelRequested, ChildAgentCancelTimeout, ChildAgentCancelled, ChildAgentCompleted, ChildAgentCreated,
    ChildAgentFailed, ChildCancelReason, ChildResultSchemaValidationFailed, SelectionReason, WorkerDispatchFailed,
    WorkerDispatched,
};
pub use compaction::{CompactCompleted, CompactFailed, CompactMode, CompactStarted};
pub use context::{ContextBuilt, CountLevel, EpochPart, ModelSettings, WindowBudgets};
pub use contract::{EventPayload, PayloadError};
pub use fields::FieldError;
pub use memory::{ExtractionReason, MemoryExtractionCompleted, MemoryExtractionFailed, MemoryExtractionStarted};
pub use message::{MessageCompleted, MessageCreated, MessageDelta};
pub use model::{
    ModelCompleted, ModelFailed, ModelReasoningDelta, ModelRetry, ModelStarted, ModelTextDelta, ToolCallDelta,
};
pub use permission::{PermissionFailed, PermissionRequested, PermissionResolved};
pub use run::{
    CancelTimeout, CutCall, CutCause, CutShort, ErrorReported, Estimates, LoopAborted, LoopCompleted, LoopFailed,
    LoopStarted, RunCancelled, RunDequeued, RunEnd, RunQueued, TreeUsage,
};
pub use schema::{EventSchema, event_index, event_schemas};
pub use task::{
    ClaimSkipReason, TaskCancelled, TaskCompleted, TaskCreated, TaskEvent, TaskFailed, TaskLine, TaskReopened,
    TaskRunning, TaskStepBlocked, TaskStepCancelled, TaskStepClaimSkipped, TaskStepClaimed, TaskStepCompleted,
    TaskStepFailed, TaskStepLeaseExpired, TaskStepReady, TaskStepReopened, TaskStepStarted, TaskStepUpdated,
    TaskUpdated, TaskWalFailed, TaskWalReplayed, TornEnd,
};
pub use tool::{CallEnd, ResultKind, ToolCompleted, ToolDenied, ToolFailed, ToolProgress, ToolStarted};
