//! The second port: looking back at sessions and clearing them away. A run needs none of it.

use agent_protocol::{AgentId, ArtifactId, Node, NodeId, Role, RunId, RuntimeEvent, SessionId, Timestamp};
use serde::Serialize;
use std::path::PathBuf;

use crate::error::StoreError;
use crate::lease::Lease;
use crate::port::StoreFuture;
use crate::rows::{AgentInfo, ArtifactInfo, Owner, RunInfo, SessionInfo};

/// Lists, searches, replays and deletes what a [`SessionStore`](crate::SessionStore) keeps.
///
/// Reads never wait for a writer and need no lease. What deletes needs the session's lease, so that nothing goes while
/// somebody works on it.
pub trait SessionArchive: Send + Sync {
    /// At most `limit` sessions after the first `offset`, the one used last first: whose root agent's run began or ended last.
    /// The order does not depend on the clock.
    ///
    /// Runs of other agents (a compaction, children) neither move a session in this order nor count in a
    /// [`SessionSummary`]. One that cannot be read has its place and counts.
    fn list_sessions(
        &self,
        filter: &SessionFilter,
        limit: u32,
        offset: u32,
    ) -> StoreFuture<'_, Vec<Result<SessionSummary, DamagedSession>>>;

    /// A session as a list shows it, if there is one.
    fn session_summary(&self, session_id: &SessionId) -> StoreFuture<'_, Option<SessionSummary>>;

    /// At most `limit` ids of sessions that begin with `prefix`, in the order of their bytes: one that is the prefix itself
    /// comes first. Any text may be looked for; what begins no id is found nowhere.
    fn sessions_beginning(&self, prefix: &str, limit: u32) -> StoreFuture<'_, Vec<SessionId>>;

    /// At most `limit` sessions in which every word of `words` occurs, in the order of [`list_sessions`](Self::list_sessions),
    /// after the first `offset`. A word that ends with `*` stands for all words that begin so. What the index lacks is added
    /// first, which takes write transactions. Only what the root agent's nodes say is found. At most 32 different words and 4 KiB of them count.
    ///
    /// # Errors
    /// [`StoreError::NothingToSearch`] if `words` holds no word.
    fn search(&self, words: &str, filter: &SessionFilter, limit: u32, offset: u32) -> StoreFuture<'_, SearchPage>;

    /// Who owns a session at this moment, in this process or another one; `None` if nobody does.
    fn owner(&self, session_id: &SessionId) -> StoreFuture<'_, Option<Owner>>;

    /// The runs of a session, of all its agents, oldest first: at most `limit` after the first `offset`.
    fn runs(&self, session_id: &SessionId, limit: u32, offset: u32) -> StoreFuture<'_, Vec<RunInfo>>;

    /// The last event of a run about a question to a person: that it was asked, or that it was answered.
    fn last_question(&self, run_id: &RunId) -> StoreFuture<'_, Option<RuntimeEvent>>;

    /// The agents of a session, oldest first; instead of one that cannot be read, why.
    fn agents(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<Result<AgentInfo, StoreError>>>;

    /// The runs of the agents that a run made, in the order in which they began.
    fn children(&self, run_id: &RunId) -> StoreFuture<'_, Vec<RunInfo>>;

    /// The part of a timeline that follows `after`: bounded in events and in bytes, so that a session of any size is read
    /// piece by piece. Pieces put together have every event, node and artifact of the scope once, each kind in its order.
    ///
    /// # Errors
    /// [`StoreError::SessionNotFound`] or
    /// [`StoreError::RunNotFound`].
    fn replay(&self, scope: &ReplayScope, after: ReplayCursor) -> StoreFuture<'_, ReplayPage>;

    /// Artifacts of a session in the order in which they were stored: at most `limit` after this place.
    fn artifacts(
        &self,
        session_id: &SessionId,
        after: Option<ArtifactPlace>,
        limit: u32,
    ) -> StoreFuture<'_, Vec<PlacedArtifact>>;

    /// Moves the end of the session's active path, which is its root agent's, to a node of that agent's tree.
    ///
    /// # Errors
    /// [`StoreError::NotInSession`] if that tree has no such node.
    fn activate(&self, lease: &Lease, node_id: &NodeId) -> StoreFuture<'_, ()>;

    /// Lets the session belong to another project folder. What it holds stays as it is.
    fn set_project(&self, lease: &Lease, cwd: &str) -> StoreFuture<'_, ()>;

    /// Removes the folder of a session that has no row, such as one whose deletion was broken off; `None` if there is nothing to
    /// remove, or a row.
    fn delete_remains(&self, session_id: &SessionId) -> StoreFuture<'_, Option<DeletedArtifacts>>;

    /// Removes the files of artifacts of a session that is about to be deleted, if nobody owns it. Nothing is written, so this works on
    /// a full disk, and makes room for what deleting the rows writes.
    ///
    /// # Errors
    /// [`StoreError::SessionActive`] if somebody owns it.
    fn delete_files(&self, session_id: &SessionId) -> StoreFuture<'_, DeletedArtifacts>;

    /// Deletes a session: its rows in one transaction, overwritten in the file, then its folder. The lock goes last.
    ///
    /// Files that cannot be removed are told and stay behind; their rows are gone.
    fn delete_session(&self, lease: Lease) -> StoreFuture<'_, DeletedSession>;

    /// Deletes artifacts of the lease's session: their rows, then their files. Ids that are not there are left out of the
    /// count.
    fn delete_artifacts(&self, lease: &Lease, artifact_ids: Vec<ArtifactId>) -> StoreFuture<'_, DeletedArtifacts>;

    /// Files below the sessions' folder that no row names (ART-1): what a killed process left behind. Sessions that somebody
    /// owns are passed over, since their files may be about to get their rows. With an id only that session's.
    fn stray_files(&self, session_id: Option<&SessionId>) -> StoreFuture<'_, Vec<StrayFile>>;

    /// Removes a stray file if it is still stray and nobody owns its session; whether it did.
    fn delete_stray(&self, file: &StrayFile) -> StoreFuture<'_, bool>;
}

/// Which sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those of this project folder.
    pub cwd: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionSummary {
    /// The session.
    pub session: SessionInfo,
    /// How many runs its root agent has.
    pub runs: u64,
    /// The one of them that began last.
    pub last_run: Option<RunInfo>,
    /// The beginning of its first message by a user: 400 characters, and `…` where there are more; none if there is no text.
    pub first_message: Option<String>,
}

/// A session that cannot be shown, because something of it cannot be read.
#[derive(Debug, Clone)]
pub struct DamagedSession {
    /// Its id as it is stored, which may be what is damaged.
    pub session: String,
    /// What cannot be read.
    pub error: StoreError,
}

impl PartialEq for DamagedSession {
    fn eq(&self, other: &Self) -> bool {
        (&self.session, self.error.to_string()) == (&other.session, other.error.to_string())
    }
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchPage {
    /// The sessions; one that cannot be read has its place and counts.
    pub hits: Vec<Result<SearchHit, DamagedSession>>,
    /// Sessions that could not be searched to their end, whether they were found or not. The same on every page.
    pub unsearched: Vec<DamagedSession>,
}

/// A session that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The session.
    pub summary: SessionSummary,
    /// The node that has most of the words, the newest of several.
    pub node_id: NodeId,
    /// Who said it.
    pub role: Role,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The text around the first word found, in one line, at most 200 characters; `…` stands where text was left out.
    pub excerpt: String,
    /// How many nodes of the session have one of the words.
    pub nodes: u64,
}

/// What to replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayScope {
    /// A session.
    Session {
        /// Which.
        session_id: SessionId,
        /// The first `seq`; from the beginning if absent.
        from_seq: Option<u64>,
        /// The last `seq`; to the end if absent.
        to_seq: Option<u64>,
        /// Only what belongs to this agent, or to none; all agents if absent.
        agent_id: Option<AgentId>,
    },
    /// A run.
    Run(RunId),
}

