//! The active Tasks of a session.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use agent_journal::{JournalError, Torn};
use agent_protocol::{RunId, SessionId};
use agent_tasks::{Command, Moment, Payload, RecentChanges, StepSpec, Task, TaskId, TaskStatus, WalName};

use crate::error::TaskError;
use crate::folder;
use crate::log::{Actor, OpenError, OpenedLog, Recorded, Stamp, TaskLog};

/// The active Tasks of one session, for its owner.
pub struct TaskStore {
    session_id: SessionId,
    folder: PathBuf,
    /// What the folder is called in a Task's `wal_path`.
    shown_folder: String,
    active: BTreeMap<TaskId, TaskLog>,
    unavailable: BTreeMap<WalName, Unavailable>,
    recent: RecentChanges,
}

impl fmt::Debug for TaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskStore")
            .field("session_id", &self.session_id)
            .field("folder", &self.folder)
            .field("active", &self.active.keys())
            .field("unavailable", &self.unavailable)
            .finish()
    }
}

/// A log that makes no Task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// Its Task, where the log still tells.
    pub task_id: Option<TaskId>,
    /// One word for programs: `line`, `sequence`, `beginning`, `other`, `misfit`, `locked`, `file` or `empty`.
    pub kind: &'static str,
    /// The line that is wrong, counted from 1.
    pub line: Option<u64>,
    /// What is wrong.
    pub why: String,
}

/// What became of a log at recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The log.
    pub path: PathBuf,
    /// What became of it.
    pub recovery: Recovery,
}

/// What became of a log at recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// Its Task is active again.
    Replayed {
        /// The Task.
        task_id: TaskId,
        /// How many lines it had.
        lines: u64,
        /// What a crash had left of a last line.
        torn: Option<Torn>,
        /// What a crash had kept from being written, and leases that were over.
        settled: Vec<Recorded>,
    },
    /// It makes no Task.
    Failed(Unavailable),
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

/// A Task that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Its log, as its snapshot names it.
    pub wal_path: String,
    /// Its first lines.
    pub recorded: Vec<Recorded>,
}

/// A command that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// Its lines, and before them those of leases that were over.
    pub recorded: Vec<Recorded>,
    /// The Task, where this ended it: it is in memory no longer.
    pub ended: Option<Task>,
}

impl TaskStore {
    /// Takes up the Tasks of a session that have not ended.
    ///
    /// `shown_folder` is what the session's folder is called where people and models read it. So many of the last changes are kept in
    /// memory.
    ///
    /// # Errors
    /// [`TaskError::Io`] where the folder cannot be read. A log that cannot be used is told in what comes back, and harms no other.
    pub fn open(
        folder: &Path,
        shown_folder: &str,
        session_id: &SessionId,
        recent_changes: usize,
        stamp: &Stamp<'_>,
    ) -> Result<(Self, Vec<Recovered>), TaskError> {
        let mut store = Self {
            session_id: session_id.clone(),
            folder: folder.to_owned(),
            shown_folder: shown_folder.to_owned(),
            active: BTreeMap::new(),
            unavailable: BTreeMap::new(),
            recent: RecentChanges::new(recent_changes),
        };
        let mut recovered = Vec::new();
        // Where it cannot be seen that a Task has ended, all of its log is read.
        let open = folder::logs(folder)?.into_iter().filter(|log| end_of(&log.path).is_none());
        let mut logs: Vec<_> = open.map(|log| (beginning(&log.path).map(|it| it.created_at), log)).collect();
        // In the order in which they were made, so that of two with one id it is always the same that is the Task.
        logs.sort_by(|(one, a), (other, b)| (one.is_none(), one, &a.name).cmp(&(other.is_none(), other, &b.name)));
        for (_, log) in logs {
            match store.take_up(&log.path, stamp) {
                Ok(None) => {}
                Ok(Some(recovery)) => recovered.push(Recovered { path: log.path, recovery }),
                Err(unavailable) => {
                    store.unavailable.insert(log.name, unavailable.clone());
                    recovered.push(Recovered { path: log.path, recovery: Recovery::Failed(unavailable) });
                }
            }
        }
        Ok((store, recovered))
    }

