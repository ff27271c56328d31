//! Tasks: steps that depend on each other, and what becomes of them. An Orchestrator makes them, its workers take their steps.
//!
//! A tool of the program reaches those of its session through `CallContext::tasks`, with the rights of the agent that calls it.

pub use agent_protocol::task::{
    Moment, NameError, Operation, PoolId, StepCounts, StepFields, StepId, StepSnapshot, StepSpec, StepStatus, TaskId,
    TaskSnapshot, TaskStatus, TaskSummary, WalName,
};
pub use agent_tasks::{Claim, Event, Payload, Step, StepContent, StepUpdate};
pub use agent_tool::{
    ListedTask, NewTask, NoTasks, SessionTasks, StepQuery, TaskChange, TaskHeader, TaskList, TaskLook, TaskQuery,
    TaskSteps, TaskWritten, UnavailableTask, WorkerScope, WrittenLine,
};
