//! Which Tasks are meant. Their logs stand alone; the session database is asked only for what they do not say.

use std::path::Path;

use agent_core::archive::{self, Archive, TaskArchive, TaskSession};
use agent_core::config::Location;
use agent_core::id::SessionId;
use agent_core::permission::path_from_text;

use crate::exit::Failure;
use crate::limits;
use crate::output::Output;
use crate::stored::{self, Which};

/// A session, and where its Tasks are.
pub(super) enum Session {
    WithTasks(TaskArchive, TaskSession),
    Without(TaskArchive, SessionId),
}

/// The sessions of a project that have Tasks, the latest first: of the current folder, or the nearest above it that has some.
pub(super) fn sessions(path: Option<&Path>, output: &mut Output) -> Result<(TaskArchive, Vec<TaskSession>), Failure> {
    if let Some(path) = path {
        return of_project(path);
    }
    let holders = stored::current_holders()?;
    let mut first = None;
    for (above, folder) in holders.iter().enumerate() {
        let (archive, sessions) = of_project(folder)?;
        if !sessions.is_empty() {
            if above > 0 {
                output.note(&stored::lies_in(&agent_core::session::project_name(folder)));
            }
            return Ok((archive, sessions));
        }
        first.get_or_insert((archive, sessions));
    }
    first.ok_or_else(|| Failure::usage("the current folder cannot be found; name the project with --path"))
}

fn of_project(folder: &Path) -> Result<(TaskArchive, Vec<TaskSession>), Failure> {
    let archive = archive::open_tasks(&Location::default().project_dir(folder))?;
    let mut sessions = archive.sessions()?;
    let project = stored::project_folder(Some(folder))?;
    // Where several projects share a folder of logs, the sessions' database knows whose they are.
    if !sessions.is_empty() && !archive.wal_dir().starts_with(path_from_text(&project)) {
        let others = limits::runtime()?.block_on(of_others(&sessions, &project));
        sessions.retain(|session| !others.contains(&session.session_id));
    }
    Ok((archive, sessions))
}

/// Those that are known to belong to another project.
async fn of_others(sessions: &[TaskSession], project: &str) -> Vec<SessionId> {
    let Ok(archive) = archive::open(&Location::default()).await else { return Vec::new() };
    let mut others = Vec::new();
    for session in sessions {
        let listing = archive.session(&session.session_id).await;
        if listing.is_ok_and(|listing| listing.summary.session.cwd != project) {
            others.push(session.session_id.clone());
        }
    }
    archive.close().await;
    others
}

/// The session that a person means.
pub(super) fn session(written: &str, path: Option<&Path>, output: &mut Output) -> Result<Session, Failure> {
    let which = Which::parse("SESSION", written)?;
    let Which::Id(id) = which else {
        let (archive, mut sessions) = sessions(path, output)?;
        if sessions.is_empty() {
            let all = "`soong-agent tasks` lists the sessions that have some";
            return Err(Failure::usage(format!("no session of this project has Tasks; {all}")));
        }
        return Ok(Session::WithTasks(archive, sessions.swap_remove(0)));
    };
    let archive = archive::open_tasks(&location(path))?;
    let known = archive.sessions()?;
    let begins = |session: &&TaskSession| session.session_id.as_str().starts_with(id.as_str());
    let mut found: Vec<_> = known.iter().filter(begins).collect();
    if let Some(exact) = found.iter().find(|session| session.session_id == id) {
        found = vec![exact];
    }
    match found.as_slice() {
        [one] if one.session_id == id || stored::is_long_enough(&id) => {
            return Ok(Session::WithTasks(archive, (*one).clone()));
        }
        [_, _, ..] if stored::is_long_enough(&id) => {
            let ids: Vec<_> = found.iter().take(5).map(|session| session.session_id.as_str()).collect();
            return Err(Failure::usage(format!(
                "several sessions begin with {id}: {}; write more of the id",
                ids.join(", ")
            )));
        }
        _ => {}
    }
    limits::runtime()?.block_on(elsewhere(id))
}

fn location(path: Option<&Path>) -> Location {
    match path {
        Some(path) => Location::default().project_dir(path),
        None => Location::default(),
    }
}

/// A session of another project, whose Tasks are there.
async fn elsewhere(id: SessionId) -> Result<Session, Failure> {
    let Ok(archive) = archive::open(&Location::default()).await else {
        return Err(Failure::usage(format!(
            "no session {id} has Tasks here, and there is no session database that knows another project of it; `soong-agent tasks` \
             lists those that have some"
        )));
    };
    let found = in_database(&archive, id).await;
    archive.close().await;
    found
}

async fn in_database(archive: &Archive, id: SessionId) -> Result<Session, Failure> {
    let id = Which::Id(id).find(archive, None).await?;
    let project = archive.session(&id).await?.summary.session.cwd;
    let tasks = archive::open_tasks(&Location::default().project_dir(path_from_text(&project)))?;
    Ok(match tasks.session(&id) {
        Some(session) => Session::WithTasks(tasks, session),
        None => Session::Without(tasks, id),
    })
}
