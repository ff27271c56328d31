//! Looking back at sessions and clearing them away. Needs no provider and no tool.

mod change;
mod cleanup;
mod context;
mod inspect;
mod listing;
mod rebuild;
mod replay;
mod screen;

use std::sync::Arc;

use agent_protocol::{Node, NodeId, RunId, SessionId};
use agent_redact::SecretPatterns;
use agent_store::{
    ClaimedSession, ReplayScope, RunInfo, SessionArchive, SessionFilter, SessionInfo, SessionStore, StoreError,
};

pub use cleanup::{ArtifactCleanup, CleanupCandidate, CleanupFailure, CleanupReason, CleanupResult};
pub use context::{
    BlockReport, CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextReport,
    ContextRun, EpochContext, Estimates, PinnedNode, RequestContext, RequestOutcome, RequestReport, WindowShares,
};
pub use inspect::{RunInspection, TurnInspection, TurnReply, TurnReport};
pub use listing::{SessionHit, SessionListing, Standing};
pub use rebuild::Missing;
pub use replay::{Replay, ReplayResult};

use crate::RuntimeError;
use screen::Screen;

/// Looks back at sessions and clears them away.
///
/// What looks like a secret is shown only where `include_sensitive` asks for it (STO-10); listings and searches never show
/// it. What changes something claims the session for as long as that takes, and is refused while somebody else owns it.
#[derive(Clone)]
pub struct Archive {
    store: Arc<dyn SessionStore>,
    archive: Arc<dyn SessionArchive>,
    screen: Screen,
    /// Whether the store is its own to close.
    closes: bool,
}

impl Archive {
    /// An archive with a store of its own, which [`close`](Self::close) closes.
    #[must_use]
    #[doc(hidden)]
    pub fn new(store: Arc<dyn SessionStore>, archive: Arc<dyn SessionArchive>) -> Self {
        Self { store, archive, screen: Screen::default(), closes: true }
    }

    /// The archive of a runtime, whose store it shares.
    #[must_use]
    #[doc(hidden)]
    pub fn shared(store: Arc<dyn SessionStore>, archive: Arc<dyn SessionArchive>, patterns: SecretPatterns) -> Self {
        Self { store, archive, screen: Screen::of(patterns), closes: false }
    }

    /// At most `limit` sessions after the first `offset`, the one used last first: whose run began or ended last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn list_sessions(
        &self,
        filter: &SessionFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<SessionListing>, RuntimeError> {
        let found = self.told(self.archive.list_sessions(filter, limit, offset).await)?;
        let mut listings = Vec::with_capacity(found.len());
        for summary in found {
            listings.push(self.listing(summary).await?);
        }
        Ok(listings)
    }

    /// At most `limit` ids of sessions that begin with `prefix`; one that is the prefix itself comes first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn sessions_beginning(&self, prefix: &str, limit: u32) -> Result<Vec<SessionId>, RuntimeError> {
        self.told(self.archive.sessions_beginning(prefix, limit).await)
    }

    /// At most `limit` sessions in which every word occurs, after the first `offset`. A word that ends with `*` stands for
    /// all words that begin so.
    ///
    /// # Errors
    /// If there is no word in `words`, or the store cannot be read.
    pub async fn search_sessions(
        &self,
        words: &str,
        filter: &SessionFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<SessionHit>, RuntimeError> {
        let found = self.told(self.archive.search(words, filter, limit, offset).await)?;
        let mut hits = Vec::with_capacity(found.len());
        for hit in found {
            hits.extend(self.show_hit(hit).await?);
        }
        Ok(hits)
    }

    /// One session, as it stands in a list.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn session(&self, id: &SessionId) -> Result<SessionListing, RuntimeError> {
        let summary = self.told(self.archive.session_summary(id).await)?;
        self.listing(summary.ok_or_else(|| no_session(id))?).await
    }

    /// Events, nodes and artifacts of a session from `from_seq` to `to_seq`, both included; of its own agent only, the others
    /// are summarised (STO-9).
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn replay_session(
        &self,
        id: &SessionId,
        from_seq: Option<u64>,
        to_seq: Option<u64>,
        include_sensitive: bool,
    ) -> Result<Replay, RuntimeError> {
        let session = self.session_row(id).await?;
        let scope = ReplayScope::Session {
            session_id: id.clone(),
            from_seq,
            to_seq,
            agent_id: Some(session.root_agent_id.clone()),
        };
        self.replay(session, None, scope, include_sensitive).await
    }

    /// The same of all its agents, internal ones as well: for debugging.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn replay_all_agents(&self, id: &SessionId, include_sensitive: bool) -> Result<Replay, RuntimeError> {
        let session = self.session_row(id).await?;
        let scope = ReplayScope::Session { session_id: id.clone(), from_seq: None, to_seq: None, agent_id: None };
        self.replay(session, None, scope, include_sensitive).await
    }

    /// Events, nodes and artifacts of a run.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn replay_run(&self, id: &RunId, include_sensitive: bool) -> Result<Replay, RuntimeError> {
        let run = self.run_row(id).await?;
        let session = self.session_row(&run.session_id).await?;
        self.replay(session, Some(run), ReplayScope::Run(id.clone()), include_sensitive).await
    }

    /// The path from the root to a node, root first.
    ///
    /// # Errors
    /// If there is no such node, or the store cannot be read.
    pub async fn get_node_path(&self, id: &NodeId, include_sensitive: bool) -> Result<Vec<Node>, RuntimeError> {
        let node = self.node_row(id).await?;
        let path = self.told(self.store.load_path(&node.session_id, id).await)?;
        if include_sensitive {
            return Ok(path);
        }
        self.screen.shown(path, |patterns, path| path.iter_mut().for_each(|node| screen::node(patterns, node))).await
    }

    /// Closes the store if it is this archive's own; a runtime closes its own. Calling it again does nothing.
    pub async fn close(&self) {
        if self.closes {
            self.store.close().await;
        }
    }

    async fn session_row(&self, id: &SessionId) -> Result<SessionInfo, RuntimeError> {
        self.told(self.store.session(id).await)?.ok_or_else(|| no_session(id))
    }

    async fn run_row(&self, id: &RunId) -> Result<RunInfo, RuntimeError> {
        self.told(self.store.run(id).await)?.ok_or_else(|| not_found("run", id))
    }

    async fn node_row(&self, id: &NodeId) -> Result<Node, RuntimeError> {
        self.told(self.store.node(id).await)?.ok_or_else(|| not_found("node", id))
    }

    async fn claim(&self, id: &SessionId) -> Result<ClaimedSession, RuntimeError> {
        self.told(self.store.claim_session(id, None).await)
    }

    /// What the store said. The cause of a damaged row may quote it, so it is shown like all that is stored.
    fn told<T>(&self, said: Result<T, StoreError>) -> Result<T, RuntimeError> {
        said.map_err(|error| self.screen.error(error))
    }
}

fn no_session(id: &SessionId) -> RuntimeError {
    StoreError::SessionNotFound { session_id: id.clone() }.into()
}

fn not_found(kind: &'static str, id: &impl ToString) -> RuntimeError {
    RuntimeError::NotFound { kind, id: id.to_string() }
}
