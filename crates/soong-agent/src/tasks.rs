//! `soong-agent tasks`.

mod cancel;
mod list;
mod logs;
#[cfg(test)]
mod made_up;
mod page;
mod picture;
mod tree;
mod watch;
mod which;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use agent_core::archive::{self, StepStatus, TaskLog};
use agent_core::config::Location;
use agent_core::id::SessionId;

use crate::cli::{TasksArguments, TasksCommand};
use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, whole_line};
use crate::output::Output;

use logs::{Read, all_of_it, read};

pub(crate) fn run(arguments: &TasksArguments, output: &mut Output) -> Outcome {
    if let Some(TasksCommand::Cancel(arguments)) = &arguments.command {
        return cancel::run(arguments, output);
    }
    let Some(written) = &arguments.session else { return all(arguments, output) };
    let (archive, session) = match which::session(written, arguments.path.as_deref(), output)? {
        which::Session::WithTasks(archive, session) => (archive, session),
        which::Session::Without(archive, id) if arguments.watch => {
            output.note(&format!("session {id} has no Tasks yet; waiting for one"));
            let wanted =
                watch::Wanted { session: Some(&id), task: arguments.task.as_deref(), ..watch::Wanted::default() };
            return watch::run(&archive, &wanted, output);
        }
        which::Session::Without(_, id) => {
            output.note(&format!("session {id} has no Tasks"));
            return Ok(Exit::Completed);
        }
    };
    if session.session_id.as_str() != written {
        output.id("session ", session.session_id.as_str());
    }
    if arguments.watch {
        let wanted = watch::Wanted {
            session: Some(&session.session_id),
            task: arguments.task.as_deref(),
            ..watch::Wanted::default()
        };
        return watch::run(&archive, &wanted, output);
    }
    let mut damaged = 0;
    let reads = read(&archive, &session.logs);
    let chosen = chosen(&reads, arguments.task.as_deref(), &session.session_id)?;
    if let Some(file) = &arguments.svg {
        return draw(&chosen, file, &session.session_id, output);
    }
    let look = output.page_look();
    for (at, (_, read)) in chosen.iter().enumerate() {
        damaged += u64::from(read.is_err());
        let gap = if at > 0 { "\n" } else { "" };
        output.page(&format!("{gap}{}", page::of(read, arguments.verbose, page::Leases::Left, look)));
    }
    all_of_it(damaged)
}

/// The Tasks of a session that have not ended, a line each. What cannot be read is told when they are looked at.
pub(crate) fn still_open(project: Option<&Path>, session: &SessionId) -> Vec<String> {
    let location = project.map_or_else(Location::default, |project| Location::default().project_dir(project));
    let Ok(archive) = archive::open_tasks(&location) else { return Vec::new() };
    let Some(session) = archive.session(session) else { return Vec::new() };
    let reads = read(&archive, &session.logs);
    let open = reads.iter().filter_map(|(_, read)| read.as_ref().ok()).filter(|view| !view.status.is_terminal());
    open.map(|view| {
        let completed = view.counts.of(StepStatus::Completed);
        format!(
            "task {} is still open: {completed} of {} completed",
            view.task_id,
            counted(view.steps.len() as u64, "step")
        )
    })
    .collect()
}

/// A line for each Task of the project.
fn all(arguments: &TasksArguments, output: &mut Output) -> Outcome {
    let (archive, mut sessions) = which::sessions(arguments.path.as_deref(), output)?;
    let count = sessions.len();
    if !arguments.all {
        sessions.truncate(arguments.limit as usize);
    }
    if arguments.watch {
        // Those of other projects, and older ones, are not watched.
        let mut but: HashSet<_> = archive.sessions()?.into_iter().map(|session| session.session_id).collect();
        sessions.iter().for_each(|session| _ = but.remove(&session.session_id));
        return watch::run(&archive, &watch::Wanted { but, ..watch::Wanted::default() }, output);
    }
    if sessions.is_empty() {
        let where_ = whole_line(&archive.wal_dir().to_string_lossy());
        output.note(&format!("there are no Tasks of this project: no log is in {where_}"));
        return Ok(Exit::Completed);
    }
    let reads = sessions.iter().flat_map(|session| read(&archive, &session.logs));
    // What is listed of a Task is little; its steps need not stay in memory.
    let lines: Vec<_> = reads.map(|(log, read)| list::Line::of(log, &read)).collect();
    let damaged = lines.iter().filter(|line| line.is_damaged()).count() as u64;
    output.page(&list::page(&lines, &sessions, output.page_look()));
    if sessions.len() < count {
        let limit = u64::from(arguments.limit) * 5;
        output.note(&format!("these are the latest {}; --limit {limit} or --all shows more", sessions.len()));
    }
    all_of_it(damaged)
}

