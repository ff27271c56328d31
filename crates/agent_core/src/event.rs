//! What happens in a run, as it happens and as it was stored.
//!
//! A [`RuntimeEvent`] carries its payload as a JSON object; [`RuntimeEvent::read`] gives it as the type of its event.

pub use agent_protocol::event::{
    CallEnd, CancelTimeout, ChildAgentCancelRequested, ChildAgentCancelTimeout, ChildAgentCancelled,
    ChildAgentCompleted, ChildAgentCreated, ChildAgentFailed, ChildCancelReason, ChildResultSchemaValidationFailed,
    ClaimSkipReason, CompactCompleted, CompactFailed, CompactMode, CompactStarted, ContextBuilt, CountLevel, CutCall,
    CutCause, CutShort, EpochPart, ErrorReported, Estimates, EventPayload, EventSchema, EventType, ExtractionReason,
    FieldError, Level, LoopAborted, LoopCompleted, LoopFailed, LoopStarted, MemoryExtractionCompleted,
    MemoryExtractionFailed, MemoryExtractionStarted, MessageCompleted, MessageCreated, MessageDelta, ModelCompleted,
    ModelFailed, ModelReasoningDelta, ModelRetry, ModelSettings, ModelStarted, ModelTextDelta, PayloadError,
    PermissionFailed, PermissionRequested, PermissionResolved, ResultKind, RunCancelled, RunDequeued, RunEnd,
    RunQueued, RuntimeEvent, SelectionReason, TaskCancelled, TaskCompleted, TaskCreated, TaskEvent, TaskFailed,
    TaskLine, TaskReopened, TaskRunning, TaskStepBlocked, TaskStepCancelled, TaskStepClaimSkipped, TaskStepClaimed,
    TaskStepCompleted, TaskStepFailed, TaskStepLeaseExpired, TaskStepReady, TaskStepReopened, TaskStepStarted,
    TaskStepUpdated, TaskUpdated, TaskWalFailed, TaskWalReplayed, ToolCallDelta, ToolCompleted, ToolDenied, ToolFailed,
    ToolProgress, ToolStarted, TornEnd, TreeUsage, WindowBudgets, WorkerDispatchFailed, WorkerDispatched, event_index,
    event_schemas,
};
pub use agent_protocol::{EventDraft, Timestamp};
pub use agent_runtime::{ChildEventsError, EventStream, StreamTaken};
