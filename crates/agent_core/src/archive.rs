//! What was stored: listing, searching, replaying, inspecting and clearing it away, without a model server.
//!
//! [`open`] gives an [`Archive`]; an open runtime has one, too ([`AgentRuntime::archive`](crate::AgentRuntime::archive)).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use agent_archive::{
    AgentTree, Archive, ArtifactCleanup, BlockReport, ChildInspection, ChildPlace, CleanupCandidate, CleanupFailure,
    CleanupKept, CleanupReason, CleanupResult, CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd,
    ContextEntry, ContextReport, ContextRun, DispatchedStepView, EpochContext, FoundSessions, PinnedNode, Replay,
    ReplayResult, RequestContext, RequestOutcome, RequestReport, RunInspection, SessionHit, SessionListing, Standing,
    StepView, TaskArchive, TaskCleanup, TaskDamage, TaskLog, TaskSession, TaskView, Timeline, TimelineCall,
    TimelineChild, TimelineChildEnd, TimelineEnd, TimelineEntry, TimelineFile, TimelineFold, TimelineOptions,
    TimelineOutcome, TimelineQuestion, TimelineScope, TimelineStep, TimelineTail, TreeAgent, TreeRun, TurnInspection,
    TurnReply, TurnReport, UnreadableEvent, WindowShares, WorkerPlace,
};
pub use agent_protocol::Estimates;
use agent_protocol::SessionId;
use agent_runtime::EventIds;
use agent_store::{Clock, SqliteStore};
pub use agent_store::{
    DamagedEntry, DamagedSession, DeletedArtifacts, DeletedSession, FileFailure, Repaired, ReplayCursor, ReplayPage,
    SessionFilter, SessionSummary,
};
use agent_tasks::Moment;
pub use agent_tasks::{StepCounts, StepId, StepStatus, TaskId, TaskStatus};

use crate::environment::{Environment, resolved};
use crate::error::{ArchiveError, BuildError};
use crate::location::Location;
use crate::settings::{sessions_dir, store_settings};
use crate::task_logs::TaskLogs;

/// Makes a new session database of what a damaged one still gives, and puts it in its place. The damaged one is set aside,
/// unchanged.
///
/// # Errors
/// [`BuildError::NothingStored`] where there is no database; one that is in use, or none of ours; see
/// [`StoreError`](crate::error::StoreError).
pub async fn repair(location: &Location) -> Result<Repaired, BuildError> {
    let database = database(location)?;
    if SqliteStore::is_unused(&database) {
        return Err(BuildError::NothingStored { path: database });
    }
    Ok(SqliteStore::repair(store_settings(database)).await?)
}

/// Opens what was stored. Needs no model server, and no configuration where the database is named. Where there is no database
/// none is made.
///
/// # Errors
/// [`BuildError::NothingStored`] where there is nothing yet, what is wrong with the configuration, a database that cannot be
/// opened.
pub async fn open(location: &Location) -> Result<Archive, BuildError> {
    let database = database(location)?;
    if SqliteStore::is_unused(&database) {
        return Err(BuildError::NothingStored { path: database });
    }
    let store = Arc::new(SqliteStore::open_to_look(store_settings(database)).await?);
    Ok(Archive::new(Arc::clone(&store) as _, store))
}

/// Opens the Tasks of the location's project. Their logs stand alone: no session database is needed, and none is looked at.
///
/// # Errors
/// What is wrong with the configuration, which says where the logs are.
pub fn open_tasks(location: &Location) -> Result<TaskArchive, BuildError> {
    let loaded = location.load_to_look(Environment::look())?;
    let settings = loaded.settings();
    // Keys of profiles that agent definitions bring along are masked where a log is written; they are not read for looking.
    let secrets = settings.secrets(&[])?.into();
    Ok(TaskLogs::new(&settings, secrets).of(&settings.places.project))
}

/// Cancels the Task of a log for a person, with its steps. No process may have the log open: whoever works on the Task is to end first.
///
/// # Errors
/// Why the Task is as it was.
pub fn cancel_task(tasks: &TaskArchive, log: &TaskLog, reason: Option<&str>) -> Result<TaskView, ArchiveError> {
    let ids = EventIds::unique();
    tasks.cancel(log, reason, Moment::from_millis(Clock::system().unix_millis()), &|| ids.next())
}

/// How many sessions have a folder beside this database. Where there are some and nothing is stored, the database is lost.
#[must_use]
pub fn session_folders(database: &Path) -> u64 {
    let entries = fs::read_dir(sessions_dir(database)).into_iter().flatten().flatten();
    let names =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.file_name());
    names.filter(|name| name.to_str().is_some_and(|name| SessionId::parse(name).is_ok())).count() as u64
}

/// Where the database is. The project is of no concern here.
fn database(location: &Location) -> Result<PathBuf, BuildError> {
    let environment = Environment::look();
    Ok(match location.database(&environment)? {
        Some(path) => resolved(&path),
        None => location.load_to_look(environment)?.settings().store().database,
    })
}
