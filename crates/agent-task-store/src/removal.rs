//! Logs that go, once nobody needs them any more (ART-3).

use agent_journal::{HeldLog, JournalError, ReadError};
use agent_protocol::SessionId;
use agent_tasks::{Replay, ReplayError, Task};

use crate::ended::of_session;
use crate::folder::LogFile;

/// What a log takes on disk, with the torn ends that were kept of it: they go with it. Where these cannot be listed, they do not
/// count.
#[must_use]
pub fn bytes_with_torn_ends(log: &LogFile) -> u64 {
    let kept = agent_journal::kept_of(&log.path).unwrap_or_default();
    kept.iter().map(|kept| kept.bytes).fold(log.bytes, u64::saturating_add)
}

/// Whether a process holds the log: who, in words. To find out takes its lock for a moment, so only logs are to be asked about whose
/// Task has ended: no store opens them.
#[must_use]
pub fn held_by(log: &LogFile) -> Option<String> {
    match HeldLog::open(&log.path) {
        Err(error @ JournalError::Locked { .. }) => Some(error.to_string()),
        // What else is wrong shows when it is to be removed.
        _ => None,
    }
}

/// Removes a log and the torn ends that were kept of it. `may_go` is asked about its Task while the lock is held, so that nothing changes
/// between the answer and the end. Gives how many bytes are gone; none where it may not go.
///
/// # Errors
/// Why it was left, in words: another process holds it, it makes no Task, or it cannot be removed.
pub fn remove(
    log: &LogFile,
    session_id: &SessionId,
    may_go: impl FnOnce(&Task) -> bool,
) -> Result<Option<u64>, String> {
    let held = HeldLog::open(&log.path).map_err(|error| error.to_string())?;
    let mut replay = Replay::default();
    held.read(|line| replay.line(line).map(drop)).map_err(|error: ReadError<ReplayError>| error.to_string())?;
    let begun = replay.finish().ok_or_else(|| "it has no whole line".to_owned())?;
    let task = of_session(begun, session_id)?;
    if !may_go(&task) {
        return Ok(None);
    }
    held.remove().map(Some).map_err(|error| error.to_string())
}
