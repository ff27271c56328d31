//! `soong-agent cleanup session`.

use agent_core::archive::{self, Archive, ArtifactCleanup, DeletedSession, FileFailure, SessionListing};
use agent_core::config::Location;
use agent_core::error::{ArchiveError, RuntimeError, StoreError};
use agent_core::id::SessionId;
use agent_core::permission::path_from_text;
use agent_core::text::{quote_argv, shorten, shown_path};

use crate::exit::{Exit, Failure, Outcome};
use crate::lines::{counted, one_line, whole_line};
use crate::moment;
use crate::output::{Colour, Output};
use crate::size::readable;
use crate::stored::below_home;

/// The beginning of a message that a person recognises a session by.
const TITLE: usize = 60;

/// What would go with a session.
pub(super) async fn show(archive: &Archive, id: &SessionId, output: &mut Output) -> Outcome {
    let listing = archive.session(id).await?;
    if let Some(owner) = listing.owner {
        let in_use = StoreError::SessionActive { session_id: id.clone(), owner: Some(owner) };
        return Err(RuntimeError::Store(in_use).into());
    }
    let (mut events, mut nodes) = (0, 0);
    let mut replay = archive.replay_session(id, None, None, true).await?;
    while let Some(page) = replay.next().await? {
        events += page.events.len() as u64;
        nodes += page.nodes.len() as u64;
    }
    let all = ArtifactCleanup { session_id: Some(id.clone()), include_all: true, ..ArtifactCleanup::default() };
    let files = archive.cleanup_artifacts(&all).await?;
    say_which(&listing, output);
    let went =
        Went { runs: listing.summary.runs, nodes, events, files: files.candidates.len() as u64, bytes: files.bytes };
    output.page(&went.line(id));
    tasks_stay(&listing, output);
    let words = ["soong-agent", "cleanup", "session", id.as_str(), "--yes"];
    output.note(&format!("nothing was removed. To remove it: {}", words.join(" ")));
    Ok(Exit::Completed)
}

pub(super) async fn remove(archive: &Archive, id: &SessionId, output: &mut Output) -> Outcome {
    // One that cannot be listed can be removed all the same.
    let listing = archive.session(id).await;
    let deleted = match archive.delete_session(id).await {
        Err(ArchiveError::Store(StoreError::SessionNotFound { .. })) => return remains(archive, id, output).await,
        Err(error) if is_full(&error) => with_room(archive, id, error, output).await?,
        deleted => deleted?,
    };
    let DeletedSession { nodes, events, runs, artifacts, bytes, failures, index_left, .. } = deleted;
    if let Ok(listing) = &listing {
        say_which(listing, output);
    }
    output.page(&Went { runs, nodes, events, files: artifacts, bytes }.line(id));
    all_removed(&failures, output)?;
    if let Some(why) = index_left {
        output.note(&format!("words of it stay in the search index until the next search: {why}"));
    }
    if let Ok(listing) = &listing {
        tasks_stay(listing, output);
    }
    output.note("removed");
    Ok(Exit::Completed)
}

fn is_full(error: &ArchiveError) -> bool {
    matches!(error, ArchiveError::Store(StoreError::DiskFull { .. }))
}

/// Deleting rows writes before it frees anything. On a full disk the session's files go first, whose room may be enough.
async fn with_room(
    archive: &Archive,
    id: &SessionId,
    full: ArchiveError,
    output: &mut Output,
) -> Result<DeletedSession, Failure> {
    let freed = archive.delete_files(id).await?;
    let deleted = if freed.bytes == 0 {
        Err(full)
    } else {
        output.note(&format!("the disk is full: the files of the session went first, {}", readable(freed.bytes)));
        // What was opened on a full disk cannot write.
        let again = archive::open(&Location::default()).await?;
        let deleted = again.delete_session(id).await;
        again.close().await;
        deleted.map(|deleted| DeletedSession { bytes: deleted.bytes + freed.bytes, ..deleted })
    };
    deleted.map_err(|error| {
        let full = is_full(&error);
        let mut failure = Failure::from(error);
        if full {
            failure.message.push_str(
                "; removing a session writes before it frees room: make some elsewhere on that disk, as much as the session takes, \
                 and repeat the command",
            );
        }
        failure
    })
}

