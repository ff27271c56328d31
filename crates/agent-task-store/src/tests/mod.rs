//! Tasks with their logs: made, changed, lost and found again.

mod damage;
mod dispatched;
mod ends;
mod life;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use agent_protocol::{AgentId, EventId, RunId, SessionId};
use agent_tasks::{Command, Moment, StepId, StepSpec, StepStatus, StepUpdate, TaskId, WalName, Worker};

use crate::{Actor, NewTask, Recorded, Recovered, Stamp, TaskStore};

pub(crate) const LEASE: u64 = 1_000;

/// A folder of a session, with a clock and ids.
pub(crate) struct Place {
    root: tempfile::TempDir,
    pub(crate) now: Cell<u64>,
    ids: Cell<u64>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), now: Cell::new(0), ids: Cell::new(0) }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        crate::session_folder(&self.root.path().join("tasks"), &session())
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.wal.jsonl"))
    }

    pub(crate) fn stamped<T>(&self, work: impl FnOnce(&Stamp<'_>) -> T) -> T {
        let new_event_id = || {
            self.ids.set(self.ids.get() + 1);
            EventId::parse(&format!("evt_{}", self.ids.get())).unwrap()
        };
        work(&Stamp { now: Moment::from_millis(self.now.get()), lease_millis: LEASE, new_event_id: &new_event_id })
    }

    #[track_caller]
    pub(crate) fn open(&self) -> (TaskStore, Vec<Recovered>) {
        self.stamped(|stamp| TaskStore::open(&self.folder(), "tasks/sess_1", &session(), 20, stamp)).unwrap()
    }

    /// Makes a Task whose log has its id as name. Steps are written `a b<a`.
    #[track_caller]
    pub(crate) fn create(&self, store: &mut TaskStore, id: &str, steps: &str) {
        let new = new_task(id, id, steps);
        self.stamped(|stamp| store.create(new, &actor(), stamp)).unwrap();
    }

    #[track_caller]
    pub(crate) fn run(&self, store: &mut TaskStore, id: &str, command: &Command) -> Vec<Recorded> {
        self.stamped(|stamp| store.execute(&task_id(id), command, &actor(), stamp)).unwrap().recorded
    }
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("sess_1").unwrap()
}

pub(crate) fn task_id(id: &str) -> TaskId {
    TaskId::parse(id).unwrap()
}

pub(crate) fn actor() -> Actor {
    Actor { agent_id: Some(AgentId::parse("agent_root").unwrap()), run_id: Some(RunId::parse("run_1").unwrap()) }
}

pub(crate) fn new_task(id: &str, wal_name: &str, steps: &str) -> NewTask {
    let step = |text: &str| {
        let (id, on) = text.split_once('<').unwrap_or((text, ""));
        StepSpec {
            step_id: StepId::parse(id).unwrap(),
            title: format!("Step {id}"),
            summary: String::new(),
            depends_on_step_ids: on
                .split(',')
                .filter(|id| !id.is_empty())
                .map(|id| StepId::parse(id).unwrap())
                .collect(),
            required: true,
            worker_pool_id: None,
        }
    };
    NewTask {
        task_id: task_id(id),
        wal_name: WalName::parse(wal_name).unwrap(),
        title: format!("Task {id}"),
        summary: "What it is about".to_owned(),
        steps: steps.split_whitespace().map(step).collect(),
    }
}

pub(crate) fn claim(run: u32, step: &str) -> Command {
    let worker = Worker {
        agent_id: AgentId::parse("agent_w").unwrap(),
        run_id: RunId::parse(&format!("run_w{run}")).unwrap(),
        pool_id: agent_tasks::PoolId::parse("default").unwrap(),
        allowed_step_ids: None,
    };
    Command::Claim { worker, step_id: StepId::parse(step).unwrap() }
}

pub(crate) fn set(step: &str, status: StepStatus) -> Command {
    let update = StepUpdate {
        status: Some(status),
        result_summary: Some("as far as it got".to_owned()),
        ..StepUpdate::default()
    };
    Command::UpdateStep { by: agent_tasks::Actor::Orchestrator, step_id: StepId::parse(step).unwrap(), update }
}

pub(crate) fn types(recorded: &[Recorded]) -> Vec<&'static str> {
    recorded.iter().map(|recorded| recorded.event.payload.event_type().as_str()).collect()
}
