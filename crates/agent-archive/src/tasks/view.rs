//! A Task as people and programs are shown it.

use agent_protocol::{AgentId, ArtifactId, RunId, Timestamp};
use agent_task_store::DispatchedStep;
use agent_tasks::{PoolId, Step, StepCounts, StepId, StepStatus, Task, TaskId, TaskStatus};
use serde::Serialize;

/// A Task with all its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskView {
    /// The id.
    pub task_id: TaskId,
    /// One line.
    pub title: String,
    /// What it is about.
    pub summary: String,
    /// The state.
    pub status: TaskStatus,
    /// Its steps, counted by state.
    pub counts: StepCounts,
    /// Nothing can go on without the Orchestrator (TSK-8).
    pub stalled: bool,
    /// It could be completed (TSK-8).
    pub completeable: bool,
    /// What came of it, once it is completed.
    pub result_summary: Option<String>,
    /// Why it failed, was cancelled or reopened.
    pub reason: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The steps, in the order in which they were added.
    pub steps: Vec<StepView>,
}

/// A step of a Task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepView {
    /// The id.
    pub step_id: StepId,
    /// One line.
    pub title: String,
    /// What is to be done.
    pub summary: String,
    /// The state.
    pub status: StepStatus,
    /// The steps that must be completed first.
    pub depends_on_step_ids: Vec<StepId>,
    /// Those of them that are not.
    pub waits_for_step_ids: Vec<StepId>,
    /// Whether the Task needs it.
    pub required: bool,
    /// The pool whose workers may claim it.
    pub worker_pool_id: Option<PoolId>,
    /// Its holder, or who held it last.
    pub claimed_by_agent_id: Option<AgentId>,
    /// The holder's run.
    pub claimed_by_run_id: Option<RunId>,
    /// When its holder loses it, as last written: a process that renews a lease does so in memory.
    pub lease_expires_at: Option<Timestamp>,
    /// It was edited while somebody was at work on it (TSK-11).
    pub changed_since_dispatch: bool,
    /// What came of it.
    pub result_summary: Option<String>,
    /// The products named as its result.
    pub artifact_ids: Vec<ArtifactId>,
    /// Why it is blocked, failed or cancelled, or was reopened.
    pub reason: Option<String>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A step that a run claimed: as it was then, and as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DispatchedStepView {
    /// What it asked for, and how it stood, right after the claim.
    pub as_dispatched: StepView,
    /// The same now; none where it was removed.
    pub now: Option<StepView>,
    /// Whether what it asks for was changed since.
    pub updated_after_dispatch: bool,
}

impl DispatchedStepView {
    pub(super) fn of(step: &DispatchedStep, shown: &impl Fn(&str) -> String) -> Self {
        Self {
            as_dispatched: StepView::alone(&step.as_dispatched, shown),
            now: step.now.as_ref().map(|now| StepView::alone(now, shown)),
            updated_after_dispatch: step.updated_after_dispatch(),
        }
    }
}

impl TaskView {
    /// `shown` is what may be shown of a text.
    pub(super) fn of(task: &Task, shown: &impl Fn(&str) -> String) -> Self {
        Self {
            task_id: task.id().clone(),
            title: shown(task.title()),
            summary: shown(task.summary_text()),
            status: task.status(),
            counts: task.counts(),
            stalled: task.is_stalled(),
            completeable: task.is_completeable(),
            result_summary: task.result_summary().map(shown),
            reason: task.reason().map(shown),
            created_at: task.created_at().into(),
            updated_at: task.updated_at().into(),
            steps: task.steps().map(|step| StepView::of(step, task, shown)).collect(),
        }
    }
}

impl StepView {
    fn of(step: &Step, task: &Task, shown: &impl Fn(&str) -> String) -> Self {
        let is_open = |id: &&StepId| task.step(id).is_none_or(|step| step.status != StepStatus::Completed);
        let waits = step.status == StepStatus::Pending;
        let waits_for = step.content.depends_on.iter().filter(|_| waits).filter(is_open);
        Self { waits_for_step_ids: waits_for.cloned().collect(), ..Self::alone(step, shown) }
    }

    /// Without the steps beside it: what it waits for is not known.
    fn alone(step: &Step, shown: &impl Fn(&str) -> String) -> Self {
        Self {
            step_id: step.id.clone(),
            title: shown(&step.content.title),
            summary: shown(&step.content.summary),
            status: step.status,
            depends_on_step_ids: step.content.depends_on.clone(),
            waits_for_step_ids: Vec::new(),
            required: step.content.required,
            worker_pool_id: step.content.worker_pool_id.clone(),
            claimed_by_agent_id: step.claim.as_ref().map(|claim| claim.agent_id.clone()),
            claimed_by_run_id: step.claim.as_ref().map(|claim| claim.run_id.clone()),
            lease_expires_at: step.lease().map(Timestamp::from),
            changed_since_dispatch: step.changed_since_dispatch(),
            result_summary: step.result_summary.as_deref().map(shown),
            artifact_ids: step.artifact_ids.clone(),
            reason: step.reason.as_deref().map(shown),
            updated_at: step.updated_at.into(),
        }
    }
}