/// The rows are gone; files may be left of a removal that was broken off.
async fn remains(archive: &Archive, id: &SessionId, output: &mut Output) -> Outcome {
    let Some(deleted) = archive.delete_remains(id).await? else {
        return Err(RuntimeError::Store(StoreError::SessionNotFound { session_id: id.clone() }).into());
    };
    all_removed(&deleted.failures, output)?;
    output.note(&format!(
        "the session was removed before; what was left of its files, {}, is gone now",
        readable(deleted.bytes)
    ));
    Ok(Exit::Completed)
}

fn all_removed(failures: &[FileFailure], output: &mut Output) -> Result<(), Failure> {
    for failure in failures {
        output.error(&format!("not removed: {}: {}", shown_path(&failure.path), failure.message));
    }
    if failures.is_empty() {
        return Ok(());
    }
    let left = format!("the session is gone, but {} could not be removed", counted(failures.len() as u64, "file"));
    Err(Failure::failed(format!("{left}: remove what is named above by hand")))
}

/// By what a person knows it.
fn say_which(listing: &SessionListing, output: &mut Output) {
    let session = &listing.summary.session;
    let words = listing.summary.first_message.as_deref().map(one_line).filter(|words| !words.is_empty());
    let words = words.map(|words| format!("\"{}\", ", shorten(&words, TITLE))).unwrap_or_default();
    let project = whole_line(&below_home(&session.cwd));
    let used = moment::ago(&session.updated_at, moment::now());
    output.marked("session", Colour::Dim, &format!("{words}of {project}, last used {used}"));
}

/// The logs of a session's Tasks lie in its project and are not removed with it: how they are.
fn tasks_stay(listing: &SessionListing, output: &mut Output) {
    let session = &listing.summary.session;
    let project = path_from_text(&session.cwd);
    let tasks = match archive::open_tasks(&Location::default().project_dir(&project)) {
        Ok(tasks) => tasks,
        Err(error) => {
            output
                .note(&format!("whether it has Tasks, which stay, cannot be seen: {}", whole_line(&error.to_string())));
            return;
        }
    };
    let Some(found) = tasks.session(&session.session_id) else { return };
    let reads: Vec<_> = found.logs.iter().map(|log| tasks.read(log)).collect();
    let active: Vec<_> = reads.iter().flatten().filter(|view| !view.status.is_terminal()).collect();
    let folder = whole_line(&below_home(&tasks.wal_dir().join(session.session_id.as_str()).to_string_lossy()));
    let logs = counted(found.logs.len() as u64, "log");
    let at = ["--path".to_owned(), session.cwd.clone()];
    let command =
        |words: &[&str]| quote_argv(&[words.iter().map(|word| (*word).to_owned()).collect(), at.to_vec()].concat());
    let cleanup = command(&["soong-agent", "cleanup", "tasks", "--failed", "--cancelled"]);
    output.note(&format!("its Tasks stay: {logs} in {folder}. To see which can be removed: {cleanup}"));
    for view in active {
        let id = session.session_id.as_str();
        let cancel = command(&["soong-agent", "tasks", "cancel", view.task_id.as_str(), "--session", id]);
        output.note(&format!("Task {} has not ended. To end it: {cancel}", view.task_id));
    }
}

/// What goes with a session.
struct Went {
    runs: u64,
    nodes: u64,
    events: u64,
    files: u64,
    bytes: u64,
}

impl Went {
    fn line(&self, id: &SessionId) -> String {
        let Self { runs, nodes, events, files, bytes } = self;
        let (runs, nodes, events) = (counted(*runs, "run"), counted(*nodes, "message"), counted(*events, "event"));
        format!("{id}: {runs}, {nodes}, {events}, {}, {}\n", counted(*files, "file"), readable(*bytes))
    }
}
