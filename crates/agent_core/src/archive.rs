//! What was stored: listing, searching, replaying, inspecting and clearing it away, without a model server.
//!
//! [`open`] gives an [`Archive`]; an open runtime has one, too ([`AgentRuntime::archive`](crate::AgentRuntime::archive)).

use std::sync::Arc;

pub use agent_archive::{
    AgentTree, Archive, ArtifactCleanup, BlockReport, CleanupCandidate, CleanupFailure, CleanupReason, CleanupResult,
    CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextReport, ContextRun,
    EpochContext, PinnedNode, Replay, ReplayResult, RequestContext, RequestOutcome, RequestReport, RunInspection,
    SessionHit, SessionListing, Standing, Timeline, TimelineCall, TimelineChildEnd, TimelineEnd, TimelineEntry,
    TimelineFile, TimelineFold, TimelineOptions, TimelineOutcome, TimelineQuestion, TimelineScope, TimelineStep,
    TimelineTail, TreeAgent, TreeRun, TurnInspection, TurnReply, TurnReport, UnreadableEvent, WindowShares,
};
pub use agent_protocol::Estimates;
use agent_store::SqliteStore;
pub use agent_store::{
    DeletedArtifacts, DeletedSession, FileFailure, ReplayCursor, ReplayPage, SessionFilter, SessionSummary,
};

use crate::config::location::Location;
use crate::environment::{Environment, resolved};
use crate::error::BuildError;
use crate::settings::store_settings;

/// Opens what was stored. Needs no model server, and no configuration where the database is named. Where there is no database
/// none is made.
///
/// # Errors
/// [`BuildError::NothingStored`] where there is nothing yet, what is wrong with the configuration, a database that cannot be
/// opened.
pub async fn open(location: &Location) -> Result<Archive, BuildError> {
    let environment = Environment::look();
    let database = match location.database(&environment)? {
        Some(path) => resolved(&path),
        None => location.load(environment)?.settings().store().database,
    };
    if SqliteStore::is_unused(&database) {
        return Err(BuildError::NothingStored { path: database });
    }
    let store = Arc::new(SqliteStore::open_to_look(store_settings(database)).await?);
    Ok(Archive::new(Arc::clone(&store) as _, store))
}
