//! Looking at what is stored: opening it, and which session is meant.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_core::archive::{self, Archive, SessionFilter};
use agent_core::config::Location;
use agent_core::error::BuildError;
use agent_core::id::SessionId;
use agent_core::permission::path_from_text;
use agent_core::session::project_name;
use agent_core::text::shown_path;

use crate::exit::{Failure, Outcome};
use crate::limits;
use crate::lines::whole_line;
use crate::output::Output;
use crate::signals::survive_file_size_limit;

/// Opens what is stored for `work`; `nothing` is for when there is no database yet. Creates nothing.
pub(crate) fn look(
    output: &mut Output,
    nothing: impl FnOnce(&Path, &mut Output) -> Outcome,
    work: impl AsyncFnOnce(&Archive, &mut Output) -> Outcome,
) -> Outcome {
    limits::runtime()?.block_on(async {
        survive_file_size_limit();
        let opened = opening(archive::open(&Location::default()), output).await;
        let archive = match opened {
            Ok(archive) => archive,
            Err(BuildError::NothingStored { path }) => return nothing(&path, output),
            Err(error) => return Err(error.into()),
        };
        let outcome = work(&archive, output).await;
        archive.close().await;
        outcome
    })
}

/// After so long it is said what is waited for.
pub(crate) const SILENT: Duration = Duration::from_secs(2);
/// What is said then.
const WAITING: &str = "waiting for the session database: another program may have it locked";

/// Waits for the database. Another program may have it locked, for longer than a person waits without a word.
pub(crate) async fn opening<T>(work: impl Future<Output = T>, output: &mut Output) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        opened = &mut work => return opened,
        () = tokio::time::sleep(SILENT) => {}
    }
    output.note(WAITING);
    work.await
}

/// A beginning of an id stands for it from so many characters behind the kind on.
const LEAST: usize = 8;
/// Lists on a terminal show so many at least.
const SHOWN: usize = 12;
/// So many are named of those that begin alike.
const NAMED: u32 = 5;

/// The session a person means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one that was used last.
    Last,
    /// This one, or the only one that begins so.
    Id(SessionId),
}

impl Which {
    /// Reads it from where it was written: an option, or the argument `SESSION`.
    pub(crate) fn parse(place: &str, text: &str) -> Result<Self, Failure> {
        if text == "last" {
            return Ok(Self::Last);
        }
        session_id(place, text).map(Self::Id)
    }

    /// What was written of its id, if something was.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Last => None,
            Self::Id(written) => Some(written.as_str()),
        }
    }

    /// Its id; `last` is that of a project, by default of the one that holds the current folder.
    pub(crate) async fn find(self, archive: &Archive, project: Option<&Path>) -> Result<SessionId, Failure> {
        match self {
            Self::Id(written) => whole(archive, written).await,
            Self::Last => {
                let folder = project_folder(project)?;
                let latest = match project {
                    Some(_) => latest(archive, &folder).await?,
                    None => held(archive, &folder).await?.map(|(_, session)| session),
                };
                latest.ok_or_else(|| no_session_of(&folder))
            }
        }
    }

    /// The same, and where `last` is of a project above the current folder, a line says so.
    pub(crate) async fn found(
        self,
        archive: &Archive,
        project: Option<&Path>,
        output: &mut Output,
    ) -> Result<SessionId, Failure> {
        if self == Self::Last && project.is_none() {
            let folder = project_folder(None)?;
            let (holder, session) = held(archive, &folder).await?.ok_or_else(|| no_session_of(&folder))?;
            if holder != folder {
                output.note(&lies_in(&holder));
            }
            return Ok(session);
        }
        self.find(archive, project).await
    }
}

/// The project above the current folder whose session `last` is, where the folder itself has none: a run takes place there.
pub(crate) async fn project_above() -> Option<PathBuf> {
    let folder = project_folder(None).ok()?;
    // What cannot be opened is told by the run.
    let archive = archive::open(&Location::default()).await.ok()?;
    let found = held(&archive, &folder).await;
    archive.close().await;
    let (holder, _) = found.ok()??;
    (holder != folder).then(|| path_from_text(&holder))
}

/// That a session belongs to a project above the current folder.
pub(crate) fn lies_in(project: &str) -> String {
    format!("this folder has no session of its own; it lies in the project {}", whole_line(&below_home(project)))
}

