//! The runs of workers that live in this process: their leases are renewed (TSK-5), and they are cancelled with their Task (TSK-7).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::{AgentId, RunId};
use agent_tasks::TaskId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::run_state::RunState;

/// The living workers of a session, and the Tasks that are about to end.
#[derive(Clone, Default)]
pub(crate) struct Workers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    living: HashMap<RunId, WorkerRun>,
    /// Tasks whose workers are being stopped, and how many calls do that.
    closing: HashMap<TaskId, usize>,
}

/// A worker's run.
#[derive(Clone)]
pub(crate) struct WorkerRun {
    pub(crate) agent_id: AgentId,
    pub(crate) run_id: RunId,
    /// The Task that it was sent for.
    pub(crate) task_id: TaskId,
    pub(crate) cancel: CancellationToken,
    pub(crate) state: watch::Receiver<RunState>,
}

impl Workers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a run as living until the guard is dropped.
    #[must_use]
    pub(crate) fn lives(&self, run: WorkerRun) -> Lives {
        let run_id = run.run_id.clone();
        self.state().living.insert(run_id.clone(), run);
        Lives { workers: self.clone(), run_id }
    }

    /// The living workers of a Task.
    pub(crate) fn of(&self, task_id: &TaskId) -> Vec<WorkerRun> {
        let state = self.state();
        let mut runs: Vec<_> = state.living.values().filter(|run| run.task_id == *task_id).cloned().collect();
        runs.sort_unstable_by(|a, b| a.run_id.cmp(&b.run_id));
        runs
    }

    /// Keeps claims away from a Task that is about to end, until the guard is dropped. Of that nothing is stored.
    #[must_use]
    pub(crate) fn close(&self, task_id: &TaskId) -> Closing {
        *self.state().closing.entry(task_id.clone()).or_default() += 1;
        Closing { workers: self.clone(), task_id: task_id.clone() }
    }

    pub(crate) fn is_closing(&self, task_id: &TaskId) -> bool {
        self.state().closing.contains_key(task_id)
    }
}

/// A worker's run lives.
pub(crate) struct Lives {
    workers: Workers,
    run_id: RunId,
}

impl Drop for Lives {
    fn drop(&mut self) {
        self.workers.state().living.remove(&self.run_id);
    }
}

/// A Task is about to end.
pub(crate) struct Closing {
    workers: Workers,
    task_id: TaskId,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut state = self.workers.state();
        if let Some(count) = state.closing.get_mut(&self.task_id) {
            *count -= 1;
            if *count == 0 {
                state.closing.remove(&self.task_id);
            }
        }
    }
}
