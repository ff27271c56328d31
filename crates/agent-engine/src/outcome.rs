//! How a call ended, and what it leaves.

pub use agent_protocol::ResultKind;
use agent_protocol::{ContentBlock, ErrorPayload, NodeType, Object};

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// In a word.
    pub kind: ResultKind,
    /// What the model is shown.
    pub content: Vec<ContentBlock>,
    /// Set unless `kind` is `Ok`.
    pub error: Option<ErrorPayload>,
    /// Facts kept with the result.
    pub metadata: Object,
    /// One line for people.
    pub summary: Option<String>,
    /// Nodes that join the path after all results of the reply.
    pub after: Vec<AfterNode>,
}

/// A node that a call adds to the context, such as a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct AfterNode {
    /// What it is.
    pub node_type: NodeType,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// Its source.
    pub metadata: Object,
}