async fn latest(archive: &Archive, project: &str) -> Result<Option<SessionId>, Failure> {
    let filter = SessionFilter { cwd: Some(project.to_owned()) };
    match archive.list_sessions(&filter, 1, 0).await?.pop() {
        None => Ok(None),
        Some(Ok(latest)) => Ok(Some(latest.summary.session.session_id)),
        Some(Err(damaged)) => Err(Failure::failed(format!(
            "the latest session of {project}, {}, is damaged: {}; name the one that is meant, or: {REPAIR}",
            whole_line(&damaged.session),
            damaged.error.payload().message
        ))),
    }
}

/// The nearest project with a session that is, or holds, a folder, and that session.
async fn held(archive: &Archive, folder: &str) -> Result<Option<(String, SessionId)>, Failure> {
    for folder in holders(&path_from_text(folder), home().as_deref()) {
        let project = project_name(folder);
        if let Some(session) = latest(archive, &project).await? {
            return Ok(Some((project, session)));
        }
    }
    Ok(None)
}

/// The current folder, and those above it that may be its project.
pub(crate) fn current_holders() -> Result<Vec<PathBuf>, Failure> {
    let folder = path_from_text(&project_folder(None)?);
    Ok(holders(&folder, home().as_deref()).into_iter().map(Path::to_owned).collect())
}

/// A folder, and those above it that may be its project: no further than to a repository's root, and neither the user's home nor
/// the root of the file system, of which everything is a part.
fn holders<'p>(folder: &'p Path, home: Option<&Path>) -> Vec<&'p Path> {
    let mut holders = vec![folder];
    let above = folder.ancestors().zip(folder.ancestors().skip(1));
    for (below, above) in above {
        if below.join(".git").symlink_metadata().is_ok() || Some(above) == home || above.parent().is_none() {
            break;
        }
        holders.push(above);
    }
    holders
}

/// Whether a beginning of an id says enough to stand for it.
pub(crate) fn is_long_enough(beginning: &SessionId) -> bool {
    beginning.as_str().len() >= SessionId::PREFIX.len() + LEAST
}

/// The session that is called so or, if there is none, the one that begins so. One that is not there is for whoever looks it
/// up to miss.
async fn whole(archive: &Archive, written: SessionId) -> Result<SessionId, Failure> {
    let mut found = archive.sessions_beginning(written.as_str(), NAMED + 1).await?;
    let is_short = !is_long_enough(&written);
    match found.as_slice() {
        [] => Ok(written),
        [first, ..] if *first == written => Ok(written),
        _ if is_short => Err(Failure::usage(format!(
            "there is no session {written}; a beginning of an id needs at least {LEAST} characters behind {}; `soong-agent \
             sessions` lists them",
            SessionId::PREFIX
        ))),
        [one] => Ok(one.clone()),
        _ => {
            let more = if found.len() > NAMED as usize { " and others" } else { "" };
            found.truncate(NAMED as usize);
            let named = found.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", ");
            Err(Failure::usage(format!("several sessions begin with {written}: {named}{more}; write more of the id")))
        }
    }
}

/// The beginning of an id that lists on a terminal show: no other session begins so.
pub(crate) async fn short(archive: &Archive, id: &SessionId) -> Result<String, Failure> {
    let whole = id.as_str();
    let mut length = SessionId::PREFIX.len() + SHOWN;
    // Ids are ASCII.
    while let Some(beginning) = whole.get(..length).filter(|beginning| beginning.len() < whole.len()) {
        let found = archive.sessions_beginning(beginning, 2).await?;
        let Some(other) = found.iter().find(|other| *other != id) else { return Ok(beginning.to_owned()) };
        length = 1 + whole.bytes().zip(other.as_str().bytes()).take_while(|(one, other)| one == other).count();
    }
    Ok(whole.to_owned())
}

/// An id as it was written.
fn session_id(place: &str, text: &str) -> Result<SessionId, Failure> {
    let hint = "`soong-agent sessions` lists them";
    SessionId::parse(text).map_err(|error| Failure::usage(format!("{place}: {error}; {hint}")))
}

fn no_session_of(project: &str) -> Failure {
    Failure::usage(format!("there is no session of {project} yet; `soong-agent sessions` lists those of all projects"))
}

