//! What a session holds: agents, runs, the tree of its conversation, and files.

pub use agent_protocol::{
    AgentDefinition, AgentDefinitionInfo, AgentRole, AgentStatus, AgentType, DefinitionSource, Node, NodeType, Role,
    SuggestedTool, UnavailableReason,
};
pub use agent_runtime::project_name;
pub use agent_store::{AgentInfo, ArtifactInfo, Owner, RunInfo, SessionInfo, SessionStatus};
