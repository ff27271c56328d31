//! The archive itself: what is asked of it by name.

use std::sync::Arc;

use agent_protocol::{Node, NodeId, RunId, SessionId};
use agent_redact::SecretPatterns;
use agent_store::{ClaimedSession, RunInfo, SessionArchive, SessionInfo, SessionStore, StoreError};

use crate::error::ArchiveError;
use crate::screen::Screen;

/// Looks back at sessions and clears them away.
///
/// What looks like a secret is shown only where `include_sensitive` asks for it (STO-10); listings and searches never show
/// it. What changes something claims the session for as long as that takes, and is refused while somebody else owns it.
#[derive(Clone)]
pub struct Archive {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) archive: Arc<dyn SessionArchive>,
    pub(crate) screen: Screen,
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

    /// Closes the store if it is this archive's own; a runtime closes its own. Calling it again does nothing.
    pub async fn close(&self) {
        if self.closes {
            self.store.close().await;
        }
    }

    pub(crate) async fn session_row(&self, id: &SessionId) -> Result<SessionInfo, ArchiveError> {
        self.told(self.store.session(id).await)?.ok_or_else(|| no_session(id))
    }

    pub(crate) async fn run_row(&self, id: &RunId) -> Result<RunInfo, ArchiveError> {
        self.told(self.store.run(id).await)?.ok_or_else(|| not_found("run", id))
    }

    pub(crate) async fn node_row(&self, id: &NodeId) -> Result<Node, ArchiveError> {
        self.told(self.store.node(id).await)?.ok_or_else(|| not_found("node", id))
    }

    pub(crate) async fn claim(&self, id: &SessionId) -> Result<ClaimedSession, ArchiveError> {
        self.told(self.store.claim_session(id, None).await)
    }

    /// What the store said. The cause of a damaged row may quote it, so it is shown like all that is stored.
    pub(crate) fn told<T>(&self, said: Result<T, StoreError>) -> Result<T, ArchiveError> {
        said.map_err(|error| self.screen.error(error))
    }
}

pub(crate) fn no_session(id: &SessionId) -> ArchiveError {
    StoreError::SessionNotFound { session_id: id.clone() }.into()
}

pub(crate) fn not_found(kind: &'static str, id: &impl ToString) -> ArchiveError {
    ArchiveError::NotFound { kind, id: id.to_string() }
}
