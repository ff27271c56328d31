//! Tasks as their logs say. The logs stand alone: no session database is needed, nothing is locked, nothing is changed.

mod cleanup;
mod view;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_protocol::task::TaskId;
use agent_protocol::{EventId, RunId, SessionId, Timestamp};
use agent_redact::KnownSecrets;
use agent_task_store::{CancelError, Stamp, TaskError};
use agent_tasks::Moment;

pub use cleanup::TaskCleanup;
pub use view::{DispatchedStepView, StepView, TaskView};

use crate::error::ArchiveError;
use crate::screen::Screen;

/// Looks at the Tasks of a project and clears their logs away. What it shows has passed its screen: neither values that are known to
/// be secret nor what looks like a secret is in it (STO-10).
///
/// It blocks: reading a log takes its time.
#[derive(Clone)]
pub struct TaskArchive {
    wal_dir: PathBuf,
    secrets: KnownSecrets,
    screen: Screen,
}

/// A session that has Tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSession {
    /// The session.
    pub session_id: SessionId,
    /// When one of its Tasks last changed.
    pub updated_at: Timestamp,
    /// Their logs, the newest first.
    pub logs: Vec<TaskLog>,
}

/// The log of a Task, as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLog {
    /// The session.
    pub session_id: SessionId,
    /// The file.
    pub path: PathBuf,
    /// When it was last written. As long as this and its size are the same, so is what it says.
    pub modified: SystemTime,
    /// Its size.
    pub bytes: u64,
    /// Why the logs of the session cannot be listed: this one, which names their folder, then stands for all of them.
    pub unlisted: Option<String>,
}

/// Why a log makes no Task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDamage {
    /// The file.
    pub path: PathBuf,
    /// The reason, with the line where it is one's fault.
    pub why: String,
}

impl TaskArchive {
    /// The Tasks whose logs lie in this folder.
    #[must_use]
    #[doc(hidden)]
    pub fn new(wal_dir: PathBuf, secrets: KnownSecrets) -> Self {
        Self { wal_dir, secrets, screen: Screen::default() }
    }

    /// Where the logs are.
    #[must_use]
    pub fn wal_dir(&self) -> &Path {
        &self.wal_dir
    }

    /// The sessions that have Tasks, the one that changed last first.
    ///
    /// A folder that cannot be listed hides no other: it comes as one log that cannot be read.
    ///
    /// # Errors
    /// If the folder of all of them cannot be read.
    pub fn sessions(&self) -> Result<Vec<TaskSession>, ArchiveError> {
        let mut sessions = Vec::new();
        for folder in agent_task_store::session_folders(&self.wal_dir).map_err(unread)? {
            sessions.extend(session(folder.session_id, &folder.path));
        }
        sessions.sort_by(|one: &TaskSession, other| {
            let newest = |session: &TaskSession| session.logs.first().map(|log| log.modified);
            newest(other).cmp(&newest(one)).then_with(|| one.session_id.as_str().cmp(other.session_id.as_str()))
        });
        Ok(sessions)
    }

    /// The Tasks of one session; none where it has none.
    #[must_use]
    pub fn session(&self, session_id: &SessionId) -> Option<TaskSession> {
        session(session_id.clone(), &agent_task_store::session_folder(&self.wal_dir, session_id))
    }

    /// Reads a log. A last line that is being written is not there yet.
    ///
    /// # Errors
    /// Why it makes no Task; others are not concerned.
    pub fn read(&self, log: &TaskLog) -> Result<TaskView, TaskDamage> {
        let task = match &log.unlisted {
            Some(why) => Err(why.clone()),
            None => agent_task_store::read_task(&log.path, &log.session_id),
        };
        let task = task.map_err(|why| TaskDamage { path: log.path.clone(), why: self.shown(&why) })?;
        Ok(TaskView::of(&task, &|text| self.shown(text)))
    }

    /// Cancels the Task of a log for a person, where no process has it open: nobody works on it then. The lines name no agent and no run.
    ///
    /// # Errors
    /// Why it is as it was: a process holds its log, it has ended, its log makes no Task or cannot be written.
    #[doc(hidden)]
    pub fn cancel(
        &self,
        log: &TaskLog,
        reason: Option<&str>,
        now: Moment,
        new_event_id: &dyn Fn() -> EventId,
    ) -> Result<TaskView, ArchiveError> {
        let stamp = Stamp { now, lease_millis: 0, new_event_id };
        let reason = reason.map(|reason| self.secrets.redact(reason).text.into_owned());
        let cancelled = match &log.unlisted {
            Some(why) => Err(CancelError::Refused(why.clone())),
            None => agent_task_store::cancel(&log.path, &log.session_id, reason, &stamp),
        };
        let task = cancelled.map_err(|error| match error {
            CancelError::InUse(why) => ArchiveError::TaskInUse(self.shown(&why)),
            CancelError::Refused(why) => ArchiveError::Tasks(self.shown(&why)),
        })?;
        Ok(TaskView::of(&task, &|text| self.shown(text)))
    }

    /// The step that a run claimed, as it was then and as it is now; none where it claimed none.
    ///
    /// # Errors
    /// Why that cannot be told, in words.
    pub fn dispatched(
        &self,
        session_id: &SessionId,
        task_id: &TaskId,
        run_id: &RunId,
    ) -> Result<Option<DispatchedStepView>, String> {
        let folder = agent_task_store::session_folder(&self.wal_dir, session_id);
        let step = agent_task_store::dispatched_step(&folder, session_id, task_id, run_id);
        let step = step.map_err(|error| self.shown(&error.to_string()))?;
        Ok(step.map(|step| DispatchedStepView::of(&step, &|text| self.shown(text))))
    }

    fn shown(&self, text: &str) -> String {
        self.screen.words(self.secrets.redact(text).text.into_owned())
    }
}

fn session(session_id: SessionId, folder: &Path) -> Option<TaskSession> {
    let log = |path: &Path, modified, bytes, unlisted| TaskLog {
        session_id: session_id.clone(),
        path: path.to_owned(),
        modified,
        bytes,
        unlisted,
    };
    let logs: Vec<_> = match agent_task_store::logs(folder) {
        Ok(files) => files.into_iter().map(|file| log(&file.path, file.modified, file.bytes, None)).collect(),
        Err(error) => {
            let modified = fs::metadata(folder).and_then(|it| it.modified()).unwrap_or(UNIX_EPOCH);
            vec![log(folder, modified, 0, Some(error.to_string()))]
        }
    };
    let updated_at = timestamp(logs.first()?.modified);
    Some(TaskSession { session_id, updated_at, logs })
}

fn timestamp(moment: SystemTime) -> Timestamp {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn unread(error: TaskError) -> ArchiveError {
    ArchiveError::Tasks(error.to_string())
}

#[cfg(test)]
mod tests;
