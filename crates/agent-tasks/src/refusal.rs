//! Why a command is refused.

use agent_protocol::task::{StepId, StepStatus, TaskId, TaskStatus};
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
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TaskTerminal { .. } => ErrorCode::TaskTerminal,
            Self::NotDispatchable(_) => ErrorCode::TaskNotDispatchable,
            Self::DependencyCycle(_) => ErrorCode::DependencyCycle,
            Self::StepNotFound { .. } => ErrorCode::StepNotFound,
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
