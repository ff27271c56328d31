//! Logs of Tasks, made as a run of the Orchestrator makes them.

use std::cell::Cell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent_core::id::{AgentId, EventId, RunId, SessionId};
use agent_task_store::{Actor, NewTask, Stamp, TaskStore, session_folder};
use agent_tasks::{
    Actor as By, Command, Moment, PoolId, StepId, StepSpec, StepStatus, StepUpdate, TaskId, WalName, Worker,
};

use crate::support::World;

/// When the first line of a log was written, in milliseconds since 1970.
const BEGIN: u64 = 1_796_000_000_000;
/// How long a claim holds.
const LEASE: u64 = 300_000;

/// The Tasks of a session, with a clock that goes on a second a command.
pub(crate) struct Tasks {
    folder: PathBuf,
    store: TaskStore,
    now: Cell<u64>,
}

impl World {
    /// Where the Tasks of the project are.
    pub(crate) fn wal_dir(&self) -> PathBuf {
        self.home.project.join(".soong-agent/tasks")
    }

    pub(crate) fn tasks(&self, session: &str) -> Tasks {
        Tasks::open(&self.wal_dir(), session)
    }
}

impl Tasks {
    pub(crate) fn open(wal_dir: &Path, session: &str) -> Self {
        let session = SessionId::parse(session).unwrap();
        let folder = session_folder(wal_dir, &session);
        let id = || EventId::parse("evt_open").unwrap();
        let stamp = Stamp { now: Moment::from_millis(BEGIN), lease_millis: LEASE, new_event_id: &id };
        let (store, _) = TaskStore::open(&folder, ".soong-agent/tasks", &session, 20, &stamp).unwrap();
        Self { folder, store, now: Cell::new(BEGIN) }
    }

    fn stamped<T>(&mut self, work: impl FnOnce(&mut TaskStore, &Stamp<'_>) -> T) -> T {
        self.now.set(self.now.get() + 1_000);
        let now = self.now.get();
        let ids = Cell::new(0);
        let id = || {
            ids.set(ids.get() + 1);
            EventId::parse(&format!("evt_{now}_{}", ids.get())).unwrap()
        };
        work(&mut self.store, &Stamp { now: Moment::from_millis(now), lease_millis: LEASE, new_event_id: &id })
    }

    /// The clock shows this from now on.
    pub(crate) fn at(&mut self, millis: u64) -> &mut Self {
        self.now.set(millis);
        self
    }

    /// Makes a Task of steps written `id<a,b: Title`.
    #[track_caller]
    pub(crate) fn create(&mut self, id: &str, title: &str, steps: &[&str]) -> &mut Self {
        let step = |text: &&str| {
            let (head, title) = text.split_once(": ").unwrap_or((text, text));
            let (id, on) = head.split_once('<').unwrap_or((head, ""));
            let on = on.split(',').filter(|id| !id.is_empty());
            StepSpec {
                step_id: StepId::parse(id).unwrap(),
                title: title.to_owned(),
                summary: String::new(),
                depends_on_step_ids: on.map(|id| StepId::parse(id).unwrap()).collect(),
                required: true,
                worker_pool_id: None,
            }
        };
        let new = NewTask {
            task_id: TaskId::parse(id).unwrap(),
            wal_name: WalName::parse(id).unwrap(),
            title: title.to_owned(),
            summary: format!("What {id} is about"),
            steps: steps.iter().map(step).collect(),
        };
        self.stamped(|store, stamp| store.create(new, &Actor::default(), stamp)).unwrap();
        self
    }

    #[track_caller]
    pub(crate) fn does(&mut self, task: &str, command: Command) -> &mut Self {
        let task = TaskId::parse(task).unwrap();
        self.stamped(|store, stamp| store.execute(&task, &command, &Actor::default(), stamp)).unwrap();
        self
    }

    #[track_caller]
    pub(crate) fn claims(&mut self, task: &str, step: &str, agent: &str) -> &mut Self {
        let worker = Worker {
            agent_id: AgentId::parse(agent).unwrap(),
            run_id: RunId::parse(&format!("run_{step}")).unwrap(),
            pool_id: PoolId::parse("default").unwrap(),
            allowed_step_ids: None,
        };
        self.does(task, Command::Claim { worker, step_id: StepId::parse(step).unwrap() })
    }

    #[track_caller]
    pub(crate) fn sets(&mut self, task: &str, step: &str, status: StepStatus, result: &str) -> &mut Self {
        let update = StepUpdate {
            status: Some(status),
            result_summary: (!result.is_empty()).then(|| result.to_owned()),
            ..StepUpdate::default()
        };
        self.does(task, Command::UpdateStep { by: By::Orchestrator, step_id: StepId::parse(step).unwrap(), update })
    }

    #[track_caller]
    pub(crate) fn completes(&mut self, task: &str) -> &mut Self {
        self.does(task, Command::Complete { result_summary: Some("All of it is done.".to_owned()) })
    }

    /// The file of a log.
    pub(crate) fn log(&self, task: &str) -> PathBuf {
        self.folder.join(format!("{task}.wal.jsonl"))
    }

    /// The log says that it was last written at so many seconds.
    pub(crate) fn written_at(&self, task: &str, seconds: u64) {
        let log = File::options().append(true).open(self.log(task)).unwrap();
        log.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    /// A number of the log that is wrong.
    pub(crate) fn damages(&self, task: &str) {
        let text = fs::read_to_string(self.log(task)).unwrap();
        fs::write(self.log(task), text.replace("\"wal_seq\":2,", "\"wal_seq\":9,")).unwrap();
    }
}
