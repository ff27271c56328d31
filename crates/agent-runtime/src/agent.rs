//! An agent of a session as long as this process owns the session: what one of its runs leaves to the next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_engine::{Calibration, CompactMode, Compacted, CompactionPlan, Path};
use agent_protocol::{AgentId, AgentRole, AgentType, ErrorPayload, RunId, ToolCallId, ToolStarted};
use futures::future::{BoxFuture, Shared};
use tokio_util::sync::DropGuard;

use crate::cut_run::CutRun;
use crate::seen_files::SeenFiles;

/// Who asked for an agent, or for its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) agent_id: AgentId,
    pub(crate) run_id: RunId,
    /// The part it plays in that run.
    pub(crate) role: AgentRole,
}

/// What people know a child agent by (PRM-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownAs {
    /// A worker's id in its pool, else the name of the definition.
    pub(crate) name: String,
    pub(crate) definition_id: String,
}

/// One agent: the session's own, or a child.
pub(crate) struct Agent {
    pub(crate) id: AgentId,
    pub(crate) agent_type: AgentType,
    /// Nobody for the session's own agent.
    pub(crate) parent: Option<Parent>,
    /// What it has seen of files (COD-5).
    pub(crate) files: Arc<SeenFiles>,
    /// A summary of its conversation that is being made while no run has it in hand.
    pub(crate) compaction: CompactionSlot,
    carried: Mutex<Option<CarriedState>>,
}

/// What one run of an agent leaves to the next.
#[derive(Default)]
pub(crate) struct CarriedState {
    pub(crate) path: Path,
    /// What was learned about the model's token counts.
    pub(crate) calibration: Calibration,
    /// Message tokens from which on a summary is asked for ahead of need.
    pub(crate) compaction_floor: u64,
    /// The calls that the last run had begun, with what each does in a line, if any has no result; unknown for a path that was not
    /// read from the store.
    pub(crate) started: Option<HashMap<ToolCallId, Option<String>>>,
    /// Runs of children that were cut short with the process that drove them; the agent's next run is told.
    pub(crate) lost_children: Vec<LostChild>,
    /// The run before, where it was cut short; the agent's next run is told.
    pub(crate) cut_short: Option<CutRun>,
}

impl CarriedState {
    /// The begun calls that have no result.
    pub(crate) fn open_calls(&self) -> Vec<ToolStarted> {
        let Some(started) = &self.started else { return Vec::new() };
        let open = self.path.unanswered().into_iter();
        open.filter_map(|(id, tool_name)| Some(ToolStarted { tool_name, summary: started.get(&id)?.clone() })).collect()
    }
}

/// A child whose run was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostChild {
    pub(crate) agent_id: AgentId,
    pub(crate) agent_type: AgentType,
    pub(crate) is_worker: bool,
}

impl LostChild {
    /// For the model.
    pub(crate) fn in_words(&self) -> String {
        let kind = if self.is_worker { AgentRole::Worker.as_str() } else { self.agent_type.as_str() };
        format!("{} ({kind} agent)", self.agent_id)
    }
}

impl Agent {
    /// One whose next run begins with `carried`; without it the run reads from the store.
    pub(crate) fn new(
        id: AgentId,
        agent_type: AgentType,
        parent: Option<Parent>,
        files: Arc<SeenFiles>,
        carried: Option<CarriedState>,
    ) -> Self {
        let compaction = CompactionSlot::default();
        Self { id, agent_type, parent, files, compaction, carried: Mutex::new(carried) }
    }

    fn carried(&self) -> MutexGuard<'_, Option<CarriedState>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the last run left; `None` if it did not end properly and the store must be asked.
    pub(crate) fn take_carried(&self) -> Option<CarriedState> {
        self.carried().take()
    }

    pub(crate) fn carry(&self, state: CarriedState) {
        *self.carried() = Some(state);
    }
}

/// What came of asking for a summary.
pub(crate) type Made = Result<Box<Compacted>, ErrorPayload>;

/// A summary that is being made. Dropping it stops the work.
pub(crate) struct PendingCompaction {
    pub(crate) plan: CompactionPlan,
    pub(crate) done: Shared<BoxFuture<'static, Made>>,
    pub(crate) mode: CompactMode,
    /// The run that makes it.
    pub(crate) run_id: RunId,
    pub(crate) cancel: DropGuard,
}

/// Holds the one that no run has in hand.
#[derive(Default)]
pub(crate) struct CompactionSlot(Mutex<Option<PendingCompaction>>);

impl CompactionSlot {
    fn inner(&self) -> MutexGuard<'_, Option<PendingCompaction>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it over.
    pub(crate) fn take(&self) -> Option<PendingCompaction> {
        self.inner().take()
    }

    /// Leaves it for whoever comes next.
    pub(crate) fn put(&self, pending: PendingCompaction) {
        *self.inner() = Some(pending);
    }

    /// Takes it over if this run makes it.
    pub(crate) fn take_of(&self, run_id: &RunId) -> Option<PendingCompaction> {
        self.inner().take_if(|pending| pending.run_id == *run_id)
    }
}
