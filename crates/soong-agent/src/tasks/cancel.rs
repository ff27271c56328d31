//! `soong-agent tasks cancel`: the end of a Task that nobody works on.

use agent_core::archive::{TaskArchive, TaskLog, TaskSession, TaskStatus, TaskView, cancel_task};

use agent_core::error::ArchiveError;

use super::logs::read;
use super::which;
use crate::cli::CancelTask;
use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, whole_line};
use crate::output::Output;

pub(super) fn run(arguments: &CancelTask, output: &mut Output) -> Outcome {
    let (archive, sessions) = match &arguments.session {
        None => which::sessions(arguments.path.as_deref(), output)?,
        Some(written) => match which::session(written, arguments.path.as_deref(), output)? {
            which::Session::WithTasks(archive, session) => (archive, vec![session]),
            which::Session::Without(_, id) => return Err(Failure::usage(format!("session {id} has no Tasks"))),
        },
    };
    let (log, view) = chosen(&archive, &sessions, &arguments.task)?;
    let cancelled = cancel_task(&archive, log, arguments.reason.as_deref())
        .map_err(|error| Failure::failed(not_cancelled(&view, &error)))?;
    // Those that were completed or had failed before are what they were.
    let now = cancelled.counts.cancelled - view.counts.cancelled;
    output.note(&format!(
        "cancelled Task {} of session {} with {}; `soong-agent cleanup tasks --cancelled` removes its log",
        view.task_id,
        log.session_id,
        counted(now as u64, "step")
    ));
    Ok(Exit::Completed)
}

/// The log of the Task that has not ended, where there is one.
fn chosen<'s>(
    archive: &TaskArchive,
    sessions: &'s [TaskSession],
    task: &str,
) -> Result<(&'s TaskLog, TaskView), Failure> {
    let reads = sessions.iter().flat_map(|session| read(archive, &session.logs));
    let (mut open, mut ended, mut damaged) = (Vec::new(), None, 0);
    for (log, read) in reads {
        match read {
            Ok(view) if view.task_id.as_str() == task && !view.status.is_terminal() => open.push((log, view)),
            Ok(view) if view.task_id.as_str() == task => ended = ended.or(Some((log, view.status))),
            Ok(_) => {}
            Err(_) => damaged += 1,
        }
    }
    match open.len() {
        1 => Ok(open.remove(0)),
        0 => Err(none(&whole_line(task), ended, damaged)),
        _ => {
            let ids: Vec<_> = open.iter().map(|(log, _)| log.session_id.as_str()).collect();
            let task = whole_line(task);
            Err(Failure::usage(format!(
                "several sessions have a Task {task}; choose one with --session: {}",
                ids.join(", ")
            )))
        }
    }
}

fn none(task: &str, ended: Option<(&TaskLog, TaskStatus)>, damaged: u64) -> Failure {
    if let Some((log, status)) = ended {
        return Failure::failed(format!("Task {task} of session {} is {status}; it has ended", log.session_id));
    }
    let unread = match damaged {
        0 => String::new(),
        damaged => {
            format!("; {} cannot be read, and a log that makes no Task can only be moved away", counted(damaged, "log"))
        }
    };
    Failure::usage(format!("there is no Task {task}; `soong-agent tasks` lists them{unread}"))
}

fn not_cancelled(view: &TaskView, why: &ArchiveError) -> String {
    let next = if matches!(why, ArchiveError::TaskInUse(_)) { "; end the run that works on it first" } else { "" };
    format!("Task {} is not cancelled: {}{next}", view.task_id, whole_line(&why.to_string()))
}
