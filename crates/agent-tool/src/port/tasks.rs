//! The way from a call to the Tasks of its session (TSK-*).

use std::collections::BTreeSet;

use agent_protocol::{AgentId, ErrorCode, ErrorPayload, EventId};
use agent_tasks::{Event, Operation, PoolId, Step, StepId, StepSpec, StepStatus, StepUpdate, Task};
use agent_tasks::{Moment, TaskId, TaskStatus, TaskSummary, WalName};
use futures::FutureExt;
use futures::future::BoxFuture;

/// The Tasks of a session for one call. Who calls, in which role and sent for what, is known to whoever made this: no argument says it
/// (TSK-12).
pub trait SessionTasks: Send + Sync {
    /// Makes a Task (TSK-16).
    ///
    /// # Errors
    /// The contract's code, and what to do next. Nothing was made then.
    fn create(&self, new: NewTask) -> BoxFuture<'_, Result<TaskWritten, ErrorPayload>>;

    /// Changes a Task. What comes back is on disk.
    ///
    /// # Errors
    /// The contract's code, and what to do next. Nothing was changed then.
    fn change(&self, task_id: TaskId, change: TaskChange) -> BoxFuture<'_, Result<TaskWritten, ErrorPayload>>;

    /// A Task with its steps, or the first of them; also one that has ended.
    ///
    /// # Errors
    /// If there is no such Task, it cannot be read, or it is none of the caller's.
    fn get(&self, task_id: TaskId, look: TaskLook) -> BoxFuture<'_, Result<TaskSteps, ErrorPayload>>;

    /// Some steps of a Task (TSK-13). A worker sees what it may claim, and no more.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn steps(&self, task_id: TaskId, query: StepQuery) -> BoxFuture<'_, Result<TaskSteps, ErrorPayload>>;

    /// The Tasks there are (TSK-14).
    ///
    /// # Errors
    /// If the caller may not see them, or their folder cannot be read.
    fn list(&self, query: TaskQuery) -> BoxFuture<'_, Result<TaskList, ErrorPayload>>;
}

/// A Task as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The id.
    pub task_id: TaskId,
    /// The name of its log.
    pub wal_name: WalName,
    /// One line.
    pub title: String,
    /// What it is about.
    pub summary: String,
    /// Its steps.
    pub steps: Vec<StepSpec>,
}

/// What is to be done with a Task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChange {
    /// Edits it (TSK-9).
    Update(Vec<Operation>),
    /// Takes a step (TSK-18).
    Claim(StepId),
    /// Says how far a step is (TSK-19).
    UpdateStep(StepId, StepUpdate),
    /// Ends it well; with what came of it.
    Complete(Option<String>),
    /// Ends it without success; why.
    Fail(Option<String>),
    /// Gives it up; why.
    Cancel(Option<String>),
}

/// A change that is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskWritten {
    /// The Task after it.
    pub task: TaskSummary,
    /// Its log.
    pub wal_path: String,
    /// The lines that were written, those for leases that were over among them.
    pub lines: Vec<WrittenLine>,
    /// The step that it was about, after it.
    pub step: Option<Step>,
    /// Workers that were cancelled with the Task and did not stop in time.
    pub workers_left: Vec<AgentId>,
}

/// A line of a Task's log.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenLine {
    /// Its number.
    pub wal_seq: u64,
    /// Its id.
    pub event_id: EventId,
    /// What it says.
    pub event: Event,
}

/// How much of a Task is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLook {
    /// Also steps that are completed, failed or cancelled.
    pub include_terminal: bool,
    /// The most steps.
    pub limit: usize,
}

/// Which steps of a Task are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepQuery {
    /// Only in these states; empty: in any.
    pub statuses: BTreeSet<StepStatus>,
    /// Only those of this pool.
    pub worker_pool_id: Option<PoolId>,
    /// Only those that this agent holds, or held last.
    pub claimed_by_agent_id: Option<AgentId>,
    /// Also those that are completed, failed or cancelled.
    pub include_terminal: bool,
    /// The most steps.
    pub limit: usize,
    /// So many are passed over.
    pub offset: usize,
}

/// Steps of a Task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSteps {
    /// The Task.
    pub task: TaskHeader,
    /// The steps, in the order in which they were added.
    pub steps: Vec<Step>,
    /// How many there are of that kind.
    pub total: usize,
    /// A worker that holds no step found none that it may claim now (ERR-4).
    pub no_step_claimed: bool,
}

