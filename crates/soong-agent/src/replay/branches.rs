//! Which runs there were, and where paths go on from somewhere else than their end (STO-7).

use std::collections::HashMap;

use agent_core::id::{AgentId, NodeId, RunId};
use agent_core::session::Node;

/// What a timeline has seen of the tree so far.
#[derive(Default)]
pub(super) struct Branches {
    /// The runs, by number.
    runs: HashMap<RunId, usize>,
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
    pub(super) fn begin(&mut self, run: &RunId) -> usize {
        let number = self.runs.len() + 1;
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

    /// What is said where one begins.
    pub(super) fn words(&self, from: Option<&NodeId>) -> String {
        let from = match from {
            Some(node) => match self.run_of(node) {
                Some(number) => format!("{node}, in run {number}"),
                None => node.to_string(),
            },
            None => "nothing".to_owned(),
        };
        format!("another branch begins here: it goes on from {from}")
    }

    /// Ids of nodes are derived from that of their run.
    fn run_of(&self, node: &NodeId) -> Option<usize> {
        let stem = node.as_str().strip_prefix(NodeId::PREFIX)?.rsplit_once('_')?.0;
        self.runs.get(&RunId::parse(&format!("{}{stem}", RunId::PREFIX)).ok()?).copied()
    }
}