/// The Task that is asked for: the active one of this id, else the newest (TSK-2); all where none is.
fn chosen<'r>(
    reads: &'r [(&'r TaskLog, Read)],
    task: Option<&str>,
    session: &SessionId,
) -> Result<Vec<&'r (&'r TaskLog, Read)>, Failure> {
    let Some(task) = task else { return Ok(reads.iter().collect()) };
    let of_id = |read: &&(&TaskLog, Read)| read.1.as_ref().is_ok_and(|view| view.task_id.as_str() == task);
    let active = |read: &&(&TaskLog, Read)| read.1.as_ref().is_ok_and(|view| !view.status.is_terminal());
    let found = reads.iter().filter(of_id).find(active).or_else(|| reads.iter().find(of_id));
    if let Some(found) = found {
        return Ok(vec![found]);
    }
    let known: Vec<_> = reads.iter().filter_map(|(_, read)| Some(read.as_ref().ok()?.task_id.to_string())).collect();
    let damaged = reads.len() - known.len();
    let unread =
        if damaged > 0 { format!("; {} cannot be read", counted(damaged as u64, "log")) } else { String::new() };
    let task = whole_line(task);
    Err(Failure::usage(format!("--task: session {session} has no Task {task}; it has: {}{unread}", known.join(", "))))
}

/// Draws the one Task that is chosen.
fn draw(chosen: &[&(&TaskLog, Read)], file: &Path, session: &SessionId, output: &mut Output) -> Outcome {
    let [(_, read)] = chosen else {
        let ids = chosen.iter().filter_map(|(_, read)| Some(read.as_ref().ok()?.task_id.as_str()));
        let ids = ids.collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!(
            "--svg: session {session} has several Tasks; choose one with --task: {ids}"
        )));
    };
    let view = read.as_ref().map_err(|damage| Failure::failed(page::damage(damage)))?;
    let picture = picture::svg(view).map_err(|error| Failure::failed(format!("--svg: {error}")))?;
    if file == Path::new("-") {
        output.page(&picture);
        return Ok(Exit::Completed);
    }
    let shown = whole_line(&file.to_string_lossy());
    let replaced =
        write(file, &picture).map_err(|why| Failure::failed(format!("--svg: {shown} is not written: {why}")))?;
    output.note(&format!("{} {shown}", if replaced { "replaced" } else { "wrote" }));
    Ok(Exit::Completed)
}

/// Writes the picture in one go: there is the old file or the new one. Whether there was an old one, which was such a picture.
fn write(file: &Path, picture: &str) -> Result<bool, String> {
    let there = match fs::symlink_metadata(file) {
        Ok(there) if !there.is_file() => {
            return Err("it is no file; `--svg - > FILE` writes to whatever it is".to_owned());
        }
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error.to_string()),
    };
    if there && !picture::is_one(file).map_err(|error| error.to_string())? {
        return Err("it is there already and is no picture of a Task; choose another name, or remove it".to_owned());
    }
    let mut draft = file.as_os_str().to_owned();
    draft.push(format!(".{}.tmp", std::process::id()));
    let written = fs::File::create_new(&draft).and_then(|mut to| {
        to.write_all(picture.as_bytes())?;
        to.sync_all()
    });
    // A file that came up meanwhile is not written over.
    let placed = written.and_then(|()| if there { fs::rename(&draft, file) } else { fs::hard_link(&draft, file) });
    if !there || placed.is_err() {
        let _ = fs::remove_file(&draft);
    }
    placed.map(|()| there).map_err(|error| error.to_string())
}