/// A Task without its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskHeader {
    /// Id, title, state, how many steps are in which state, and whether it can go on (TSK-8).
    pub task: TaskSummary,
    /// What it is about.
    pub summary: String,
    /// Its log.
    pub wal_path: String,
    /// The steps that depend on none.
    pub root_step_ids: Vec<StepId>,
    /// Steps that were changed while somebody is at work on them (TSK-11).
    pub updated_after_dispatch_step_ids: Vec<StepId>,
    /// What came of it.
    pub result_summary: Option<String>,
    /// Why it failed, was cancelled or reopened.
    pub reason: Option<String>,
    /// When it was made.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

impl From<&Task> for TaskHeader {
    fn from(task: &Task) -> Self {
        let held = StepStatus::ALL.iter().filter(|status| status.is_held());
        let changed = held.flat_map(|status| task.steps_in(*status)).filter(|step| step.changed_since_dispatch());
        let roots = task.steps().filter(|step| step.content.depends_on.is_empty());
        Self {
            task: task.summary(),
            summary: task.summary_text().to_owned(),
            wal_path: task.wal_path().to_owned(),
            root_step_ids: roots.map(|step| step.id.clone()).collect(),
            updated_after_dispatch_step_ids: changed.map(|step| step.id.clone()).collect(),
            result_summary: task.result_summary().map(str::to_owned),
            reason: task.reason().map(str::to_owned),
            created_at: task.created_at(),
            updated_at: task.updated_at(),
        }
    }
}

/// Which Tasks are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskQuery {
    /// Only in this state.
    pub status: Option<TaskStatus>,
    /// Also those that have ended.
    pub include_terminal: bool,
    /// The most Tasks.
    pub limit: usize,
    /// So many are passed over.
    pub offset: usize,
}

/// Tasks of a session: the active ones in the order in which they were made, then those that have ended, the newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskList {
    /// The Tasks.
    pub tasks: Vec<ListedTask>,
    /// Whether there are others behind them.
    pub more: bool,
    /// Logs that make no Task.
    pub unavailable: Vec<UnavailableTask>,
}

/// A Task in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTask {
    /// The Task.
    pub task: TaskSummary,
    /// Its log.
    pub wal_path: String,
    /// When it last changed.
    pub updated_at: Moment,
}

impl From<&Task> for ListedTask {
    fn from(task: &Task) -> Self {
        Self { task: task.summary(), wal_path: task.wal_path().to_owned(), updated_at: task.updated_at() }
    }
}

/// A log that makes no Task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableTask {
    /// The log.
    pub wal_path: String,
    /// Its Task, where the log still tells.
    pub task_id: Option<TaskId>,
    /// The line that is wrong.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

/// What a worker was sent for: all that its run has to do with Tasks lies in there (WRK-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerScope {
    /// The only Task that it may see.
    pub task_id: TaskId,
    /// Its pool.
    pub pool_id: PoolId,
    /// The only steps that it may see and claim; absent: all.
    pub allowed_step_ids: Option<BTreeSet<StepId>>,
}

/// For where there are no Tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTasks;

impl NoTasks {
    fn refuse<T: Send + 'static>() -> BoxFuture<'static, Result<T, ErrorPayload>> {
        let error = ErrorPayload::new(ErrorCode::ToolNotAvailable, "there are no tasks here");
        std::future::ready(Err(error)).boxed()
    }
}

impl SessionTasks for NoTasks {
    fn create(&self, _: NewTask) -> BoxFuture<'_, Result<TaskWritten, ErrorPayload>> {
        Self::refuse()
    }

    fn change(&self, _: TaskId, _: TaskChange) -> BoxFuture<'_, Result<TaskWritten, ErrorPayload>> {
        Self::refuse()
    }

    fn get(&self, _: TaskId, _: TaskLook) -> BoxFuture<'_, Result<TaskSteps, ErrorPayload>> {
        Self::refuse()
    }

    fn steps(&self, _: TaskId, _: StepQuery) -> BoxFuture<'_, Result<TaskSteps, ErrorPayload>> {
        Self::refuse()
    }

    fn list(&self, _: TaskQuery) -> BoxFuture<'_, Result<TaskList, ErrorPayload>> {
        Self::refuse()
    }
}
