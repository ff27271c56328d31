//! Where a new branch may start (STO-7).

use agent_protocol::{NodeId, ToolCallId};

use crate::path::Path;

/// Why no branch can start at the end of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BranchError {
    /// The path holds a reply that never enters a prompt (RUN-8).
    #[error("node {node_id} is a reply that was broken off, kept for inspection only; switch to the node before it{}", before(.parent.as_ref()))]
    Broken {
        /// The reply.
        node_id: NodeId,
        /// The node before it.
        parent: Option<NodeId>,
    },
    /// The path ends between calls and their results (CTX-5).
    #[error(
        "the reply in node {node_id} calls tools, and on this path call {call} has no result; switch to the last result of that \
         reply, or to a node before it"
    )]
    Unanswered {
        /// The reply that makes the call.
        node_id: NodeId,
        /// The call.
        call: ToolCallId,
    },
}

fn before(parent: Option<&NodeId>) -> String {
    parent.map(|parent| format!(", {parent}")).unwrap_or_default()
}

/// Whether a user message may follow on this path, and so begin a new branch.
///
/// # Errors
/// [`BranchError`] says what is in the way, and where else to switch to.
pub fn branch_point(path: &Path) -> Result<(), BranchError> {
    if let Some(at) = path.nodes().iter().position(|node| node.broken) {
        let parent = at.checked_sub(1).map(|before| path.nodes()[before].node_id.clone());
        return Err(BranchError::Broken { node_id: path.nodes()[at].node_id.clone(), parent });
    }
    for (node_id, calls) in path.open_calls() {
        if let Some(call) = calls.first() {
            return Err(BranchError::Unanswered { node_id: node_id.clone(), call: call.tool_call_id.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_protocol::{ContentBlock, NodeDraft, NodeType, Object, Role, RunId, ToolCall, ToolResultBlock};

    /// A path from words: `user`, `text`, `calls:a,b` (a reply with calls), `result:a`, `skill`, and replies marked `partial`,
    /// `aborted`, `failed` or `whole` (a mark that is false).
    fn path(words: &str) -> Path {
        let run = RunId::parse("run_b").unwrap();
        let mut path = Path::new();
        for (n, word) in (1..).zip(words.split(' ')) {
            let (kind, ids) = word.split_once(':').unwrap_or((word, ""));
            let ids = ids.split(',').filter(|id| !id.is_empty()).map(|id| ToolCallId::parse(id).unwrap());
            let (mut metadata, mut content) = (Object::new(), vec![ContentBlock::text("words")]);
            let (role, node_type) = match kind {
                "user" => (Role::User, NodeType::Message),
                "skill" => (Role::User, NodeType::SkillContext),
                "result" => (Role::Tool, NodeType::Message),
                _ => (Role::Assistant, NodeType::Message),
            };
            match kind {
                "calls" => content.extend(ids.map(call)),
                "result" => content = ids.map(result).collect(),
                "whole" => drop(metadata.insert("partial".to_owned(), false.into())),
                "partial" | "aborted" | "failed" => {
                    metadata.insert(kind.to_owned(), true.into());
                    content.extend(ids.map(call));
                }
                _ => {}
            }
            let (node_id, parent_id) = (run.node(n), path.tip().cloned());
            path.push(&NodeDraft {
                node_id,
                parent_id,
                role,
                node_type,
                content: content.into(),
                metadata,
                token_count: 0,
            });
        }
        path
    }

    fn call(tool_call_id: ToolCallId) -> ContentBlock {
        let (arguments, metadata) = (Object::new(), Object::new());
        ContentBlock::ToolCall(ToolCall { tool_call_id, name: "look".into(), arguments, metadata })
    }

    fn result(tool_call_id: ToolCallId) -> ContentBlock {
        let metadata = Object::from_iter([("aborted".to_owned(), true.into())]);
        ContentBlock::ToolResult(ToolResultBlock {
            tool_call_id,
            is_error: true,
            content: vec![],
            error: None,
            metadata,
        })
    }

    /// STO-7, CTX-5, RUN-8: a branch starts after a whole exchange, never between a call and its result, never after a reply
    /// that was broken off.
    #[test]
    fn branches_start_after_whole_exchanges() {
        assert_eq!(branch_point(&Path::new()), Ok(()));
        for (words, what) in [
            ("user", ""),
            ("user text", ""),
            ("user text user", ""),
            ("user calls:a result:a", ""),
            ("user calls:a,b result:b result:a", ""),
            ("user calls:a result:a skill", ""),
            ("user calls:a result:a text user", ""),
            ("user whole", ""),
            ("user calls:a", "call a has no result"),
            ("user calls:a,b result:b", "call a has no result"),
            ("user calls:a,b result:a", "call b has no result"),
            ("user calls:a user", "call a has no result"),
            ("user partial", "switch to the node before it, node_b_1"),
            ("user partial:a", "switch to the node before it, node_b_1"),
            ("user text user aborted", "switch to the node before it, node_b_3"),
            ("user failed", "node node_b_2 is a reply that was broken off"),
            ("partial", "switch to the node before it"),
        ] {
            let said = branch_point(&path(words)).map_or_else(|error| error.to_string(), |()| String::new());
            assert!(said.contains(what) && said.is_empty() == what.is_empty(), "{words}: {said}");
        }
    }
}
