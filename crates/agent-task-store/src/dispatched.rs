//! The step that a run claimed, as it was then and as it is now (TSK-11). The log has both: what it says up to the line of the claim is
//! the step as it was dispatched.

use std::path::Path;

use agent_journal::ReadError;
use agent_protocol::{RunId, SessionId};
use agent_tasks::{Payload, Replay, ReplayError, Step, TaskId};

use crate::error::TaskError;
use crate::folder;
use crate::store::beginning;

/// A step that a run claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchedStep {
    /// The Task.
    pub task_id: TaskId,
    /// Right after the run claimed it.
    pub as_dispatched: Step,
    /// Now; none where it is deleted.
    pub now: Option<Step>,
}

impl DispatchedStep {
    /// Whether what the step asks for was changed since the run claimed it.
    #[must_use]
    pub fn updated_after_dispatch(&self) -> bool {
        self.now.as_ref().is_none_or(|now| now.content != self.as_dispatched.content)
    }
}

/// The step that a run claimed in a Task of this id, whether that is active or has ended; none where it claimed none. Nothing is locked
/// and nothing is changed: the Task's writer may be at work.
///
/// # Errors
/// [`TaskError`]: the folder cannot be read, or a log of that Task makes none and the run's claim is in no other.
pub fn dispatched_step(
    folder: &Path,
    session_id: &SessionId,
    task_id: &TaskId,
    run_id: &RunId,
) -> Result<Option<DispatchedStep>, TaskError> {
    let mut unread = None;
    for log in folder::logs(folder)? {
        if beginning(&log.path).is_none_or(|it| it.task_id != *task_id) {
            continue;
        }
        match in_log(&log.path, session_id, run_id) {
            Ok(Some(found)) => return Ok(Some(found)),
            Ok(None) => {}
            Err(why) => unread = Some(why),
        }
    }
    match unread {
        Some(why) => Err(TaskError::Unavailable { task_id: task_id.clone(), why }),
        None => Ok(None),
    }
}

fn in_log(path: &Path, session_id: &SessionId, run_id: &RunId) -> Result<Option<DispatchedStep>, String> {
    let mut replay = Replay::default();
    let mut claimed: Option<Step> = None;
    agent_journal::read(path, |line| {
        let event = replay.line(line)?;
        // A run claims one step at most (WRK-6).
        if let (Some(id), Payload::TaskStepClaimed(claim)) = (&event.step_id, &event.payload)
            && claim.claimed_by_run_id == *run_id
        {
            claimed = replay.task().and_then(|task| task.step(id)).cloned();
        }
        Ok(())
    })
    .map_err(|error: ReadError<ReplayError>| error.to_string())?;
    let Some(as_dispatched) = claimed else { return Ok(None) };
    let (of, task) = replay.finish().ok_or_else(|| "it has no whole line".to_owned())?;
    if of != *session_id {
        return Err(format!("it belongs to session {of}"));
    }
    Ok(Some(DispatchedStep { task_id: task.id().clone(), now: task.step(&as_dispatched.id).cloned(), as_dispatched }))
}
