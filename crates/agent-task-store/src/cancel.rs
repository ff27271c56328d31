//! The end of a Task that nobody works on: a person gives it up.

use std::path::Path;

use agent_journal::{JournalError, ReadError};
use agent_protocol::SessionId;
use agent_tasks::{Command, RecentChanges, Task};

use crate::error::TaskError;
use crate::log::{Actor, OpenError, Stamp, TaskLog};

/// Why a Task was not cancelled, in words. It is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    /// A process holds its log.
    #[error("{0}")]
    InUse(String),
    /// It has ended, its log makes no Task, or the log cannot be written.
    #[error("{0}")]
    Refused(String),
}

impl From<OpenError> for CancelError {
    fn from(error: OpenError) -> Self {
        match &error {
            OpenError::Read(ReadError::Journal(JournalError::Locked { .. })) => Self::InUse(error.to_string()),
            _ => Self::Refused(error.to_string()),
        }
    }
}

impl From<TaskError> for CancelError {
    fn from(error: TaskError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Cancels the Task of a log of a session (TSK-7, TSK-21). Its lock is held meanwhile, so that no process works on the Task; what a crash
/// has left undone is done first, as when the session's owner opens it. The lines name no agent and no run (WAL-7).
///
/// # Errors
/// [`CancelError`].
pub fn cancel(
    path: &Path,
    session_id: &SessionId,
    reason: Option<String>,
    stamp: &Stamp<'_>,
) -> Result<Task, CancelError> {
    let opened = TaskLog::open(path, session_id, RecentChanges::new(0))?;
    let mut log = opened.log;
    // One that has ended is left as it is, to the byte.
    let commands = [Command::Settle, Command::Cancel { reason }];
    for command in commands.iter().skip(usize::from(log.task.status().is_terminal())) {
        log.execute(command, &Actor::default(), stamp)?;
    }
    Ok(log.task)
}
