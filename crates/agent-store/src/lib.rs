//! Where sessions live: the store port, its SQLite implementation, and the files of artifacts.
//!
//! What it promises:
//!
//! - a commit is one transaction: all of its writes are there afterwards, or none, and what was reported as committed
//!   survives the end of the process at any moment;
//! - a session has one owner at a time, held by the operating system and checked again inside every transaction;
//! - `node_seq` and `seq` are gapless, because only the store gives them;
//! - a file that is damaged, foreign or from a newer version is refused and left as it is; a stored row that cannot be
//!   read is an error that names it, never a default;
//! - no caller's thread ever runs SQLite.
//!
//! What it is deliberately not: it does not know what a node or an event *means* (which node is active, when a run has
//! failed, what belongs into a prompt); it never deletes on its own; it redacts nothing, excerpts of a search included.
//!
//! Only this crate knows SQL. The port speaks of sessions, commits and leases, so that another database can stand behind
//! it.
//!
//! Reading order: [`SessionStore`] (the port), [`Commit`] and [`Write`] (what goes in), [`SqliteStore`] (the
//! implementation); then [`ArtifactWriter`] for files, and [`SessionArchive`] for looking back and clearing away. The layout
//! on disk and its assumptions are described in `docs/design/session-store.md`.

mod archive;
mod artifact;
mod error;
mod folders;
mod hash;
mod lease;
mod limit;
mod lock;
mod port;
mod private;
mod rows;
mod settings;
mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;
mod write;

pub use archive::{
    ArtifactPlace, DamagedEntry, DamagedSession, DeletedArtifacts, DeletedSession, FileFailure, PlacedArtifact,
    ReplayCursor, ReplayPage, ReplayScope, SearchHit, SearchPage, SessionArchive, SessionFilter, SessionSummary,
    StrayFile,
};
pub use artifact::{ArtifactFile, ArtifactWriter};
pub use error::{Cause, StoreError};
pub use hash::{ContentHash, ContentHashError};
pub use lease::{ClaimedSession, Lease};
pub use limit::Limit;
pub use port::{SessionStore, StoreFuture};
pub use rows::{
    AgentInfo, ArtifactInfo, FileVersion, LastContext, LoadedAgent, Owner, Recent, RecentPath, RecentWords, RunInfo,
    SessionInfo, SessionStatus,
};
pub use settings::{Clock, StoreSettings};
pub use sqlite::{Repaired, SqliteStore};
pub use write::{Commit, Committed, NewAgent, NewArtifact, NewRun, NewSession, Write};
