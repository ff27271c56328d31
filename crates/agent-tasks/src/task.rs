//! A Task in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use agent_protocol::task::{
    Moment, StepCounts, StepId, StepSnapshot, StepStatus, TaskId, TaskSnapshot, TaskStatus, TaskSummary,
};
use agent_protocol::{AgentId, EventType, RunId};

use crate::graph::{Graph, Slot};
use crate::step::Step;

/// What of a Task is not a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) title: Arc<str>,
    pub(crate) summary: Arc<str>,
    pub(crate) status: TaskStatus,
    pub(crate) updated_at: Moment,
    pub(crate) result_summary: Option<Arc<str>>,
    pub(crate) reason: Option<Arc<str>>,
}

/// How to take back one part of a change.
#[derive(Debug, Clone)]
enum Undo {
    /// A step was put where this one was.
    Put(Slot, Option<Arc<Step>>),
    /// A step was added in this place.
    Added(Slot),
    /// A run claimed its step.
    Claimed(RunId),
}

/// A Task: a directed acyclic graph of steps, and the state of each.
///
/// It is changed by [`Task::prepare`], which gives the events to store before the change is kept, and made again from them by
/// [`Replay`](crate::Replay). Two Tasks are equal where all that the contract knows of them is.
#[derive(Debug, Clone)]
pub struct Task {
    pub(crate) id: TaskId,
    pub(crate) wal_path: Arc<str>,
    pub(crate) created_by_agent_id: Option<AgentId>,
    pub(crate) created_by_run_id: Option<RunId>,
    pub(crate) created_at: Moment,
    pub(crate) header: Header,
    pub(crate) graph: Graph,
    /// The one step that a run has claimed, whatever came of it (WRK-6).
    pub(crate) claims: HashMap<RunId, StepId>,
    /// The lines that the last `task_updated` announces: they say once more what it has already done (WAL-8).
    pub(crate) implied: VecDeque<(EventType, Option<StepId>)>,
    /// Where a change is being prepared: how to take it back.
    undo: Option<Vec<Undo>>,
}

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        let Self { id, wal_path, created_by_agent_id, created_by_run_id, created_at, header, graph, claims, .. } = self;
        (id, wal_path, created_by_agent_id, created_by_run_id, created_at, header, graph, claims)
            == (
                &other.id,
                &other.wal_path,
                &other.created_by_agent_id,
                &other.created_by_run_id,
                &other.created_at,
                &other.header,
                &other.graph,
                &other.claims,
            )
    }
}

impl Task {
    /// A Task without steps.
    pub(crate) fn empty(task: &TaskSnapshot) -> Self {
        Self {
            id: task.task_id.clone(),
            wal_path: task.wal_path.as_str().into(),
            created_by_agent_id: task.created_by_agent_id.clone(),
            created_by_run_id: task.created_by_run_id.clone(),
            created_at: task.created_at,
            header: Header {
                title: task.title.as_str().into(),
                summary: task.summary.as_str().into(),
                status: TaskStatus::Pending,
                updated_at: task.updated_at,
                result_summary: None,
                reason: None,
            },
            graph: Graph::default(),
            claims: HashMap::new(),
            implied: VecDeque::new(),
            undo: None,
        }
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// The log file, as the service named it when the Task was made.
    #[must_use]
    pub fn wal_path(&self) -> &str {
        &self.wal_path
    }

    /// The state.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        self.header.status
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.header.title
    }

    /// What the Task is about.
    #[must_use]
    pub fn summary_text(&self) -> &str {
        &self.header.summary
    }

    /// When it last changed.
    #[must_use]
    pub fn updated_at(&self) -> Moment {
        self.header.updated_at
    }

    /// When it was made.
    #[must_use]
    pub fn created_at(&self) -> Moment {
        self.created_at
    }

    /// What came of it; only where it was completed.
    #[must_use]
    pub fn result_summary(&self) -> Option<&str> {
        self.header.result_summary.as_deref()
    }

