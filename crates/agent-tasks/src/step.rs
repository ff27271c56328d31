//! A step: what it asks for, and how far it is.

use std::sync::Arc;

use agent_protocol::task::{Moment, PoolId, StepId, StepSnapshot, StepSpec, StepStatus};
use agent_protocol::{AgentId, ArtifactId, RunId};

/// What a step asks for: all that only the Orchestrator changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepContent {
    /// One line.
    pub title: Arc<str>,
    /// What is to be done.
    pub summary: Arc<str>,
    /// The steps that must be completed first, without duplicates.
    pub depends_on: Vec<StepId>,
    /// Whether the Task needs it.
    pub required: bool,
    /// The pool whose workers may claim it; none: every pool.
    pub worker_pool_id: Option<PoolId>,
}

/// Who took a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The worker.
    pub agent_id: AgentId,
    /// Its run.
    pub run_id: RunId,
    /// When the step falls back to pending. None once the step has ended.
    pub lease_expires_at: Option<Moment>,
}

/// A step and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The id.
    pub id: StepId,
    /// What it asks for now.
    pub content: Arc<StepContent>,
    /// What it asked for when it was claimed (TSK-11). None where it was not, or was reopened.
    pub dispatched: Option<Arc<StepContent>>,
    /// The state.
    pub status: StepStatus,
    /// Its holder while it is claimed or running, and who held it last once it has ended. A step that the Orchestrator does
    /// itself has none.
    pub claim: Option<Claim>,
    /// What came of it so far.
    pub result_summary: Option<Arc<str>>,
    /// The products named as its result.
    pub artifact_ids: Vec<ArtifactId>,
    /// Why it is blocked, failed or cancelled, or was reopened.
    pub reason: Option<Arc<str>>,
    /// When it was added.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

impl Step {
    /// A new step, pending.
    pub(crate) fn new(spec: &StepSpec, at: Moment) -> Self {
        let content = StepContent {
            title: spec.title.as_str().into(),
            summary: spec.summary.as_str().into(),
            depends_on: spec.depends_on_step_ids.clone(),
            required: spec.required,
            worker_pool_id: spec.worker_pool_id.clone(),
        };
        Self::with(&spec.step_id, content, at)
    }

    /// The same from a new Task's snapshot.
    pub(crate) fn from_snapshot(snapshot: &StepSnapshot) -> Self {
        let content = StepContent {
            title: snapshot.title.as_str().into(),
            summary: snapshot.summary.as_str().into(),
            depends_on: snapshot.depends_on_step_ids.clone(),
            required: snapshot.required,
            worker_pool_id: snapshot.worker_pool_id.clone(),
        };
        Self::with(&snapshot.step_id, content, snapshot.created_at)
    }

    fn with(id: &StepId, mut content: StepContent, at: Moment) -> Self {
        dedup(&mut content.depends_on);
        Self {
            id: id.clone(),
            content: Arc::new(content),
            dispatched: None,
            status: StepStatus::Pending,
            claim: None,
            result_summary: None,
            artifact_ids: Vec::new(),
            reason: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// Whether a snapshot says what this step is, without making one.
    pub(crate) fn is_in(&self, snapshot: &StepSnapshot) -> bool {
        let StepSnapshot {
            step_id,
            title,
            summary,
            status,
            depends_on_step_ids,
            required,
            worker_pool_id,
            claimed_by_agent_id,
            claimed_by_run_id,
            lease_expires_at,
            result_summary,
            artifact_ids,
            created_at,
            updated_at,
        } = snapshot;
        let (content, claim) = (&self.content, self.claim.as_ref());
        *step_id == self.id
            && **title == *content.title
            && **summary == *content.summary
            && *status == self.status
            && *depends_on_step_ids == content.depends_on
            && *required == content.required
            && *worker_pool_id == content.worker_pool_id
            && claimed_by_agent_id.as_ref() == claim.map(|claim| &claim.agent_id)
            && claimed_by_run_id.as_ref() == claim.map(|claim| &claim.run_id)
            && *lease_expires_at == self.lease()
            && result_summary.as_deref() == self.result_summary.as_deref()
            && *artifact_ids == self.artifact_ids
            && (*created_at, *updated_at) == (self.created_at, self.updated_at)
    }

    /// Whether this run holds the step now.
    #[must_use]
    pub fn is_held_by(&self, run_id: &RunId) -> bool {
        self.status.is_held() && self.claim.as_ref().is_some_and(|claim| claim.run_id == *run_id)
    }

    /// The moment at which its holder loses it.
    #[must_use]
    pub fn lease(&self) -> Option<Moment> {
        if self.status.is_held() { self.claim.as_ref()?.lease_expires_at } else { None }
    }

    /// Whether the step was edited while somebody was at work on it.
    #[must_use]
    pub fn changed_since_dispatch(&self) -> bool {
        self.dispatched.as_ref().is_some_and(|dispatched| *dispatched != self.content)
    }
}

impl From<&Step> for StepSnapshot {
    fn from(step: &Step) -> Self {
        let claim = step.claim.as_ref();
        Self {
            step_id: step.id.clone(),
            title: step.content.title.to_string(),
            summary: step.content.summary.to_string(),
            status: step.status,
            depends_on_step_ids: step.content.depends_on.clone(),
            required: step.content.required,
            worker_pool_id: step.content.worker_pool_id.clone(),
            claimed_by_agent_id: claim.map(|claim| claim.agent_id.clone()),
            claimed_by_run_id: claim.map(|claim| claim.run_id.clone()),
            lease_expires_at: step.lease(),
            result_summary: step.result_summary.as_deref().map(str::to_owned),
            artifact_ids: step.artifact_ids.clone(),
            created_at: step.created_at,
            updated_at: step.updated_at,
        }
    }
}

/// Drops later mentions of the same id; the order of the first ones stays.
pub(crate) fn dedup(ids: &mut Vec<StepId>) {
    if ids.len() < 2 {
        return;
    }
    let mut seen = std::collections::HashSet::with_capacity(ids.len());
    ids.retain(|id| seen.insert(id.clone()));
}