/// What is to be said where nothing is stored beside folders of sessions: this is no new home.
pub(crate) fn lost_database(path: &Path) -> Option<String> {
    let folders = match archive::session_folders(path) {
        0 => return None,
        1 => "one session folder is there and its".to_owned(),
        more => format!("{more} session folders are there and their"),
    };
    Some(format!(
        "{folders} database is not: {} is missing or empty. If you have a copy of it, put it back before anything is run: a run \
         begins a new one",
        whole_line(&shown_path(path))
    ))
}

/// Nothing is stored, though a session was asked for.
pub(crate) fn nothing_yet(path: &Path) -> Failure {
    if let Some(lost) = lost_database(path) {
        return Failure::failed(lost);
    }
    Failure::usage(format!("there is no session yet: nothing is stored at {}; {BEGIN}", shown_path(path)))
}

/// What can be done about damage.
pub(crate) const REPAIR: &str = "`soong-agent sessions repair` makes a database of what can be read";

/// How the first session comes about.
pub(crate) const BEGIN: &str = "begin one with: soong-agent run \"What does this project do?\"";

/// The project folder as sessions name it: links resolved, the folder of a file. One that is gone may still have sessions.
pub(crate) fn project_folder(given: Option<&Path>) -> Result<String, Failure> {
    let unusable = |error: std::io::Error| Failure::usage(format!("the project folder cannot be found: {error}"));
    let named = match given {
        Some(path) => std::path::absolute(path).map_err(unusable)?,
        None => std::env::current_dir().map_err(|error| {
            Failure::usage(format!("the current folder cannot be found: {error}; name the project with --path"))
        })?,
    };
    let real = real(&named);
    let folder = match real.parent() {
        Some(parent) if real.is_file() => parent.to_owned(),
        _ => real,
    };
    Ok(project_name(&folder))
}

/// The path with every link of its existing part resolved, and what no longer exists behind it.
fn real(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?)));
    existing.map_or_else(|| path.to_owned(), |(part, rest)| part.components().chain(rest.components()).collect())
}

/// A folder as people write it: their home is `~`.
pub(crate) fn below_home(folder: &str) -> String {
    under(folder, home().as_deref())
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

fn under(folder: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(folder).strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_is_a_tilde() {
        let home = Some(Path::new("/home/u"));
        for (folder, shown) in [("/home/u", "~"), ("/home/u/a/b", "~/a/b"), ("/home/user", "/home/user"), ("/", "/")] {
            assert_eq!(under(folder, home), shown);
        }
        assert_eq!(under("/home/u", None), "/home/u");
    }

    /// FND-73: what may be the project of a folder.
    #[test]
    fn projects_above() {
        let root = agent_testkit::scratch("projects-above");
        let deep = root.join("home/work/repository/src/deep");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(root.join("home/work/repository/.git")).unwrap();
        let names = |folder: &Path, home: Option<&Path>| -> Vec<String> {
            let below = holders(folder, home).into_iter().filter_map(|it| it.strip_prefix(&root).ok());
            below.map(|it| it.display().to_string()).collect()
        };
        let repository = ["home/work/repository/src/deep", "home/work/repository/src", "home/work/repository"];
        assert_eq!(names(&deep, None), repository);
        assert_eq!(names(&root.join("home/work/other"), Some(&root.join("home"))), ["home/work/other", "home/work"]);
        assert_eq!(names(&root.join("home"), Some(&root.join("home")))[0], "home", "the home itself, if one is there");
        assert_eq!(holders(Path::new("/a/b"), None), [Path::new("/a/b"), Path::new("/a")]);
        assert_eq!(holders(Path::new("/"), None), [Path::new("/")]);
    }

    #[test]
    fn which_session() {
        assert_eq!(Which::parse("SESSION", "last").unwrap(), Which::Last);
        assert!(matches!(Which::parse("SESSION", "sess_1"), Ok(Which::Id(id)) if id.as_str() == "sess_1"));
        for bad in ["", "Last", "run_1", "sess_a/b"] {
            let failure = Which::parse("SESSION", bad).unwrap_err();
            assert!(failure.exit.number() == 2 && failure.message.starts_with("SESSION: "), "{}", failure.message);
        }
    }
}
