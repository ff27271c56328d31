//! The session's tree: what the model's context is built from.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::stored_enum;
use crate::{AgentId, ContentBlock, NodeId, Object, RunId, SessionId, Timestamp};

stored_enum! {
    /// Who speaks. Core's own meanings are in [`NodeType`], not here (TYP-5).
    Role {
        /// The fixed part of a request; never a node on the path.
        System = "system",
        /// The user, or core in the user's place (CTX-3).
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool's result.
        Tool = "tool",
    }
}

stored_enum! {
    /// What a node is (STO-6).
    NodeType {
        /// Something said by user, model or tool.
        Message = "message",
        /// A loaded skill.
        SkillContext = "skill_context",
        /// Recalled memories.
        MemoryContext = "memory_context",
        /// A loaded instruction file.
        InstructionContext = "instruction_context",
        /// A summary that stands for earlier nodes.
        Compaction = "compaction",
        /// What a child agent brought back.
        ChildResult = "child_result",
        /// The plan template.
        PlanInstruction = "plan_instruction",
        /// The task template.
        TaskInstruction = "task_instruction",
        /// The state of tasks.
        TaskBoard = "task_board",
        /// A note of core to the model.
        SystemNote = "system_note",
    }
}

/// One conversation item, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The session.
    pub session_id: SessionId,
    /// Place in the session, from 1, gapless (STO-3).
    pub node_seq: u64,
    /// Unique id.
    pub node_id: NodeId,
    /// The node before it on its path; none at a root.
    pub parent_id: Option<NodeId>,
    /// Whose tree it belongs to.
    pub agent_id: AgentId,
    /// The run that wrote it.
    pub run_id: RunId,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub node_type: NodeType,
    /// What is said.
    pub content: Arc<[ContentBlock]>,
    /// `synthetic`, `partial`, usage, provider extras, …
    pub metadata: Object,
    /// Estimated tokens.
    pub token_count: u64,
    /// When it was stored.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// STO-6: exactly these node types. TYP-5: roles carry none of core's meanings.
    #[test]
    fn types_and_roles() {
        let types: Vec<_> = NodeType::ALL.iter().map(|node_type| node_type.as_str()).collect();
        assert_eq!(
            types.join(" "),
            "message skill_context memory_context instruction_context compaction child_result plan_instruction \
             task_instruction task_board system_note"
        );
        let roles: Vec<_> = Role::ALL.iter().map(|role| role.as_str()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    }
}
