//! What a run is to be, before it is started; and who starts it.

use std::collections::HashSet;
use std::sync::Arc;

use agent_engine::{CompactMode, Limits};
use agent_protocol::{
    AgentDefinition, AgentId, AgentRole, AgentType, ChildOrigin, ContentBlock, ModelRequest, NodeId, Reply, RunId,
    RunMode, RunStatus, SessionId,
};
use agent_tool::{Fence, OutputSchema, WorkerScope};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::agent::{KnownAs, Parent};
use crate::child_streams::ChildStreams;
use crate::live::{ClosedAtTheEnd, Live};
use crate::models::RunModel;
use crate::owned::OwnedSession;
use crate::queue::QueuePosition;
use crate::run_clock::RunClock;
use crate::run_context::RunContext;
use crate::run_state::{Ended, Left, RunResult, RunState};
use crate::session::Session;
use crate::spending::Spending;
use crate::workers::Busy;

/// Everything in which one run differs from another. What all have in common is [`Services`](crate::services::Services).
pub(crate) struct RunSpec {
    pub(crate) run_id: RunId,
    pub(crate) work: Work,
    pub(crate) model: Arc<RunModel>,
    pub(crate) limits: Limits,
    /// What it uses, in the sum of its tree.
    pub(crate) spending: Arc<Spending>,
    /// Ends the run.
    pub(crate) cancel: CancellationToken,
}

/// What a run is for.
pub(crate) enum Work {
    /// The user's message to the session's own agent.
    Answer { message: Vec<ContentBlock>, mode: RunMode, queue: QueuePosition<Session> },
    /// A task that a run of another agent hands to a child.
    Child(Box<ChildWork>),
    /// One request beside all conversations: the summary of an agent's older turns. Writes no nodes (DEC-92).
    Summary {
        request: Box<ModelRequest>,
        mode: CompactMode,
        /// The end of what is summarised.
        from: NodeId,
        parent: Parent,
        /// The clock of the run that waits for it, if one does.
        clock: Option<Arc<RunClock>>,
        /// Gets the reply, if there is one, once it is stored how the run ended.
        reply_to: oneshot::Sender<Reply>,
    },
}

/// A child's task.
pub(crate) struct ChildWork {
    pub(crate) agent_id: AgentId,
    pub(crate) role: AgentRole,
    pub(crate) parent: Parent,
    pub(crate) task: Vec<ContentBlock>,
    pub(crate) seed: Seed,
    pub(crate) known_as: KnownAs,
    /// Says who the child is; its text becomes a system block (AGD-4).
    pub(crate) definition: Arc<AgentDefinition>,
    /// What its answer has to be.
    pub(crate) output: Option<OutputSchema>,
    /// Of what its role may have, only these tools, by canonical name (AGT-3).
    pub(crate) allowed_tools: Option<HashSet<String>>,
    /// Lies inside the fence of the call that asks for it: what that may not change any more, the child may not either.
    pub(crate) fence: Fence,
    /// It is a worker that is sent.
    pub(crate) worker: Option<SentWorker>,
    /// Where its run stands among the others; stored with the run.
    pub(crate) origin: ChildOrigin,
    /// Its events, which end should the child never begin.
    pub(crate) stream: ClosedAtTheEnd,
    pub(crate) living: Living,
}

/// A worker that is sent.
pub(crate) struct SentWorker {
    /// What for.
    pub(crate) scope: WorkerScope,
    /// The run that sends it: what its end does to the Task is told there.
    pub(crate) sender: Arc<RunContext>,
    /// Nobody else sends it before its run is over.
    pub(crate) _busy: Busy,
}

/// A child counts as living, for its parent's run and for the session, until its run has let go of this.
pub(crate) struct Living {
    _of_run: TaskTrackerToken,
    _of_session: TaskTrackerToken,
    over: CancellationToken,
    /// Last: who waits for the end finds that it counts no more.
    _tells: DropGuard,
}

impl Living {
    pub(crate) fn new(of_run: TaskTrackerToken, of_session: TaskTrackerToken) -> Self {
        let over = CancellationToken::new();
        Self { _of_run: of_run, _of_session: of_session, over: over.clone(), _tells: over.drop_guard() }
    }

    /// Cancelled once the child counts no more.
    pub(crate) fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

/// Where a child's conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seed {
    /// With its task: a new root in its own tree.
    Fresh,
    /// Behind a node of its parent's path: all up to there is inherited (AGT-2).
    Inherited(NodeId),
}

/// The session's own agent plays the part that the run's mode gives it (WRK-1).
pub(crate) fn root_role(mode: RunMode) -> AgentRole {
    match mode {
        RunMode::Normal => AgentRole::Main,
        RunMode::Orchestrator => AgentRole::Orchestrator,
    }
}

impl ChildWork {
    /// What the store calls an agent of this role: a worker is a sub agent that lives on (STO-2).
    pub(crate) fn agent_type(&self) -> AgentType {
        match self.role {
            AgentRole::Fork => AgentType::Fork,
            AgentRole::Main | AgentRole::Orchestrator | AgentRole::Sub | AgentRole::Worker => AgentType::Sub,
        }
    }
}

/// A run that was started.
pub(crate) struct StartedRun {
    pub(crate) run_id: RunId,
    pub(crate) session_id: SessionId,
    pub(crate) agent_id: AgentId,
    pub(crate) live: Arc<Live>,
    pub(crate) child_streams: ChildStreams,
    pub(crate) clock: Arc<RunClock>,
    pub(crate) cancel: CancellationToken,
    pub(crate) state: watch::Receiver<RunState>,
}

impl StartedRun {
    /// Waits for the end; `None` if it went without saying how.
    pub(crate) async fn ended(&self) -> Option<RunResult> {
        let mut state = self.state.clone();
        let ended = state.wait_for(|state| state.end.is_some()).await.ok()?;
        ended.end.as_ref().map(Ended::result)
    }

    pub(crate) fn status(&self) -> RunStatus {
        self.state.borrow().status
    }

    /// What it left besides its result, once it has ended.
    pub(crate) fn left(&self) -> Arc<Left> {
        self.state.borrow().end.as_ref().map(|end| Arc::clone(&end.left)).unwrap_or_default()
    }

    /// Whether something that was cancelled did not stop in time, in it or in a child of it.
    pub(crate) fn left_behind(&self) -> bool {
        self.state.borrow().left_behind
    }
}

/// Starts runs: the way from a run to another one.
pub(crate) trait StartRuns: Send + Sync {
    /// Starts one. Returns at once.
    fn start(&self, session: &Arc<Session>, owned: &Arc<OwnedSession>, spec: RunSpec) -> StartedRun;
}
