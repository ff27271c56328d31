//! Tasks that are read and not changed: those that have ended (TSK-14), and all of a session that another process owns.

use std::path::{Path, PathBuf};

use agent_journal::ReadError;
use agent_protocol::SessionId;
use agent_tasks::{Replay, ReplayError, Task, TaskId, TaskStatus};

use crate::error::TaskError;
use crate::folder::{self, LogFile};
use crate::store::{Beginning, TaskStore, beginning, end_of};

/// A log that was read.
#[derive(Debug)]
pub struct EndedTask {
    /// The log.
    pub path: PathBuf,
    /// Its Task, or why it makes none.
    pub task: Result<Task, String>,
}

/// Some of a session's Tasks that have ended.
#[derive(Debug)]
pub struct EndedPage {
    /// The newest first.
    pub tasks: Vec<EndedTask>,
    /// Whether there are others behind them.
    pub more: bool,
}

/// Tasks of a session that have ended, the newest first: at most `limit` of them, after the first `offset`. Of others only the last
/// line is looked at.
///
/// # Errors
/// [`TaskError::Io`] where the folder cannot be read.
pub fn ended(
    store: &TaskStore,
    status: Option<TaskStatus>,
    limit: usize,
    offset: usize,
) -> Result<EndedPage, TaskError> {
    let active: Vec<&Path> = store.active_files().collect();
    let logs = folder::logs(store.folder())?.into_iter().filter(|log| !active.contains(&log.path.as_path()));
    let wanted = |log: &LogFile| end_of(&log.path).is_some_and(|end| status.is_none_or(|status| end == status));
    let mut wanted = logs.filter(wanted).skip(offset);
    let page: Vec<LogFile> = wanted.by_ref().take(limit).collect();
    let more = wanted.next().is_some();
    let tasks =
        page.into_iter().map(|log| EndedTask { task: read_task(&log.path, store.session_id()), path: log.path });
    Ok(EndedPage { tasks: tasks.collect(), more })
}

/// The ended Task with this id that was made last (TSK-2).
///
/// # Errors
/// [`TaskError`]: there is none, or its log makes no Task.
pub fn find_ended(store: &TaskStore, task_id: &TaskId) -> Result<Task, TaskError> {
    let logs = folder::logs(store.folder())?.into_iter();
    let of_task = logs.filter_map(|log| Some((beginning(&log.path).filter(|it| it.task_id == *task_id)?, log)));
    // A file goes before what only has a log's name.
    let age = |(beginning, log): &(Beginning, LogFile)| (log.odd.is_none(), beginning.created_at.clone(), log.modified);
    let (_, log) = of_task.max_by_key(age).ok_or_else(|| TaskError::NotFound(task_id.clone()))?;
    let task = read_task(&log.path, store.session_id());
    task.map_err(|why| TaskError::Unavailable { task_id: task_id.clone(), why })
}

/// All Tasks of a session as their logs say, the newest first. Nothing is locked and nothing is changed: another process may be
/// writing.
///
/// # Errors
/// [`TaskError::Io`] where the folder cannot be read.
pub fn tasks(folder: &Path, session_id: &SessionId) -> Result<Vec<EndedTask>, TaskError> {
    let logs = folder::logs(folder)?;
    Ok(logs.into_iter().map(|log| EndedTask { task: read_task(&log.path, session_id), path: log.path }).collect())
}

/// The Task of one log of a session, read in the same way.
///
/// # Errors
/// Why it makes none, with the line where it is one's fault.
pub fn read_task(path: &Path, session_id: &SessionId) -> Result<Task, String> {
    of_session(replay(path)?, session_id)
}

pub(crate) fn of_session((of, task): (SessionId, Task), session_id: &SessionId) -> Result<Task, String> {
    if of == *session_id { Ok(task) } else { Err(format!("it belongs to session {of}")) }
}

fn replay(path: &Path) -> Result<(SessionId, Task), String> {
    if let Some(why) = folder::not_a_file(path) {
        return Err(why);
    }
    let mut replay = Replay::default();
    agent_journal::read(path, |line| replay.line(line).map(drop))
        .map_err(|error: ReadError<ReplayError>| error.to_string())?;
    replay.finish().ok_or_else(|| "it has no whole line".to_owned())
}
