//! The words every part of the agent core shares: ids, content blocks, nodes, events, model requests and replies,
//! permission requests, error codes — and the JSON Schemas generated from them.
//!
//! It is deliberately *not* a place for behaviour: nothing here does I/O, knows a provider, a database or a terminal, or
//! decides anything about a run. Names and strings are those of the contract; a type that crosses a boundary rejects
//! unknown fields (API-8), but for the payloads of events, which older builds wrote as well (EVT-5).
//!
//! Read in this order: [`ContentBlock`] (what a message is made of), [`Node`] (what a session stores),
//! [`ModelRequest`] and [`ModelEvent`] (what a provider sees and says), [`RuntimeEvent`] (what a user watches).

mod agent;
mod content;
mod contract_tools;
mod descriptor;
mod draft;
mod error;
pub mod event;
mod ids;
mod model;
mod node;
mod path_shown;
mod path_text;
mod permission;
mod run;
mod run_metadata;
mod schema;
pub mod task;
mod text_encoding;
mod time;
mod tool;

pub use agent::{
    AgentDefinition, AgentDefinitionInfo, DefinitionSource, ModelProfile, SuggestedTool, UnavailableReason, internal,
};
pub use content::{ArtifactRef, ContentBlock, JsonBlock, MAX_NAME, TextBlock, ToolCall, ToolResultBlock, bounded_name};
pub use contract_tools::{CONTRACT_TOOLS, contract_tool};
pub use descriptor::{RoleAccess, ToolDescriptor, ToolOrigin, ToolRequirement, ToolRoles};
pub use draft::{EventDraft, NodeDraft, RunPatch};
pub use error::{ErrorCode, ErrorPayload, ErrorType};
pub use event::*;
pub use ids::{AgentId, ArtifactId, EventId, IdError, NodeId, PermissionRequestId, RunId, SessionId, ToolCallId};
pub use model::{
    MAX_INVALID_ARGUMENTS_ECHO, ModelEvent, ModelFault, ModelMessage, ModelRequest, PromptBlock, Reply, StopKind,
    StopReason, SystemBlock, SystemPrompt, ToolChoice, ToolList, Usage, WireMemo,
};
pub use node::{Node, NodeType, Role};
pub use path_shown::{path_from_shown, shown_path, shown_path_with};
pub use path_text::{path_from_text, path_line, path_text, percent_encoded};
pub use permission::{DecisionKind, PermissionDecision, PermissionRequest};
pub use run::{AgentRole, AgentStatus, AgentType, EndReason, RunMode, RunStatus};
pub use run_metadata::{ChildOrigin, WorkerOrigin};
pub use schema::{Schema, boundary_schemas};
pub use text_encoding::{FromUtf16, TextEncoding};
pub use time::Timestamp;
pub use tool::{Permission, ToolClass, ToolDefinition, ToolResult};

/// A JSON object: the shape of `metadata`, `details`, tool arguments and every other open-ended field.
pub type Object = serde_json::Map<String, serde_json::Value>;
