//! The machine behind a run, whichever it is.

use std::sync::Arc;

use agent_engine::{Effect, Exchange, Input, JobNo, OthersSpent, Path, PathNode, Run};
use agent_protocol::{ContentBlock, NodeId, ToolCallId, TreeUsage, Usage};

use crate::agent::PendingCompaction;

/// What decides about a run. An exchange has no path, no calls and no summary.
pub(crate) enum Machine {
    /// The loop of model and tools.
    Loop(Box<Run>),
    /// One request.
    Exchange(Box<Exchange>),
}

impl Machine {
    pub(crate) fn step(&mut self, input: Input) -> Vec<Effect> {
        match self {
            Self::Loop(run) => run.step(input),
            Self::Exchange(exchange) => exchange.step(input),
        }
    }

    fn run(&self) -> Option<&Run> {
        match self {
            Self::Loop(run) => Some(run),
            Self::Exchange(_) => None,
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.run().map(Run::path)
    }

    /// What is in the conversation because it was loaded.
    pub(crate) fn context(&self) -> Vec<&PathNode> {
        self.run().map_or_else(Vec::new, Run::context)
    }

    /// The node in front of the reply that makes this call.
    pub(crate) fn node_before(&self, call: &ToolCallId) -> Option<NodeId> {
        self.path()?.node_before_reply_with(call).cloned()
    }

    /// The text of the answer so far.
    pub(crate) fn answer(&self) -> Option<String> {
        self.run().and_then(Run::answer)
    }

    /// What the answer is made of so far.
    pub(crate) fn answer_blocks(&self) -> Option<Vec<Arc<[ContentBlock]>>> {
        self.run().and_then(Run::answer_blocks)
    }

    /// What was said so far where no answer came of it.
    pub(crate) fn said_so_far(&self) -> Option<String> {
        self.run().and_then(Run::said_so_far)
    }

    /// What it has used so far, for the sum of its tree. Of an exchange, what whoever asked for the reply will not count.
    pub(crate) fn used(&self) -> TreeUsage {
        match self {
            Self::Loop(run) => run.spent(),
            Self::Exchange(exchange) => exchange.lost(),
        }
    }

    /// Hears what others of its tree have used.
    pub(crate) fn hear_of(&mut self, others: OthersSpent) {
        if let Self::Loop(run) = self {
            run.hear_of(others);
        }
    }

    /// Tokens and turns so far.
    pub(crate) fn spent(&self) -> (Usage, u32) {
        self.run().map_or_else(Default::default, |run| (run.usage().clone(), run.turns()))
    }

    /// The job of the summary that is being made for it.
    pub(crate) fn open_compaction(&self) -> Option<JobNo> {
        self.run().and_then(|run| run.open_compaction()).map(|(job, _)| job)
    }

    /// Takes over a summary that an earlier run asked for.
    pub(crate) fn adopt(&mut self, pending: &PendingCompaction) -> Option<JobNo> {
        match self {
            Self::Loop(run) => Some(run.adopt(pending.mode, pending.plan.clone())),
            Self::Exchange(_) => None,
        }
    }
}
