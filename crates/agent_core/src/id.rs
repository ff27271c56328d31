//! Ids: strings with a fixed prefix and safe characters. Each is parsed with `str::parse` and shown with `to_string`.

pub use agent_protocol::{
    AgentId, ArtifactId, EventId, IdError, NodeId, PermissionRequestId, RunId, SessionId, ToolCallId,
};
