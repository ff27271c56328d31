//! Which runs there were, and where paths go on from somewhere else than their end (STO-7).

use std::collections::HashMap;

use agent_protocol::{AgentId, Node, NodeId, RunId};

/// What a timeline has seen of the tree so far.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// The runs, by number.
    runs: HashMap<RunId, u64>,
    /// Where each agent's path ended.
    tips: HashMap<AgentId, NodeId>,
}

/// A node that goes on from somewhere else than the end of the path before it.
pub(super) struct Branch<'p> {
    /// The node's place.
    pub(super) place: u64,
    /// What it goes on from; none where it is a root.
    pub(super) from: Option<&'p NodeId>,
}

impl Branches {
    /// The number of a run that begins.
    pub(super) fn begin(&mut self, run: &RunId) -> u64 {
        let number = self.runs.len() as u64 + 1;
        self.runs.insert(run.clone(), number);
        number
    }

    /// The branches that begin in these nodes, which follow those seen so far.
    pub(super) fn among<'p>(&mut self, nodes: &'p [Node]) -> Vec<Branch<'p>> {
        let mut branches = Vec::new();
        // What was broken off is on no path (RUN-8).
        for node in nodes.iter().filter(|node| node.metadata.get("partial").is_none_or(|partial| partial != true)) {
            let tip = self.tips.insert(node.agent_id.clone(), node.node_id.clone());
            if tip.is_some_and(|tip| node.parent_id.as_ref() != Some(&tip)) {
                branches.push(Branch { place: node.node_seq, from: node.parent_id.as_ref() });
            }
        }
        branches
    }

    /// The number of a node's run: ids of nodes are derived from that of their run.
    pub(super) fn run_of(&self, node: &NodeId) -> Option<u64> {
        let stem = node.as_str().strip_prefix(NodeId::PREFIX)?.rsplit_once('_')?.0;
        self.runs.get(&RunId::parse(&format!("{}{stem}", RunId::PREFIX)).ok()?).copied()
    }
}
