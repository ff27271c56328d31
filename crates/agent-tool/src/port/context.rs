//! What a call is handed beside its arguments; nothing in it comes from the model (TOL-3).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_protocol::{AgentId, RunId, SessionId, ToolCallId};
use agent_redact::KnownSecrets;
use tokio_util::sync::CancellationToken;

use super::{
    artifact::ArtifactSink, children::ChildAgents, fence::Fence, loaded::LoadedContext, progress::ProgressSink,
    tasks::SessionTasks, versions::FileVersions, workers::WorkerAgents,
};

/// Who calls, and the way to everything a call may need from its run.
#[derive(Clone)]
pub struct CallContext {
    /// The session.
    pub session_id: SessionId,
    /// The agent whose model made the call.
    pub agent_id: AgentId,
    /// The run.
    pub run_id: RunId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Asks the call to stop soon, with what it has.
    pub cancel: CancellationToken,
    /// Passed right before every side effect.
    pub fence: Fence,
    /// Shows what the call is doing.
    pub progress: ProgressSink,
    /// Takes output that is too big for a result.
    pub artifacts: Arc<dyn ArtifactSink>,
    /// Knows what the agent last saw of a file.
    pub versions: Arc<dyn FileVersions>,
    /// Runs child agents.
    pub children: Arc<dyn ChildAgents>,
    /// Sends workers.
    pub workers: Arc<dyn WorkerAgents>,
    /// Knows the Tasks of the session.
    pub tasks: Arc<dyn SessionTasks>,
    /// Knows what is in the conversation because it was loaded.
    pub loaded: Arc<dyn LoadedContext>,
    /// A result bigger than this goes to an artifact, and its head stays (ART-2). Bytes.
    pub result_bytes: usize,
    /// The calls that share the room for results with this one.
    pub group: CallGroup,
    /// Takes secrets out of what commands print and of what becomes an artifact.
    pub secrets: KnownSecrets,
}

/// Calls of one reply that are at work beside each other.
#[derive(Debug, Clone, Default)]
pub struct CallGroup(Arc<AtomicUsize>);

impl CallGroup {
    /// One more is in it.
    pub fn join(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there are and were in it; at least the one that asks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.load(Ordering::Relaxed).max(1)
    }
}

impl CallContext {
    /// What a result may take of the room for results where each call of its group takes as much. Bytes.
    #[must_use]
    pub fn result_share(&self) -> usize {
        self.result_bytes / self.group.size()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("session_id", &self.session_id)
            .field("agent_id", &self.agent_id)
            .field("run_id", &self.run_id)
            .field("tool_call_id", &self.tool_call_id)
            .field("cancelled", &self.cancel.is_cancelled())
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