/// A place in a timeline. The default is its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayCursor {
    /// `seq` of the last event that was given out.
    pub seq: u64,
    /// `node_seq` of the last node that was given out.
    pub node_seq: u64,
}

/// A piece of a timeline. Nodes and artifacts stand in the piece of the event that they were stored with.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPage {
    /// Events, by `seq`.
    pub events: Vec<RuntimeEvent>,
    /// Nodes, by `node_seq`.
    pub nodes: Vec<Node>,
    /// Artifacts, in the order in which they were stored.
    pub artifacts: Vec<ArtifactInfo>,
    /// What of this piece cannot be read.
    pub damaged: Vec<DamagedEntry>,
    /// Where it goes on; `None` at the end.
    pub next: Option<ReplayCursor>,
}

/// A row of a timeline that cannot be read.
#[derive(Debug, Clone)]
pub struct DamagedEntry {
    /// `seq` of the last event before it that can be read.
    pub after: u64,
    /// What is wrong, with the row's table and id.
    pub error: StoreError,
}

impl PartialEq for DamagedEntry {
    fn eq(&self, other: &Self) -> bool {
        (self.after, self.error.to_string()) == (other.after, other.error.to_string())
    }
}

/// Where an artifact stands in its session's timeline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtifactPlace {
    /// `seq` of the first event that was stored with it or after it.
    pub seq: u64,
    /// Its id, for those stored together.
    pub artifact_id: ArtifactId,
}

/// An artifact and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedArtifact {
    /// Its place.
    pub place: ArtifactPlace,
    /// The artifact.
    pub artifact: ArtifactInfo,
    /// Whether its file is there.
    pub file_exists: bool,
}

/// What the deletion of a session removed.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedSession {
    /// The session.
    pub session_id: SessionId,
    /// Nodes removed.
    pub nodes: u64,
    /// Events removed.
    pub events: u64,
    /// Runs removed.
    pub runs: u64,
    /// Agents removed.
    pub agents: u64,
    /// Artifacts removed.
    pub artifacts: u64,
    /// Bytes of files removed.
    pub bytes: u64,
    /// Files that could not be removed.
    pub failures: Vec<FileFailure>,
    /// Why words of it may still be in the search index, until the next search clears them.
    pub index_left: Option<String>,
}

/// What the deletion of artifacts removed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeletedArtifacts {
    /// Those whose row and file are gone.
    pub deleted: Vec<ArtifactId>,
    /// Bytes of files removed.
    pub bytes: u64,
    /// Files that could not be removed; their rows are gone.
    pub failures: Vec<FileFailure>,
}

/// A file that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFailure {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system says.
    pub message: String,
}

/// A file without a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayFile {
    /// The session whose folder it lies in; the session itself may be gone.
    pub session_id: SessionId,
    /// Where it lies: an artifact's folder, or the folder of a session that is gone.
    pub path: PathBuf,
    /// Bytes of all files in it.
    pub bytes: u64,
    /// When it was last changed.
    pub modified: Timestamp,
}
