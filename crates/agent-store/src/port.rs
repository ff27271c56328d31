//! The port: what the runtime asks of a session store, in words of sessions and not of a database.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agent_protocol::{AgentId, ArtifactId, EventType, Node, NodeId, RunId, RuntimeEvent, SessionId};

use crate::error::StoreError;
use crate::hash::ContentHash;
use crate::lease::{ClaimedSession, Lease};
use crate::rows::{AgentInfo, ArtifactInfo, FileVersion, LoadedAgent, Recent, RecentPath, RunInfo, SessionInfo};
use crate::write::{Commit, Committed, NewSession};

/// What the port's operations return: boxed, so that a store can stand behind `dyn SessionStore`.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps sessions: their agents, runs, nodes, events, artifacts and blobs.
///
/// Writes need a [`Lease`]; reads do not, never wait for a writer, and see every commit that was reported before they
/// began. A write whose future is dropped may still take place.
pub trait SessionStore: Send + Sync {
    /// Makes a session and its root agent (idle), and takes ownership of it.
    ///
    /// # Errors
    /// [`StoreError::SessionExists`] if the id is taken.
    fn create_session(&self, new: NewSession) -> StoreFuture<'_, Lease>;

    /// Takes ownership of a session that exists. It lasts until the lease is dropped or its process ends. With a project
    /// folder only a session of that project is claimed (COD-10); another one is left as it is.
    ///
    /// # Errors
    /// [`StoreError::SessionNotFound`], [`StoreError::OtherProject`], or [`StoreError::SessionActive`] while somebody else
    /// owns it, in this process or another (RUN-4); in this order.
    fn claim_session(&self, session_id: &SessionId, project: Option<&str>) -> StoreFuture<'_, ClaimedSession>;

    /// Stores everything in `commit`, or nothing of it. Runs of several agents may commit under one lease at once.
    ///
    /// # Errors
    /// [`StoreError::FenceLost`] if the session has been taken over meanwhile: the caller must stop what it does there.
    fn commit(&self, lease: &Lease, commit: Commit) -> StoreFuture<'_, Committed>;

    /// A session, if there is one.
    fn session(&self, session_id: &SessionId) -> StoreFuture<'_, Option<SessionInfo>>;

    /// An agent, if there is one.
    fn agent(&self, agent_id: &AgentId) -> StoreFuture<'_, Option<AgentInfo>>;

    /// What a run of an agent needs besides the path, as of one moment. It does not take longer the more the session holds.
    ///
    /// # Errors
    /// [`StoreError::NotInSession`] if the session has no such agent.
    fn load_agent(&self, session_id: &SessionId, agent_id: &AgentId) -> StoreFuture<'_, LoadedAgent>;

    /// The run of a session's root agent that began last, if one has.
    fn last_run(&self, session_id: &SessionId) -> StoreFuture<'_, Option<RunInfo>>;

    /// A node, if there is one.
    fn node(&self, node_id: &NodeId) -> StoreFuture<'_, Option<Node>>;

    /// A run, if there is one.
    fn run(&self, run_id: &RunId) -> StoreFuture<'_, Option<RunInfo>>;

    /// An artifact, if there is one.
    fn artifact(&self, artifact_id: &ArtifactId) -> StoreFuture<'_, Option<ArtifactInfo>>;

    /// The runs of a session that have not ended, those of all its agents, in the order in which they began. For the
    /// session's new owner these are the runs whose process is gone (RUN-20). A run of which `agent_id` is not the session's
    /// `root_agent_id` is one that no user began.
    fn unfinished_runs(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<RunInfo>>;

    /// The path from the root to `leaf`, root first. Nothing beside the path is read (STO-7).
    ///
    /// # Errors
    /// [`StoreError::NotInSession`] if the session has no such node.
    fn load_path(&self, session_id: &SessionId, leaf: &NodeId) -> StoreFuture<'_, Vec<Node>>;

    /// The end of the path from the root to `leaf`: as much as `recent` asks for, beginning with no result of a call, and
    /// before it what is always wanted. Where a summary stands for the beginning, the end begins no earlier than what the
    /// summary keeps; the summary itself is in. Only the bodies of those are read, and it takes no longer the longer the path is.
    ///
    /// # Errors
    /// [`StoreError::NotInSession`] if the session has no such node.
    fn load_recent(&self, session_id: &SessionId, leaf: &NodeId, recent: &Recent) -> StoreFuture<'_, RecentPath>;

    /// At most `limit` events of a session after `after_seq` (0: from the first), in order.
    fn events(&self, session_id: &SessionId, after_seq: u64, limit: u32) -> StoreFuture<'_, Vec<RuntimeEvent>>;

    /// At most `limit` events of a run after `after_run_seq` (0: from the first), in order.
    fn run_events(&self, run_id: &RunId, after_run_seq: u64, limit: u32) -> StoreFuture<'_, Vec<RuntimeEvent>>;

    /// The newest event of a session of one type. For `compact_*` and `memory_extraction_*` it is looked up; any other type is
    /// looked for from the end of the session backwards, through all of its events if it has none.
    fn last_event(&self, session_id: &SessionId, event_type: EventType) -> StoreFuture<'_, Option<RuntimeEvent>>;

    /// At most `limit` messages of the user to an agent after a place (0: from the first), on all of its branches, in the order
    /// in which they were stored; not those that core wrote in the user's place (`synthetic`).
    fn user_messages(
        &self,
        session_id: &SessionId,
        agent_id: &AgentId,
        after_node_seq: u64,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Node>>;

    /// The newest of those messages, the newest first.
    fn newest_user_messages(
        &self,
        session_id: &SessionId,
        agent_id: &AgentId,
        after_node_seq: u64,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Node>>;

    /// At most `limit` nodes of a session between two places, both included, of all its agents and branches, in the order in
    /// which they were stored.
    fn nodes_between(
        &self,
        session_id: &SessionId,
        from_node_seq: u64,
        to_node_seq: u64,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Node>>;

    /// The last version an agent has seen of every file (COD-5), by path.
    fn file_versions(&self, session_id: &SessionId, agent_id: &AgentId) -> StoreFuture<'_, Vec<FileVersion>>;

    /// What the agents of a session wrote and have not seen changed since, by path: for a file that several of them wrote,
    /// one each, of which the one with the hash of the present content tells who wrote that.
    fn written_files(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<FileVersion>>;

    /// Bytes that were stored under their hash (STO-13).
    fn blob(&self, session_id: &SessionId, hash: &ContentHash) -> StoreFuture<'_, Option<Arc<[u8]>>>;

    /// Finishes what has been asked for and closes the store. Calling it again does no harm; other operations fail with
    /// [`StoreError::Closed`] from now on.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
