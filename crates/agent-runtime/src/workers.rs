//! The runs of workers in this process: which live, so that their leases are renewed (TSK-5) and they are cancelled with their Task
//! (TSK-7), and which have ended, so that their steps end with them (WRK-7).

mod reason;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::{AgentId, ChildCancelReason, RunId};
use agent_tasks::TaskId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::run_state::RunState;

/// The workers of a session, and the Tasks that are about to end.
#[derive(Clone, Default)]
pub(crate) struct Workers {
    state: Arc<Mutex<State>>,
    /// Held while a worker is chosen: who asks first chooses first, so calls of one reply choose in the model's order (RUN-11).
    pub(crate) choosing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    living: HashMap<RunId, Living>,
    /// Runs that are over for their Task, and whose steps may not have ended yet.
    ended: HashMap<RunId, EndedRun>,
    /// Workers that are at work, and with what.
    busy: HashMap<AgentId, Option<RunId>>,
    /// Tasks whose workers are being stopped, and how many calls do that.
    closing: HashMap<TaskId, usize>,
}

struct Living {
    run: WorkerRun,
    /// Why it was told to stop, if it was.
    stopped: Option<ChildCancelReason>,
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

/// A worker's run that is over for its Task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedRun {
    pub(crate) run_id: RunId,
    task_id: TaskId,
    /// Why a step that it still holds has failed.
    pub(crate) reason: String,
}

/// The runs that have to do with a Task.
pub(crate) struct AtTask {
    /// Those that live, or lived until now: nobody else takes their steps.
    pub(crate) holders: Vec<RunId>,
    /// Those that are over and may still hold a step; none while the Task itself is being ended (TSK-21).
    pub(crate) ended: Vec<EndedRun>,
}

impl Living {
    fn ended(&self) -> EndedRun {
        let WorkerRun { run_id, task_id, state, .. } = &self.run;
        let reason = reason::of(state.borrow().end.as_ref(), self.stopped);
        EndedRun { run_id: run_id.clone(), task_id: task_id.clone(), reason }
    }
}

impl State {
    /// The run is over for its Task, if it is not yet.
    fn end(&mut self, run_id: &RunId) {
        if let Some(living) = self.living.remove(run_id) {
            self.ended.insert(run_id.clone(), living.ended());
        }
    }
}

impl Workers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a run as living until the guard is dropped.
    #[must_use]
    pub(crate) fn lives(&self, run: WorkerRun) -> Lives {
        let run_id = run.run_id.clone();
        self.state().living.insert(run_id.clone(), Living { run, stopped: None });
        Lives { workers: self.clone(), run_id }
    }

    /// The living workers of a Task.
    pub(crate) fn of(&self, task_id: &TaskId) -> Vec<WorkerRun> {
        let state = self.state();
        let runs = state.living.values().map(|living| &living.run);
        let mut runs: Vec<_> = runs.filter(|run| run.task_id == *task_id).cloned().collect();
        runs.sort_unstable_by(|a, b| a.run_id.cmp(&b.run_id));
        runs
    }

    /// The run is told to stop; the first reason counts.
    pub(crate) fn stopping(&self, run_id: &RunId, reason: ChildCancelReason) {
        if let Some(living) = self.state().living.get_mut(run_id) {
            living.stopped.get_or_insert(reason);
        }
    }

    /// The run did not stop in time. For its Task it is over: whatever it still does changes nothing there.
    pub(crate) fn gave_up(&self, run_id: &RunId) {
        self.state().end(run_id);
    }

    /// Who has to do with a Task at this moment.
    pub(crate) fn at(&self, task_id: &TaskId) -> AtTask {
        let mut state = self.state();
        // Whose end was told has ended, also before its guard is dropped.
        let is_over = |living: &&Living| living.run.task_id == *task_id && living.run.state.borrow().end.is_some();
        let over: Vec<_> = state.living.values().filter(is_over).map(|living| living.run.run_id.clone()).collect();
        over.iter().for_each(|run_id| state.end(run_id));
        let living = state.living.values().map(|living| &living.run).filter(|run| run.task_id == *task_id);
        let mut ended: Vec<_> = state.ended.values().filter(|run| run.task_id == *task_id).cloned().collect();
        ended.sort_unstable_by(|a, b| a.run_id.cmp(&b.run_id));
        let holders = living.map(|run| &run.run_id).chain(ended.iter().map(|run| &run.run_id)).cloned().collect();
        if state.closing.contains_key(task_id) {
            ended.clear();
        }
        AtTask { holders, ended }
    }

    /// The run holds no step any more.
    pub(crate) fn released(&self, run_id: &RunId) {
        self.state().ended.remove(run_id);
    }

    /// No run that is over holds a step of this Task: it has ended itself.
    pub(crate) fn all_released(&self, task_id: &TaskId) {
        self.state().ended.retain(|_, run| run.task_id != *task_id);
    }

    /// Takes an idle worker until the guard is dropped; nothing if it is at work.
    pub(crate) fn take(&self, agent_id: &AgentId) -> Option<Busy> {
        match self.state().busy.entry(agent_id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                free.insert(None);
                Some(Busy { workers: self.clone(), agent_id: agent_id.clone() })
            }
        }
    }

    /// Whether a worker is at work, and with which run.
    pub(crate) fn at_work(&self, agent_id: &AgentId) -> Option<Option<RunId>> {
        self.state().busy.get(agent_id).cloned()
    }

    /// The Task that a run was sent for, as long as it lives.
    pub(crate) fn task_of(&self, run_id: &RunId) -> Option<TaskId> {
        self.state().living.get(run_id).map(|living| living.run.task_id.clone())
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
        self.workers.state().end(&self.run_id);
    }
}

/// A worker is at work.
pub(crate) struct Busy {
    workers: Workers,
    agent_id: AgentId,
}

impl Busy {
    /// With this run.
    pub(crate) fn with(&self, run_id: &RunId) {
        self.workers.state().busy.insert(self.agent_id.clone(), Some(run_id.clone()));
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.workers.state().busy.remove(&self.agent_id);
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
