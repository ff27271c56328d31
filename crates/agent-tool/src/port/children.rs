//! The way from a call to a child agent (AGT-*).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{AgentDefinition, AgentId, ContentBlock, EndReason, ErrorCode, ErrorPayload, RunId, RunStatus};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::tasks::WorkerScope;

/// Runs child agents for one call.
pub trait ChildAgents: Send + Sync {
    /// Starts a child in the session of the call and waits for its end. Cancelling the call cancels the child, and so does
    /// dropping the future.
    ///
    /// # Errors
    /// If the child was not started, with what is in the way: the agent's role, a limit. How a child that was started ended is
    /// no error here: a failed child is a [`ChildReport`] whose status says so.
    fn run(&self, task: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>>;
}

/// What a child is to do.
#[derive(Debug, Clone)]
pub struct ChildTask {
    /// Where its conversation begins.
    pub kind: ChildKind,
    /// What it is told, in the user's place.
    pub task: Vec<ContentBlock>,
    /// Who it is; its text becomes a system block (AGD-4).
    pub definition: Option<Arc<AgentDefinition>>,
    /// Only these tools, by canonical name, of those that children of its kind may have (AGT-3); absent: those that they have by
    /// default (AGT-8).
    pub allowed_tools: Option<HashSet<String>>,
    /// It is a worker, sent for steps of a Task; only the Orchestrator has some.
    pub worker: Option<WorkerScope>,
    /// How long it may take; absent: as long as the configuration says.
    pub timeout: Option<Duration>,
}

/// Where a child's conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// With its task.
    Sub,
    /// Behind its parent's conversation, up to the reply that makes the call (AGT-2).
    Fork,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildReport {
    /// The child.
    pub agent_id: AgentId,
    /// Its run.
    pub run_id: RunId,
    /// Where its run stands: it has ended, or did not stop in time.
    pub status: RunStatus,
    /// Why it ended.
    pub end_reason: Option<EndReason>,
    /// The text of its answer; of a run that did not complete, what there was of it.
    pub answer: Option<String>,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
}

/// For where no children can be had.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoChildren;

impl ChildAgents for NoChildren {
    fn run(&self, _: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>> {
        let error = ErrorPayload::new(ErrorCode::ToolNotAvailable, "child agents are not available here");
        std::future::ready(Err(error)).boxed()
    }
}
