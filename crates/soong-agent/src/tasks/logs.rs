//! What logs say.

use agent_core::archive::{TaskArchive, TaskDamage, TaskLog, TaskSession, TaskView};
use agent_core::id::SessionId;

use crate::exit::{Exit, Failure, Outcome};

/// What a log says.
pub(super) type Read = Result<TaskView, TaskDamage>;

/// Each log in turn.
pub(super) fn read<'l>(archive: &TaskArchive, logs: &'l [TaskLog]) -> Vec<(&'l TaskLog, Read)> {
    logs.iter().map(|log| (log, archive.read(log))).collect()
}

/// The sessions of an archive, as far as they are asked for.
pub(super) fn sessions_of(archive: &TaskArchive, session: Option<&SessionId>) -> Result<Vec<TaskSession>, Failure> {
    Ok(match session {
        Some(id) => archive.session(id).into_iter().collect(),
        None => archive.sessions()?,
    })
}

/// Whether what was shown is all there is.
pub(super) fn all_of_it(damaged: u64) -> Outcome {
    match damaged {
        0 => Ok(Exit::Completed),
        1 => Err(Failure::failed("one log cannot be read, as marked above; the other Tasks are as they should be")),
        more => Err(Failure::failed(format!(
            "{more} logs cannot be read, as marked above; the other Tasks are as they should be"
        ))),
    }
}
