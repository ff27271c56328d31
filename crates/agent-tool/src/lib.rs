//! The tool port: what a tool is to those who call it, and the registry of tools.
//!
//! A tool call has two phases. [`Tool::prepare`] only looks: it validates, resolves, opens what will be touched and
//! yields [`Facts`](agent_policy::Facts), on which somebody else decides. [`PreparedCall::run`] then does exactly what
//! was prepared, on the very files that were decided about, and refuses when they changed meanwhile.
//!
//! It is deliberately *not* a collection of tools (those of core's own for files and commands are in `agent-code`) and
//! *not* a place for decisions about permission: the facts say where a write would land, they do not refuse it. It knows
//! neither models nor sessions: a call is handed a [`CallContext`].
//!
//! Read in this order: [`Tool`] and [`Prepared`] (the port), [`ToolOutput`] (results), [`Registry`] (names, schemas,
//! argument checks), [`FnTool`] (a plain closure as a tool), [`Overridden`] (a tool with other words or limits).

mod fn_tool;
mod near;
mod overridden;
mod own;
mod port;
mod reference;
mod registry;
mod results;
mod schema;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use fn_tool::{FnTool, HandlerReply};
pub use near::near_files;
pub use overridden::{Overridden, ToolOverride};
pub use own::ToolRegistry;
pub use port::{
    ArtifactFile, ArtifactSink, CallContext, CallGroup, ChildAgents, ChildDefinition, ChildKind, ChildReport,
    ChildTask, ContextNode, Dispatch, DispatchReport, EffectGuard, Fence, FenceClosed, FileStamp, FileVersion,
    FileVersions, ListedTask, LoadedContext, NewTask, NoChildren, NoTasks, NoWorkers, NothingLoaded, Prepared,
    PreparedCall, ProgressSink, SelectionReason, SessionTasks, StepQuery, TaskChange, TaskHeader, TaskList, TaskLook,
    TaskQuery, TaskSteps, TaskWritten, Tool, ToolOutput, UnavailableTask, WorkerAgents, WorkerInfo, WorkerScope,
    WorkerStatus, WriteGuard, WrittenLine,
};
pub use reference::reference;
pub use registry::{RegisterError, Registered, Registry, describe};
pub use results::store_result;
pub use schema::{ArgumentError, InputSchema, Mismatch, OutputSchema, SubsetViolation, check_subset, input_schema};
