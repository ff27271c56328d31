//! Why a command is refused.

use agent_protocol::task::{StepId, StepSpec, StepStatus, TaskId, TaskStatus};
use agent_protocol::{AgentId, ErrorCode};

/// Why a command was refused. Nothing has changed and nothing is to be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The Task has ended (TSK-7).
    #[error("task {task_id} is {status}; an ended task is never changed")]
    TaskTerminal {
        /// The Task.
        task_id: TaskId,
        /// How it ended.
        status: TaskStatus,
    },
    /// The state of the Task or of a step does not allow this.
    #[error("{0}")]
    NotDispatchable(String),
    /// The steps would wait for each other.
    #[error("these steps would wait for each other: {}", path(.0))]
    DependencyCycle(Vec<StepId>),
    /// There is no such step.
    #[error("there is no step {step_id} in task {task_id}")]
    StepNotFound {
        /// The Task.
        task_id: TaskId,
        /// The step.
        step_id: StepId,
    },
    /// A step is to depend on one that is not there.
    #[error(
        "`{field}`: step {step_id} is to depend on {depends_on}, and there is no step {depends_on} in task {task_id}"
    )]
    DependencyNotFound {
        /// The Task.
        task_id: TaskId,
        /// The step that is to depend on it.
        step_id: StepId,
        /// What is not there.
        depends_on: StepId,
        /// Where the command names it, such as `steps[1].depends_on_step_ids[0]`.
        field: String,
    },
    /// An operation of an update is refused.
    #[error("`operations[{at}]`: {refusal}")]
    Operation {
        /// Its place in the list.
        at: usize,
        /// Why.
        refusal: Box<Self>,
    },
    /// The step is not ready.
    #[error("step {step_id} is {status}{}", waits(.waits_for))]
    StepNotReady {
        /// The step.
        step_id: StepId,
        /// Its state.
        status: StepStatus,
        /// What it waits for.
        waits_for: Vec<StepId>,
    },
    /// Another run holds the step.
    #[error("step {step_id} is {status} by {}", holder(.agent_id.as_ref()))]
    StepAlreadyClaimed {
        /// The step.
        step_id: StepId,
        /// Its state.
        status: StepStatus,
        /// Its holder; none where the Orchestrator does it itself.
        agent_id: Option<AgentId>,
    },
    /// The run has claimed a step before (WRK-6).
    #[error("this run has claimed step {step_id}; a run claims one step at most")]
    StepAlreadyClaimedByRun {
        /// The step it claimed.
        step_id: StepId,
    },
    /// Other steps depend on the step.
    #[error("step {step_id} cannot be deleted: {} on it; remove these dependencies first", depend(.dependents))]
    StepHasDependents {
        /// The step.
        step_id: StepId,
        /// Those that depend on it.
        dependents: Vec<StepId>,
    },
    /// The actor may not do this.
    #[error("{0}")]
    PermissionDenied(String),
    /// The command itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// An event of our own does not fit the state: a bug, and nothing was changed.
    #[error("the task's state does not allow its own change; this is a bug in soong-agent: {0}")]
    Internal(String),
}

impl Refusal {
    pub(crate) fn dependency_not_found(task_id: &TaskId, step_id: &StepId, depends_on: &StepId, field: String) -> Self {
        let (task_id, step_id) = (task_id.clone(), step_id.clone());
        Self::DependencyNotFound { task_id, step_id, depends_on: depends_on.clone(), field }
    }

    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TaskTerminal { .. } => ErrorCode::TaskTerminal,
            Self::NotDispatchable(_) => ErrorCode::TaskNotDispatchable,
            Self::DependencyCycle(_) => ErrorCode::DependencyCycle,
            Self::StepNotFound { .. } | Self::DependencyNotFound { .. } => ErrorCode::StepNotFound,
            Self::Operation { refusal, .. } => refusal.code(),
            Self::StepNotReady { .. } => ErrorCode::StepNotReady,
            Self::StepAlreadyClaimed { .. } => ErrorCode::StepAlreadyClaimed,
            Self::StepAlreadyClaimedByRun { .. } => ErrorCode::StepAlreadyClaimedByRun,
            Self::StepHasDependents { .. } => ErrorCode::StepHasDependents,
            Self::PermissionDenied(_) => ErrorCode::PermissionDenied,
            Self::Invalid(_) => ErrorCode::ValidationError,
            Self::Internal(_) => ErrorCode::InternalError,
        }
    }
}

/// Where a new step names one that it depends on.
pub(crate) fn place_of(dependency: &StepId, spec: &StepSpec) -> Option<String> {
    let at = spec.depends_on_step_ids.iter().position(|id| id == dependency)?;
    Some(format!("depends_on_step_ids[{at}]"))
}

/// At most this many ids are named in a message.
const NAMED: usize = 20;

pub(crate) fn list(ids: &[StepId]) -> String {
    let mut text = ids.iter().take(NAMED).map(StepId::as_str).collect::<Vec<_>>().join(", ");
    if ids.len() > NAMED {
        text.push_str(&format!(" and {} more", ids.len() - NAMED));
    }
    text
}

fn path(ids: &[StepId]) -> String {
    let mut text = ids.iter().take(NAMED).map(StepId::as_str).collect::<Vec<_>>().join(" -> ");
    if let Some(last) = ids.last().filter(|_| ids.len() > NAMED) {
        text.push_str(&format!(" -> … ({} more) -> {last}", ids.len() - NAMED - 1));
    }
    text
}

fn waits(ids: &[StepId]) -> String {
    if ids.is_empty() { String::new() } else { format!("; it waits for {}", list(ids)) }
}

fn holder(agent_id: Option<&AgentId>) -> String {
    agent_id.map_or_else(|| "the Orchestrator".to_owned(), |id| format!("worker {id}"))
}

fn depend(ids: &[StepId]) -> String {
    format!("{} {}", list(ids), if ids.len() == 1 { "depends" } else { "depend" })
}