    /// Why it failed, was cancelled or reopened.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.header.reason.as_deref()
    }

    /// A step.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        Some(self.graph.find(id)?.1)
    }

    /// All steps, in the order in which they were added.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.graph.iter().map(|(_, step)| step.as_ref())
    }

    /// The steps in one state, in the order in which they were added.
    pub fn steps_in(&self, status: StepStatus) -> impl Iterator<Item = &Step> {
        self.graph.in_status(status).iter().filter_map(|slot| self.graph.get(slot)).map(AsRef::as_ref)
    }

    /// The steps, counted by state.
    #[must_use]
    pub fn counts(&self) -> StepCounts {
        self.graph.counts()
    }

    /// The step that a run claimed, whatever came of it.
    #[must_use]
    pub fn claimed_by(&self, run_id: &RunId) -> Option<&Step> {
        self.step(self.claims.get(run_id)?)
    }

    /// When the next lease ends.
    #[must_use]
    pub fn next_lease(&self) -> Option<Moment> {
        Some(self.graph.first_lease()?.0)
    }

    /// Whether `agent.task_complete` would be accepted: there are steps, every required one is completed and nobody is at work (TSK-7).
    #[must_use]
    pub fn is_completeable(&self) -> bool {
        self.graph.len() > 0 && self.lets_complete()
    }

    /// The same of a Task with any number of steps: logs of before may have completed one without.
    pub(crate) fn lets_complete(&self) -> bool {
        let held = StepStatus::ALL.iter().filter(|status| status.is_held());
        !self.status().is_terminal()
            && self.graph.required_open() == 0
            && held.into_iter().all(|status| self.graph.in_status(*status).is_empty())
    }

    /// Whether nothing can go on without the Orchestrator: no step is ready, claimed or running, and the Task cannot be completed
    /// (TSK-8).
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        let moving = [StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
        !self.status().is_terminal()
            && !self.is_completeable()
            && moving.iter().all(|status| self.graph.in_status(*status).is_empty())
    }

    /// The Task in short.
    #[must_use]
    pub fn summary(&self) -> TaskSummary {
        TaskSummary {
            task_id: self.id.clone(),
            title: self.header.title.to_string(),
            status: self.status(),
            steps: self.counts(),
            stalled: self.is_stalled(),
            completeable: self.is_completeable(),
        }
    }

    /// The Task with all its steps.
    #[must_use]
    pub fn snapshot(&self) -> TaskSnapshot {
        TaskSnapshot {
            task_id: self.id.clone(),
            wal_path: self.wal_path.to_string(),
            title: self.header.title.to_string(),
            summary: self.header.summary.to_string(),
            status: self.status(),
            root_step_ids: self.roots().map(|step| step.id.clone()).collect(),
            steps: self.steps().map(StepSnapshot::from).collect(),
            created_by_agent_id: self.created_by_agent_id.clone(),
            created_by_run_id: self.created_by_run_id.clone(),
            created_at: self.created_at,
            updated_at: self.header.updated_at,
        }
    }

    /// The steps that depend on none.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &Step> {
        self.steps().filter(|step| step.content.depends_on.is_empty())
    }

    /// Renews the lease of the step that this run holds, in memory only: after a crash the last written lease counts (TSK-5).
    /// False where the run holds no step with a lease.
    pub fn renew_lease(&mut self, run_id: &RunId, until: Moment) -> bool {
        let Some((slot, step)) = self.claims.get(run_id).and_then(|id| self.graph.find(id)) else { return false };
        if !step.is_held_by(run_id) || step.lease().is_none() {
            return false;
        }
        let mut renewed = Step::clone(step);
        if let Some(claim) = &mut renewed.claim {
            claim.lease_expires_at = claim.lease_expires_at.max(Some(until));
        }
        self.graph.put(slot, Some(Arc::new(renewed)));
        true
    }

    /// Starts to note how changes are taken back, and gives the header to put back then.
    pub(crate) fn begin(&mut self) -> Header {
        self.undo = Some(Vec::new());
        self.header.clone()
    }

    /// Keeps what changed since [`begin`](Self::begin).
    pub(crate) fn keep(&mut self) {
        self.undo = None;
        self.implied.clear();
    }

    /// Takes back what changed since [`begin`](Self::begin).
    pub(crate) fn take_back(&mut self, header: Header) {
        for undo in self.undo.take().unwrap_or_default().into_iter().rev() {
            match undo {
                Undo::Put(slot, step) => drop(self.graph.put(slot, step)),
                Undo::Added(slot) => self.graph.pop(slot),
                Undo::Claimed(run_id) => drop(self.claims.remove(&run_id)),
            }
        }
        self.header = header;
        self.implied.clear();
    }

    /// Puts another state of a step in its place.
    pub(crate) fn put(&mut self, slot: Slot, step: Option<Step>) {
        let old = self.graph.put(slot, step.map(Arc::new));
        if let Some(undo) = &mut self.undo {
            undo.push(Undo::Put(slot, old));
        }
    }

    /// Adds a step behind all others.
    pub(crate) fn add(&mut self, step: Step) -> Slot {
        let slot = self.graph.add(step);
        if let Some(undo) = &mut self.undo {
            undo.push(Undo::Added(slot));
        }
        slot
    }

    /// Notes that a run has claimed its step.
    pub(crate) fn claimed(&mut self, run_id: &RunId, step_id: &StepId) {
        self.claims.insert(run_id.clone(), step_id.clone());
        if let Some(undo) = &mut self.undo {
            undo.push(Undo::Claimed(run_id.clone()));
        }
    }
}
