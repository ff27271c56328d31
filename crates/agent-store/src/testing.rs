//! A store between a runtime and its own: for tests in which storing fails, and for counting how often it is asked.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use agent_protocol::{AgentId, ArtifactId, EventType, Node, NodeId, RunId, RuntimeEvent, SessionId};

use crate::error::StoreError;
use crate::hash::ContentHash;
use crate::lease::{ClaimedSession, Lease};
use crate::port::{SessionStore, StoreFuture};
use crate::rows::{AgentInfo, ArtifactInfo, FileVersion, LoadedAgent, Recent, RecentPath, RunInfo, SessionInfo};
use crate::write::{Commit, Committed, NewSession};

/// What becomes of something that the store is asked.
#[derive(Debug)]
pub enum Verdict {
    /// The store does it.
    Pass,
    /// It is not done.
    Refuse(StoreError),
    /// The store does it, and whoever asked hears that it failed.
    Deny(StoreError),
}

type Judge = dyn Fn(&'static str) -> Verdict + Send + Sync;

/// A store that asks before it does anything.
pub struct StoreBetween {
    inner: Arc<dyn SessionStore>,
    judge: Box<Judge>,
}

impl StoreBetween {
    /// Before anything is asked of `inner`, `judge` is: with the name of the operation.
    #[must_use]
    pub fn shared(
        inner: Arc<dyn SessionStore>,
        judge: impl Fn(&'static str) -> Verdict + Send + Sync + 'static,
    ) -> Arc<dyn SessionStore> {
        Arc::new(Self { inner, judge: Box::new(judge) })
    }

    fn pass<'a, T: Send + 'a>(
        &self,
        name: &'static str,
        ask: impl FnOnce() -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        match (self.judge)(name) {
            Verdict::Pass => ask(),
            Verdict::Refuse(error) => Box::pin(ready(Err(error))),
            Verdict::Deny(error) => {
                let asked = ask();
                Box::pin(async move { asked.await.and(Err(error)) })
            }
        }
    }
}

impl fmt::Debug for StoreBetween {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreBetween")
    }
}

macro_rules! passes {
    ($(fn $name:ident($($argument:ident: $of:ty),*) -> $out:ty;)*) => {
        $(
            fn $name(&self, $($argument: $of),*) -> StoreFuture<'_, $out> {
                self.pass(stringify!($name), || self.inner.$name($($argument),*))
            }
        )*
    };
}

impl SessionStore for StoreBetween {
    passes! {
        fn create_session(new: NewSession) -> Lease;
        fn claim_session(session_id: &SessionId, project: Option<&str>) -> ClaimedSession;
        fn commit(lease: &Lease, commit: Commit) -> Committed;
        fn session(session_id: &SessionId) -> Option<SessionInfo>;
        fn agent(agent_id: &AgentId) -> Option<AgentInfo>;
        fn load_agent(session_id: &SessionId, agent_id: &AgentId) -> LoadedAgent;
        fn last_run(session_id: &SessionId) -> Option<RunInfo>;
        fn node(node_id: &NodeId) -> Option<Node>;
        fn run(run_id: &RunId) -> Option<RunInfo>;
        fn artifact(artifact_id: &ArtifactId) -> Option<ArtifactInfo>;
        fn unfinished_runs(session_id: &SessionId) -> Vec<RunInfo>;
        fn load_path(session_id: &SessionId, leaf: &NodeId) -> Vec<Node>;
        fn load_recent(session_id: &SessionId, leaf: &NodeId, recent: &Recent) -> RecentPath;
        fn events(session_id: &SessionId, after_seq: u64, limit: u32) -> Vec<RuntimeEvent>;
        fn run_events(run_id: &RunId, after_run_seq: u64, limit: u32) -> Vec<RuntimeEvent>;
        fn last_event(session_id: &SessionId, event_type: EventType) -> Option<RuntimeEvent>;
        fn user_messages(session_id: &SessionId, agent_id: &AgentId, after_node_seq: u64, limit: u32) -> Vec<Node>;
        fn newest_user_messages(session_id: &SessionId, agent_id: &AgentId, after_node_seq: u64, limit: u32) -> Vec<Node>;
        fn nodes_between(session_id: &SessionId, from_node_seq: u64, to_node_seq: u64, limit: u32) -> Vec<Node>;
        fn file_versions(session_id: &SessionId, agent_id: &AgentId) -> Vec<FileVersion>;
        fn written_files(session_id: &SessionId) -> Vec<FileVersion>;
        fn blob(session_id: &SessionId, hash: &ContentHash) -> Option<Arc<[u8]>>;
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.inner.close()
    }
}
