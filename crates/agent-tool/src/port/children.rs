//! The way from a call to a child agent (AGT-*).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{
    AgentDefinition, AgentDefinitionInfo, AgentId, ArtifactId, ContentBlock, EndReason, ErrorCode, ErrorPayload,
    Object, RunId, RunStatus, Usage,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

/// Runs child agents for one call.
pub trait ChildAgents: Send + Sync {
    /// Starts a child in the session of the call and waits for its end. Cancelling the call cancels the child, and so does
    /// dropping the future.
    ///
    /// # Errors
    /// If the child was not started, with what is in the way: the agent's role, a limit. How a child that was started ended is
    /// no error here: a failed child is a [`ChildReport`] whose status says so.
    fn run(&self, task: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>>;

    /// The agent definitions that a child can be made from, by id (AGD-6).
    fn definitions(&self) -> Vec<AgentDefinitionInfo>;
}

/// What a child is to do.
#[derive(Debug, Clone)]
pub struct ChildTask {
    /// Where its conversation begins.
    pub kind: ChildKind,
    /// What it is told, in the user's place.
    pub task: Vec<ContentBlock>,
    /// Who it is; its text becomes a system block (AGD-4). Absent: the definition that the configuration names for its kind (AGT-6).
    pub definition: Option<ChildDefinition>,
    /// Only these tools, by canonical name, of those that children of its kind may have (AGT-3); absent: those that they have by
    /// default (AGT-8).
    pub allowed_tools: Option<HashSet<String>>,
    /// What its answer has to be: a JSON schema (AGT-5). Absent: any text.
    pub output_schema: Option<Object>,
    /// How long it may take; absent: as long as the configuration says.
    pub timeout: Option<Duration>,
}

/// Who a child is.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildDefinition {
    /// A definition of the registry, by id.
    Named(String),
    /// This one, which need not be registered.
    Given(Arc<AgentDefinition>),
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
    /// Its run; also the name of the stream of its events.
    pub run_id: RunId,
    /// The definition it was made from.
    pub agent_definition_id: String,
    /// Where its run stands: it has ended, or did not stop in time.
    pub status: RunStatus,
    /// Why it ended.
    pub end_reason: Option<EndReason>,
    /// The text of its answer; of a run that did not complete, what there was of it.
    pub answer: Option<String>,
    /// The JSON in its answer, where that is as the task's [`ChildTask::output_schema`] wants it.
    pub output: Option<Value>,
    /// What went wrong. Also of a run that completed: its answer is not as the schema wants it.
    pub error: Option<ErrorPayload>,
    /// Artifacts that its calls made, in their order.
    pub artifacts: Vec<ArtifactId>,
    /// Tokens of its requests.
    pub usage: Usage,
    /// Turns it took.
    pub turns: u32,
}

impl ChildReport {
    /// Whether the child did what it was asked to. Nothing else is a success: not a run that ended in any other way, and not an
    /// answer off its schema.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == RunStatus::Completed && self.error.is_none()
    }
}

/// For where no children can be had.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoChildren;

impl ChildAgents for NoChildren {
    fn run(&self, _: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>> {
        let error = ErrorPayload::new(ErrorCode::ToolNotAvailable, "child agents are not available here");
        std::future::ready(Err(error)).boxed()
    }

    fn definitions(&self) -> Vec<AgentDefinitionInfo> {
        Vec::new()
    }
}
