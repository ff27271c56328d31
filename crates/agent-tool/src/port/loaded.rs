//! What a call may bring into the context, and what is there already (SKL-2, SKL-3).

use agent_protocol::{ContentBlock, NodeType, Object};

/// Knows what stands in the conversation because it was loaded: skills, memories, instruction files.
pub trait LoadedContext: Send + Sync {
    /// Whether this very thing, with this content, is in the requests of this run at the moment.
    fn has(&self, node_type: NodeType, key: &str, hash: &str) -> bool;
}

/// Nothing is loaded.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingLoaded;

impl LoadedContext for NothingLoaded {
    fn has(&self, _: NodeType, _: &str, _: &str) -> bool {
        false
    }
}

/// A node that joins the conversation after the results of the reply that made the call.
///
/// Only core's own tools can add one: of others' outputs it is ignored, since it would speak in core's name.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextNode {
    /// What it is.
    pub node_type: NodeType,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// Its source.
    pub metadata: Object,
}
