//! What holds in a random session: after each step, when a run ends, and when all is over.

use std::collections::HashMap;

use agent_protocol::{AgentId, ContentBlock, EndReason, Node, NodeId, NodeType, Role, RunStatus, ToolCallId};

use super::session_world_testing::SessionWorld;
use crate::{Path, notes};

/// The calls that a node makes.
fn makes(node: &Node, call: &ToolCallId) -> bool {
    node.content.iter().filter_map(ContentBlock::as_tool_call).any(|known| known.tool_call_id == *call)
}

impl SessionWorld {
    /// After each step of a machine: its path is what is stored, and the user's conversation is moved by the root agent alone.
    pub(super) fn check_machine(&mut self, at: usize, active_before: Option<&NodeId>) {
        self.check_first_request(at);
        let machine = &self.machines[at];
        let store = self.store.borrow();
        if machine.child.is_some() {
            assert_eq!(store.session_active(), active_before, "{} has moved the user's conversation", machine.agent);
        }
        if machine.world.held.is_none() {
            let path = machine.world.run.path();
            let in_memory = (path.tip(), path.len() + path.omitted().nodes);
            assert_eq!(in_memory, store.tip(&machine.agent), "{}: the path is not what is stored", machine.run);
        }
    }

    /// When a run ends: its end is stored unless the store has failed, and its path is, node by node, what is stored.
    pub(super) fn check_run_end(&self, at: usize) {
        let machine = &self.machines[at];
        let store = self.store.borrow();
        let (end, status) = (machine.world.finished.unwrap(), store.status(&machine.run));
        assert!(status == end.status() || machine.world.store_failed, "{} is stored as {status:?}", machine.run);
        assert!(status == end.status() || !status.is_terminal());
        if end == EndReason::Completed {
            assert_eq!(status, RunStatus::Completed);
        }
        let stored = Path::from_nodes(store.chain(store.tip(&machine.agent).0));
        let path = machine.world.run.path();
        let mut rest = stored.nodes().iter();
        for node in path.nodes() {
            let same = rest.find(|known| known.node_id == node.node_id).expect("a node that is not stored there");
            assert_eq!(same.message, node.message);
        }
        assert_eq!(path.len() + path.omitted().nodes, stored.len());
    }

    /// When all is over.
    pub(super) fn check_end(&mut self) {
        if !self.store_gone {
            self.end_unsaid();
            assert!(self.store.borrow().unfinished().is_empty(), "a run without an end");
        }
        let store = self.store.borrow();
        store.check_timeline();
        // What a run leaves open that could not store any more is answered by the next.
        let root = self.machines.iter().find(|machine| machine.child.is_none());
        if root.is_some_and(|root| !root.world.store_failed) {
            store.check_conversation();
        }
        let mut ends: HashMap<&str, usize> = HashMap::new();
        for node in store.nodes() {
            if node.node_type == NodeType::Compaction {
                let of_root = node.agent_id == self.root;
                self.figures.summaries_of_root += usize::from(of_root);
                self.figures.summaries_of_children += usize::from(!of_root);
            }
            let [ContentBlock::ToolResult(result)] = &*node.content else { continue };
            let Some(text) = result.content.first().and_then(ContentBlock::as_text) else { continue };
            if text == notes::NOT_BEGUN {
                self.check_not_begun(node, &result.tool_call_id);
            }
            let Some((agent, answer)) = text.split_once(": ").filter(|(agent, _)| agent.starts_with("agent_c")) else {
                continue;
            };
            assert_eq!((node.role, &node.agent_id), (Role::Tool, &self.root));
            let run = &self.family[&AgentId::parse(agent).unwrap()];
            *ends.entry(agent).or_default() += 1;
            let completed = store.status(run) == RunStatus::Completed;
            assert_eq!(result.is_error, !completed, "{run} is {:?}, and its parent is told {text}", store.status(run));
            assert!(!completed || answer == store.answer(run));
        }
        assert!(ends.values().all(|times| *times == 1), "a child's end that is stored twice: {ends:?}");
    }

    /// RUN-20: what is said not to have run did not.
    fn check_not_begun(&self, result: &Node, call: &ToolCallId) {
        let chain = self.store.borrow().chain(Some(&result.node_id));
        let reply = chain.iter().rev().find(|node| makes(node, call)).expect("a result without its call");
        assert!(!self.executed[&reply.run_id].contains(call), "{call} ran");
    }
}
