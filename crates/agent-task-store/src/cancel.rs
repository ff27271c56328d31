//! The end of a Task that nobody works on: a person gives it up.

use std::path::Path;

use agent_protocol::SessionId;
use agent_tasks::{Command, RecentChanges, Task};

use crate::log::{Actor, Stamp, TaskLog};

/// Cancels the Task of a log of a session (TSK-7, TSK-21). Its lock is held meanwhile, so that no process works on the Task; what a crash
/// has left undone is done first, as when the session's owner opens it. The lines name no agent and no run (WAL-7).
///
/// # Errors
/// Why the Task is as it was, in words: another process holds its log, it has ended, its log makes no Task or cannot be written.
pub fn cancel(path: &Path, session_id: &SessionId, reason: Option<String>, stamp: &Stamp<'_>) -> Result<Task, String> {
    let opened = TaskLog::open(path, session_id, RecentChanges::new(0)).map_err(|error| error.to_string())?;
    let mut log = opened.log;
    // One that has ended is left as it is, to the byte.
    let commands = [Command::Settle, Command::Cancel { reason }];
    for command in commands.iter().skip(usize::from(log.task.status().is_terminal())) {
        log.execute(command, &Actor::default(), stamp).map_err(|error| error.to_string())?;
    }
    Ok(log.task)
}
