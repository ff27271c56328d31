//! What is read back.

use std::fmt;
use std::path::PathBuf;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, ArtifactId, EndReason, ErrorPayload, Node, NodeId, NodeType, Object, RunId,
    RunStatus, RuntimeEvent, SessionId, Timestamp, ToolCallId, Usage,
};
use serde::Serialize;
use serde_json::Value;

/// A session (STO-2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionInfo {
    /// Its id.
    pub session_id: SessionId,
    /// The project folder it was made for.
    pub cwd: String,
    /// The agent users talk to.
    pub root_agent_id: AgentId,
    /// The end of the active path; none before the first node.
    pub active_node_id: Option<NodeId>,
    /// The session it was forked from.
    pub parent_session_id: Option<SessionId>,
    /// Whether it is in use.
    pub status: SessionStatus,
    /// Extensions.
    pub metadata: Object,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something was last committed to it.
    pub updated_at: Timestamp,
    /// Who claimed it last. Whether that process still owns it, only its lock can tell.
    pub owner: Option<Owner>,
}

/// Whether a session is in use (STO-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// In use.
    Active,
    /// Put away; kept.
    Archived,
}

impl SessionStatus {
    /// The stored string.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }

    /// The value behind a stored string.
    #[must_use]
    pub fn from_stored(text: &str) -> Option<Self> {
        [Self::Active, Self::Archived].into_iter().find(|status| status.as_str() == text)
    }
}

/// A process that claimed a session; for messages to people (RUN-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// The machine it ran on.
    pub host: String,
    /// When it claimed the session.
    pub since: Timestamp,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// An agent (STO-2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentInfo {
    /// Its id.
    pub agent_id: AgentId,
    /// Its session.
    pub session_id: SessionId,
    /// The agent that made it; none for a root agent.
    pub parent_agent_id: Option<AgentId>,
    /// What kind of agent it is.
    pub agent_type: AgentType,
    /// The run that made it.
    pub created_by_run_id: Option<RunId>,
    /// The node a fork began at.
    pub fork_from_node_id: Option<NodeId>,
    /// The end of its active path; none before its first node. That of a root agent is its session's, too.
    pub active_node_id: Option<NodeId>,
    /// Where it stands.
    pub status: AgentStatus,
    /// What it brought back.
    pub result: Option<Value>,
    /// `purpose` and extensions.
    pub metadata: Object,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
}

/// What a run of an agent needs besides the path.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedAgent {
    /// The agent.
    pub row: AgentInfo,
    /// The last version it has seen of every file, by path.
    pub file_versions: Vec<FileVersion>,
    /// Its last request to a model; none before the first.
    pub last_context: Option<LastContext>,
}

/// The last request of an agent, as its run reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct LastContext {
    /// The newest `context_built` of the agent, in whichever of its runs.
    pub built: RuntimeEvent,
    /// The event that the same run stored next; none if there is none yet.
    pub next: Option<RuntimeEvent>,
}

/// How much of the end of a path is wanted.
#[derive(Debug, Clone, Default)]
pub struct Recent {
    /// At least so many tokens, if the path has them.
    pub tokens: u64,
    /// The results of one reply count as no more than this, however big they are: they may be shortened.
    pub results: u64,
    /// Besides, nodes of these types before that, the newest first as long as together they have no more than
    /// [`always_tokens`](Self::always_tokens); no more than 1,024.
    pub always: Vec<NodeType>,
    /// Most tokens of those.
    pub always_tokens: u64,
    /// The type of nodes that stand for the beginning of their path: for what comes before the node that their metadata
    /// names as `first_kept_node_id`. The newest one that names a node before it on this path counts, and of its type it alone
    /// is loaded, wherever it stands. `None`: all nodes are alike.
    pub summary: Option<NodeType>,
    /// Messages of the user out of what is left out before the end of the path and no summary stands for.
    pub words: Option<RecentWords>,
    /// How many nodes before the end of the path may be walked each time. Where there are more, what they hold is kept for the next
    /// time, so that a path takes no longer to read the longer it is.
    pub step: usize,
}

/// Which of the user's messages are wanted: the first, then those that are rules, oldest and newest, then the newest of the rest.
#[derive(Debug, Clone, Copy)]
pub struct RecentWords {
    /// Whether a message is a rule.
    pub is_rule: fn(&Node) -> bool,
    /// Changes whenever `is_rule` does: answers of an older one are not used.
    pub version: u32,
    /// So many of the oldest rules, and as many of the newest.
    pub rules: usize,
    /// So many of the others.
    pub others: usize,
}

/// The end of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentPath {
    /// Nodes that were left out: those covered by a summary, older summaries, and what was not asked for.
    pub omitted_nodes: usize,
    /// How many of them are replies.
    pub omitted_turns: usize,
    /// How many of `nodes` come before the first one that was left out before the end of the path and that no summary stands
    /// for.
    pub nodes_before: usize,
    /// How many of `nodes` come before the end of the path: what is always wanted, and a summary that the path has outgrown.
    pub nodes_pinned: usize,
    /// The others, root first. Of summaries that are older there is none, also where they stand in the end of the path.
    pub nodes: Vec<Node>,
    /// The messages of the user that were asked for, root first. They count as left out.
    pub earlier_words: Vec<Node>,
    /// How many further ones there are that no summary stands for.
    pub earlier_unread: usize,
}

/// A run (STO-2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunInfo {
    /// Its id.
    pub run_id: RunId,
    /// Its session.
    pub session_id: SessionId,
    /// Its agent.
    pub agent_id: AgentId,
    /// Where it stands.
    pub status: RunStatus,
    /// Its first node.
    pub start_node_id: Option<NodeId>,
    /// The last node a user may see, once it has ended.
    pub end_node_id: Option<NodeId>,
    /// Why it ended, once it has.
    pub end_reason: Option<EndReason>,
    /// Turns taken.
    pub turn_count: u32,
    /// Tokens used.
    pub usage: Usage,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
    /// Extensions.
    pub metadata: Object,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// An artifact (STO-2, ART-1).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArtifactInfo {
    /// Its id.
    pub artifact_id: ArtifactId,
    /// Its session.
    pub session_id: SessionId,
    /// The agent it comes from.
    pub agent_id: Option<AgentId>,
    /// The run it comes from.
    pub run_id: Option<RunId>,
    /// The node that refers to it.
    pub node_id: Option<NodeId>,
    /// The call that made it.
    pub tool_call_id: Option<ToolCallId>,
    /// Where its file lies.
    pub path: PathBuf,
    /// The file's name, for people.
    pub filename: String,
    /// Its media type, where known.
    pub mime_type: Option<String>,
    /// The file's size in bytes when it was finished.
    pub size_bytes: u64,
    /// What it is, in a line.
    pub summary: Option<String>,
    /// Extensions.
    pub metadata: Object,
    /// When its row was stored.
    pub created_at: Timestamp,
}

/// The last version of a file that an agent has seen (COD-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// The file, as its tool names it.
    pub path: String,
    /// The agent that has seen it.
    pub agent_id: AgentId,
    /// The hash of its content, as its tool computes it; the store compares nothing.
    pub hash: String,
    /// Whether this agent wrote that content.
    pub written: bool,
    /// When it was seen.
    pub seen_at: Timestamp,
}
