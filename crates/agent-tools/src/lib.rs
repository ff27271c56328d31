//! The tool port, the registry, and the code tools.
//!
//! A tool call has two phases. [`Tool::prepare`] only looks: it validates, resolves, opens what will be touched and
//! yields [`Facts`](agent_policy::Facts), on which somebody else decides. [`PreparedCall::run`] then does exactly what
//! was prepared, on the very files that were decided about, and refuses when they changed meanwhile.
//!
//! It is deliberately *not* a place for decisions about permission (the facts say where a write would land, they do not
//! refuse it), nor does it know models or sessions: it is handed a [`CallContext`] and settings.
//!
//! Read in this order: [`Tool`] and [`Prepared`] (the port), [`Registry`] (names, schemas, argument checks),
//! [`FnTool`] (a plain closure as a tool), [`code::code_tools`] (the six `code.*` tools).
//!
//! Unix only, as descriptors of folders are what keeps a path from being redirected between the phases.

pub mod code;
mod fn_tool;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod near;
mod overridden;
mod port;
mod reference;
mod registry;
mod schema;
#[cfg(test)]
mod testing;

pub use fn_tool::FnTool;
pub use overridden::{Overridden, ToolOverride};
pub use port::{
    ArtifactFile, ArtifactSink, CallContext, ContextNode, EffectGuard, Fence, FenceClosed, FileStamp, FileVersion,
    FileVersions, LoadedContext, NothingLoaded, Prepared, PreparedCall, ProgressSink, Tool, ToolOutput,
};
pub use reference::reference;
pub use registry::{RegisterError, Registered, Registry, SchemaRule};
pub use schema::{ArgumentError, InputSchema, SubsetViolation, check_subset, input_schema};
