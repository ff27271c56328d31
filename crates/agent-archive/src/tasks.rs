//! Tasks as their logs say. The logs stand alone: no session database is needed, nothing is locked, nothing is changed.

mod cleanup;
mod view;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_protocol::{SessionId, Timestamp};
use agent_redact::KnownSecrets;
use agent_task_store::{LogFile, TaskError};

pub use cleanup::TaskCleanup;
pub use view::{StepView, TaskView};

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
    /// The file. As long as this value is the same, so is what the log says.
    pub file: LogFile,
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
    /// # Errors
    /// If a folder cannot be read.
    pub fn sessions(&self) -> Result<Vec<TaskSession>, ArchiveError> {
        let mut sessions = Vec::new();
        for folder in agent_task_store::session_folders(&self.wal_dir).map_err(unread)? {
            sessions.extend(session(folder.session_id, &folder.path)?);
        }
        sessions.sort_by(|one: &TaskSession, other| {
            let newest = |session: &TaskSession| session.logs.first().map(|log| log.file.modified);
            newest(other).cmp(&newest(one)).then_with(|| one.session_id.as_str().cmp(other.session_id.as_str()))
        });
        Ok(sessions)
    }

    /// The Tasks of one session; none where it has none.
    ///
    /// # Errors
    /// If its folder cannot be read.
    pub fn session(&self, session_id: &SessionId) -> Result<Option<TaskSession>, ArchiveError> {
        session(session_id.clone(), &agent_task_store::session_folder(&self.wal_dir, session_id))
    }

    /// Reads a log. A last line that is being written is not there yet.
    ///
    /// # Errors
    /// Why it makes no Task; others are not concerned.
    pub fn read(&self, log: &TaskLog) -> Result<TaskView, TaskDamage> {
        let task = agent_task_store::read_task(&log.file.path, &log.session_id);
        let task = task.map_err(|why| TaskDamage { path: log.file.path.clone(), why: self.shown(&why) })?;
        Ok(TaskView::of(&task, &|text| self.shown(text)))
    }

    fn shown(&self, text: &str) -> String {
        self.screen.words(self.secrets.redact(text).text.into_owned())
    }
}

fn session(session_id: SessionId, folder: &Path) -> Result<Option<TaskSession>, ArchiveError> {
    let logs = agent_task_store::logs(folder).map_err(unread)?;
    let Some(newest) = logs.first() else { return Ok(None) };
    let updated_at = timestamp(newest.modified);
    let logs = logs.into_iter().map(|file| TaskLog { session_id: session_id.clone(), file });
    Ok(Some(TaskSession { logs: logs.collect(), session_id, updated_at }))
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