    /// None where its Task has ended.
    fn take_up(&mut self, path: &Path, stamp: &Stamp<'_>) -> Result<Option<Recovery>, Unavailable> {
        let opened = TaskLog::open(path, &self.session_id, self.recent.empty());
        let OpenedLog { mut log, torn, recent } = opened.map_err(|error| failed(path, &error))?;
        if log.task.status().is_terminal() {
            return Ok(None);
        }
        let (task_id, lines) = (log.task.id().clone(), log.lines());
        let unavailable = |kind, why| Unavailable { task_id: Some(task_id.clone()), kind, line: None, why };
        if let Some(other) = self.active.get(&task_id) {
            let why = format!("{} has the same task_id", other.path().display());
            return Err(unavailable("other", why));
        }
        let settled = log.execute(&Command::Settle, &Actor::default(), stamp);
        let settled = settled.map_err(|error| unavailable("file", error.to_string()))?;
        self.recent.add(recent);
        self.recent.note(&task_id, settled.iter().map(|line| &line.event));
        self.active.insert(task_id.clone(), log);
        Ok(Some(Recovery::Replayed { task_id, lines, torn, settled }))
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The folder of the session's logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a log of the session is called where people and models read it.
    #[must_use]
    pub fn shown(&self, name: &WalName) -> String {
        format!("{}/{name}{}", self.shown_folder, folder::EXTENSION)
    }

    /// What a file in the folder of the session's logs is called.
    #[must_use]
    pub fn shown_file(&self, path: &Path) -> String {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        format!("{}/{name}", self.shown_folder)
    }

    /// The active Tasks, by id.
    pub fn active(&self) -> impl Iterator<Item = &Task> {
        self.active.values().map(|log| &log.task)
    }

    /// An active Task.
    #[must_use]
    pub fn task(&self, task_id: &TaskId) -> Option<&Task> {
        Some(&self.active.get(task_id)?.task)
    }

    /// The logs that make no Task, by name.
    pub fn unavailable(&self) -> impl Iterator<Item = (&WalName, &Unavailable)> {
        self.unavailable.iter()
    }

    /// The files of active Tasks.
    pub fn active_files(&self) -> impl Iterator<Item = &Path> {
        self.active.values().map(TaskLog::path)
    }

    /// Makes a Task (TSK-16).
    ///
    /// # Errors
    /// [`TaskError`]; there is no Task then.
    pub fn create(&mut self, new: NewTask, actor: &Actor, stamp: &Stamp<'_>) -> Result<Created, TaskError> {
        if self.active.contains_key(&new.task_id) {
            return Err(TaskError::Exists(new.task_id));
        }
        // Once its log can be read again there would be two.
        if let Some(log) = self.unavailable.values().find(|log| log.task_id.as_ref() == Some(&new.task_id)) {
            return Err(TaskError::Unavailable { task_id: new.task_id, why: log.why.clone() });
        }
        let wal_path = self.shown(&new.wal_name);
        let path = folder::path_of(&self.folder, &new.wal_name);
        let asked = agent_tasks::NewTask {
            task_id: new.task_id.clone(),
            wal_path: wal_path.clone(),
            title: new.title,
            summary: new.summary,
            steps: new.steps,
            agent_id: actor.agent_id.clone(),
            run_id: actor.run_id.clone(),
        };
        let (task, events) = Task::create(&asked, stamp.now)?;
        folder::make(&self.folder)?;
        let made = TaskLog::create(&path, &self.session_id, task, events, actor, stamp);
        let (log, recorded) = made.map_err(|source| match source {
            JournalError::Exists(_) => TaskError::LogExists(PathBuf::from(&wal_path)),
            source => TaskError::Log { task_id: new.task_id.clone(), source },
        })?;
        self.recent.note(&new.task_id, recorded.iter().map(|line| &line.event));
        self.active.insert(new.task_id, log);
        Ok(Created { wal_path, recorded })
    }

    /// Does something with a Task. Leases that are over end first (TSK-13); what that wrote comes first in the result.
    ///
    /// # Errors
    /// [`TaskError`]; the command had no effect then.
    pub fn execute(
        &mut self,
        task_id: &TaskId,
        command: &Command,
        actor: &Actor,
        stamp: &Stamp<'_>,
    ) -> Result<Executed, TaskError> {
        let mut recorded = self.settle(task_id, stamp)?;
        let log = self.log(task_id)?;
        let done = log.execute(command, actor, stamp)?;
        let has_ended = log.task.status().is_terminal();
        self.recent.note(task_id, done.iter().map(|line| &line.event));
        recorded.extend(done);
        let ended = if has_ended { self.active.remove(task_id).map(|log| log.task) } else { None };
        Ok(Executed { recorded, ended })
    }

    /// Ends the leases of a Task that are over.
    ///
    /// # Errors
    /// [`TaskError`]; they are still there then.
    pub fn settle(&mut self, task_id: &TaskId, stamp: &Stamp<'_>) -> Result<Vec<Recorded>, TaskError> {
        let log = self.log(task_id)?;
        if log.task.next_lease().is_none_or(|lease| lease > stamp.now) {
            return Ok(Vec::new());
        }
        let settled = log.execute(&Command::Settle, &Actor::default(), stamp)?;
        self.recent.note(task_id, settled.iter().map(|line| &line.event));
        Ok(settled)
    }

    /// Whether the log of an active Task is still the one that is written. What is in memory is not to be shown where it is not: nobody
    /// will find it again.
    ///
    /// # Errors
    /// [`TaskError::Unavailable`] where it is gone or somebody else changed it; there is no active Task of this id.
    pub fn check_log(&mut self, task_id: &TaskId) -> Result<(), TaskError> {
        self.log(task_id)?.is_in_place()
    }

    /// The last changes, those of Tasks that have ended since among them.
    #[must_use]
    pub fn recent(&self) -> &RecentChanges {
        &self.recent
    }

    /// Renews the lease of the step that a run holds, in memory only (TSK-5). False where it holds none.
    pub fn renew_lease(&mut self, task_id: &TaskId, run_id: &RunId, until: Moment) -> bool {
        self.active.get_mut(task_id).is_some_and(|log| log.task.renew_lease(run_id, until))
    }

    fn log(&mut self, task_id: &TaskId) -> Result<&mut TaskLog, TaskError> {
        let unavailable = self.unavailable.values().find(|log| log.task_id.as_ref() == Some(task_id));
        match (self.active.get_mut(task_id), unavailable) {
            (Some(log), _) => Ok(log),
            (None, Some(log)) => Err(TaskError::Unavailable { task_id: task_id.clone(), why: log.why.clone() }),
            (None, None) => Err(TaskError::NotFound(task_id.clone())),
        }
    }
}

fn failed(path: &Path, error: &OpenError) -> Unavailable {
    let (kind, line) = error.details();
    Unavailable { task_id: beginning(path).map(|it| it.task_id), kind, line, why: error.to_string() }
}

/// What a log's first line says, whatever comes after it.
pub(crate) struct Beginning {
    pub(crate) task_id: TaskId,
    /// When the Task was made, as it stands there: such texts are in order as their times are.
    pub(crate) created_at: String,
}

pub(crate) fn beginning(path: &Path) -> Option<Beginning> {
    let mut beginning = None;
    // One line is enough: the second one ends the reading.
    let _ = agent_journal::read(path, |line| {
        if beginning.is_some() {
            return Err(());
        }
        let line: serde_json::Value = serde_json::from_str(line).map_err(drop)?;
        let text = |field: &str| line.get(field)?.as_str();
        let task_id = text("task_id").and_then(|id| TaskId::parse(id).ok());
        let created_at = text("created_at").unwrap_or_default().to_owned();
        beginning = task_id.map(|task_id| Beginning { task_id, created_at });
        beginning.is_some().then_some(()).ok_or(())
    });
    beginning
}

/// How the Task of a log has ended, as its last line says. None where it has not, or where that line is not seen.
pub(crate) fn end_of(path: &Path) -> Option<TaskStatus> {
    let last = folder::last_line(path).ok().flatten()?;
    match agent_tasks::Line::read(&last).ok()?.event.payload {
        Payload::TaskCompleted(_) => Some(TaskStatus::Completed),
        Payload::TaskFailed(_) => Some(TaskStatus::Failed),
        Payload::TaskCancelled(_) => Some(TaskStatus::Cancelled),
        _ => None,
    }
}
