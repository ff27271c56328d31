//! Tools: what a model can call, and what a program adds of its own.
//!
//! [`FnTool`] makes a tool of a closure; [`Tool`] is for those that prepare a call before it is asked for.

mod status;

pub use agent_policy::{Access, CodeFile, Command, Facts, Target, TargetKind, Withheld};
pub use agent_protocol::{
    Permission, RoleAccess, ToolCall, ToolClass, ToolDefinition, ToolRequirement, ToolResult, ToolRoles,
};
pub use agent_redact::{KnownSecrets, Redacted, SecretStream};
pub use agent_tool::{
    ArtifactFile, ArtifactSink, CallContext, CallGroup, ChildAgents, ChildDefinition, ChildKind, ChildReport,
    ChildTask, ContextNode, Dispatch, DispatchReport, EffectGuard, Fence, FenceClosed, FileStamp, FileVersion,
    FileVersions, FnTool, HandlerReply, LoadedContext, NoChildren, NoWorkers, NothingLoaded, Prepared, PreparedCall,
    ProgressSink, SelectionReason, SubsetViolation, Tool, ToolOutput, ToolRegistry, WorkerAgents, WorkerInfo,
    WorkerStatus, WriteGuard, reference,
};

pub use status::{ToolStatus, inspect};
