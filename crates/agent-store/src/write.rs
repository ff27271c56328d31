//! What goes into the store.

use std::sync::Arc;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, ArtifactId, EventDraft, Node, NodeDraft, NodeId, Object, RunId, RunPatch,
    RunStatus, RuntimeEvent, SessionId, ToolCallId,
};
use serde_json::Value;

use crate::hash::ContentHash;

/// A session to be made, with its root agent.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Its id.
    pub session_id: SessionId,
    /// The project folder it is made for.
    pub cwd: String,
    /// The id of its root agent.
    pub root_agent_id: AgentId,
    /// What kind of agent that is.
    pub agent_type: AgentType,
    /// Extensions.
    pub metadata: Object,
}

/// Writes that take place together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The agent whose nodes, events and artifacts these are.
    pub agent_id: AgentId,
    /// The run they belong to; it exists already or is one of the writes.
    pub run_id: RunId,
    /// Done in this order.
    pub writes: Vec<Write>,
}

/// One thing to be stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A new agent of this session.
    Agent(NewAgent),
    /// An agent's state changes.
    AgentStatus {
        /// The agent.
        agent_id: AgentId,
        /// Where it stands now.
        status: AgentStatus,
        /// What it brought back; `None` leaves what is stored.
        result: Option<Value>,
    },
    /// A new run of this session.
    Run(NewRun),
    /// The commit's run changes.
    RunPatch(RunPatch),
    /// A new node. Its parent is stored already, or stands before it in the same commit.
    Node(NodeDraft),
    /// A new event.
    Event(EventDraft),
    /// The active path of the commit's agent ends at this node now; if that is the session's root agent, the session's path,
    /// too. The node is of the agent's own tree, or the one it was forked from.
    Activate(NodeId),
    /// A finished file of [`crate::ArtifactWriter`].
    Artifact(NewArtifact),
    /// Bytes under their hash; stored once per session (STO-13).
    Blob {
        /// The hash of the bytes.
        hash: ContentHash,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// The commit's agent has seen this version of a file (COD-5); it takes the place of an earlier one.
    FileVersion {
        /// The file, as its tool names it.
        path: String,
        /// The hash of its content, as its tool computes it.
        hash: String,
        /// Whether the agent wrote that content. What it wrote stays written by it when it sees it again.
        written: bool,
    },
}

/// An agent to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAgent {
    /// Its id.
    pub agent_id: AgentId,
    /// The agent that makes it.
    pub parent_agent_id: Option<AgentId>,
    /// What kind of agent it is.
    pub agent_type: AgentType,
    /// The run that makes it.
    pub created_by_run_id: Option<RunId>,
    /// The node a fork begins at.
    pub fork_from_node_id: Option<NodeId>,
    /// Where it stands.
    pub status: AgentStatus,
    /// `purpose` and extensions.
    pub metadata: Object,
}

/// A run to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its id.
    pub run_id: RunId,
    /// Its agent, of this session.
    pub agent_id: AgentId,
    /// Where it stands.
    pub status: RunStatus,
    /// Its first node, which may be stored later.
    pub start_node_id: Option<NodeId>,
    /// Extensions.
    pub metadata: Object,
}

/// The row of an artifact whose file is finished; made by [`crate::ArtifactFile::finish`] (file first, then row: ART-1).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewArtifact {
    /// Its id.
    pub artifact_id: ArtifactId,
    /// The file's name, already safe.
    pub filename: String,
    /// The file's size in bytes.
    pub size_bytes: u64,
    /// The node that refers to it.
    pub node_id: Option<NodeId>,
    /// The call that made it.
    pub tool_call_id: Option<ToolCallId>,
    /// Its media type, where known.
    pub mime_type: Option<String>,
    /// What it is, in a line.
    pub summary: Option<String>,
    /// Extensions.
    pub metadata: Object,
}

/// What a commit has become: its nodes and events with their places and time, each in the order they were given.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The events.
    pub events: Vec<RuntimeEvent>,
}
