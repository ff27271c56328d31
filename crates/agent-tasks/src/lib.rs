//! Tasks: a directed acyclic graph of steps that several agents work on, as a pure state machine.
//!
//! [`Task::prepare`] takes a [`Command`] and gives a [`Change`]: the [`Event`]s to store, with the Task already as it will be. Once
//! they are stored, [`Change::commit`] keeps it; a change that is dropped is taken back. [`Replay`] makes the same Task from the
//! lines of its log. Both ways go through one function, so that what is in memory is what the log says (WAL-5).
//!
//! There is no file, no clock, no lock and no tool in here: whoever drives it stores the lines, hands in the time and knows who the
//! actor is. It is deliberately *not* a scheduler: nothing is dispatched, and a Task never ends by itself.
//!
//! Read in this order: [`StepStatus`] and [`TaskStatus`], [`Command`], [`Payload`] (the events), [`Task`], [`Line`]; [`board()`] is what
//! a model is shown of them.
//!
//! ```
//! use agent_tasks::{Command, Context, Moment, NewTask, StepId, StepSpec, Task, TaskId, TaskStatus};
//!
//! let step: StepSpec = serde_json::from_str(r#"{"step_id": "tests", "title": "Write the tests"}"#)?;
//! let new = NewTask {
//!     task_id: TaskId::parse("parser")?,
//!     wal_path: "parser.wal.jsonl".to_owned(),
//!     title: "A new parser".to_owned(),
//!     summary: String::new(),
//!     steps: vec![step],
//!     agent_id: None,
//!     run_id: None,
//! };
//! let now = Moment::from_millis(0);
//! let (mut task, events) = Task::create(&new, now)?;
//! assert_eq!(events.len(), 3); // task_created, task_step_ready, task_running
//!
//! let context = Context { now, lease_millis: 300_000 };
//! let change = task.prepare(&Command::Fail { reason: None }, &context)?;
//! drop(change); // not stored, so not kept
//! assert_eq!(task.status(), TaskStatus::Running);
//! assert!(task.step(&StepId::parse("tests")?).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod board;
mod command;
mod edit;
mod event;
mod graph;
mod limits;
mod line;
mod prepare;
mod refusal;
mod replay;
mod step;
mod task;

#[cfg(test)]
mod tests;

pub use agent_protocol::task::{
    MAX_NAME_LEN, Moment, NameError, Operation, PoolId, StepCounts, StepFields, StepId, StepSnapshot, StepSpec,
    StepStatus, TaskId, TaskSnapshot, TaskStatus, TaskSummary, WalName,
};
pub use agent_protocol::{
    TaskCancelled, TaskCompleted, TaskCreated, TaskFailed, TaskReopened, TaskRunning, TaskStepBlocked,
    TaskStepCancelled, TaskStepClaimed, TaskStepCompleted, TaskStepFailed, TaskStepLeaseExpired, TaskStepReady,
    TaskStepReopened, TaskStepStarted, TaskStepUpdated, TaskUpdated,
};
pub use apply::{Misfit, REASON_TASK_CANCELLED, REASON_TASK_FAILED};
pub use board::{BoardRules, Reader, RecentChange, RecentChanges, board};
pub use command::{Actor, Command, Context, StepUpdate, Worker};
pub use event::{Event, Payload};
pub use limits::{MAX_ARTIFACTS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_STEPS, MAX_TEXT_BYTES, MAX_TITLE_CHARS};
pub use line::{Line, LineError};
pub use prepare::{Change, NewTask, REASON_TASK_COMPLETED};
pub use refusal::Refusal;
pub use replay::{Replay, ReplayError, ReplayFault};
pub use step::{Claim, Step, StepContent};
pub use task::Task;

use serde::{Deserialize, Deserializer};

/// A field that must be there and may be `null`.
fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
