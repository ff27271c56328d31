//! Tools: what a model can call, and what a program adds of its own.
//!
//! [`FnTool`] makes a tool of a closure; [`Tool`] is for those that prepare a call before it is asked for.

mod status;

pub use agent_policy::Withheld;
pub use agent_protocol::{Permission, ToolCall, ToolClass, ToolDefinition, ToolResult};
pub use agent_tool::{
    CallContext, ContextNode, FnTool, LoadedContext, NothingLoaded, Prepared, PreparedCall, Tool, ToolOutput, reference,
};

pub use status::{ToolStatus, inspect};
