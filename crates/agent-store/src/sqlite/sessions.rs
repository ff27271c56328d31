//! The first port: what runs ask.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agent_protocol::{AgentId, ArtifactId, EventType, Node, NodeId, RunId, RuntimeEvent, SessionId};
use rusqlite::Connection;

use super::recent::Loaded;
use super::store::SqliteStore;
use super::{agents, apply, checkpoint, path, read, recent, said, sql};
use crate::hash::ContentHash;
use crate::lease::{ClaimedSession, Lease};
use crate::port::{SessionStore, StoreFuture};
use crate::rows::{AgentInfo, ArtifactInfo, FileVersion, LoadedAgent, Recent, RecentPath, RunInfo, SessionInfo};
use crate::write::{Commit, Committed, NewSession};

impl SessionStore for SqliteStore {
    fn create_session(&self, new: NewSession) -> StoreFuture<'_, Lease> {
        Box::pin(self.own("create the session in", move |claimant, tx| claimant.create(tx, &new)))
    }

    fn claim_session(&self, session_id: &SessionId, project: Option<&str>) -> StoreFuture<'_, ClaimedSession> {
        let (session_id, project) = (session_id.clone(), project.map(str::to_owned));
        Box::pin(
            self.own("claim the session in", move |claimant, tx| claimant.claim(tx, &session_id, project.as_deref())),
        )
    }

    fn commit(&self, lease: &Lease, commit: Commit) -> StoreFuture<'_, Committed> {
        let (session_id, fence, clock) = (lease.session_id().clone(), lease.fence(), self.clock.clone());
        Box::pin(self.writer.write("commit to", move |tx| apply::commit(tx, &session_id, fence, &commit, clock.now())))
    }

    fn session(&self, session_id: &SessionId) -> StoreFuture<'_, Option<SessionInfo>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read a session", move |conn| read::session(conn, &session_id)))
    }

    fn agent(&self, agent_id: &AgentId) -> StoreFuture<'_, Option<AgentInfo>> {
        let agent_id = agent_id.clone();
        Box::pin(self.readers.read("read an agent", move |conn| read::agent(conn, &agent_id)))
    }

    fn load_agent(&self, session_id: &SessionId, agent_id: &AgentId) -> StoreFuture<'_, LoadedAgent> {
        let (session_id, agent_id) = (session_id.clone(), agent_id.clone());
        Box::pin(self.readers.read("read an agent", move |conn| agents::load(conn, &session_id, &agent_id)))
    }

    fn last_run(&self, session_id: &SessionId) -> StoreFuture<'_, Option<RunInfo>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read a session's last run", move |conn| read::last_run(conn, &session_id)))
    }

    fn node(&self, node_id: &NodeId) -> StoreFuture<'_, Option<Node>> {
        let node_id = node_id.clone();
        Box::pin(self.readers.read("read a node", move |conn| read::node(conn, &node_id)))
    }

    fn run(&self, run_id: &RunId) -> StoreFuture<'_, Option<RunInfo>> {
        let run_id = run_id.clone();
        Box::pin(self.readers.read("read a run", move |conn| read::run(conn, &run_id)))
    }

    fn artifact(&self, artifact_id: &ArtifactId) -> StoreFuture<'_, Option<ArtifactInfo>> {
        let (sessions_dir, artifact_id) = (self.sessions_dir.clone(), artifact_id.clone());
        Box::pin(self.readers.read("read an artifact", move |conn| read::artifact(conn, &sessions_dir, &artifact_id)))
    }

    fn unfinished_runs(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<RunInfo>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read unfinished runs", move |conn| read::unfinished_runs(conn, &session_id)))
    }

    fn load_path(&self, session_id: &SessionId, leaf: &NodeId) -> StoreFuture<'_, Vec<Node>> {
        let (session_id, leaf) = (session_id.clone(), leaf.clone());
        Box::pin(self.readers.read("read a path", move |conn| path::load_path(conn, &session_id, &leaf)))
    }

    fn load_recent(&self, session_id: &SessionId, leaf: &NodeId, recent: &Recent) -> StoreFuture<'_, RecentPath> {
        let (session_id, leaf, recent) = (session_id.clone(), leaf.clone(), recent.clone());
        Box::pin(async move {
            let read = {
                let session_id = session_id.clone();
                move |conn: &Connection| recent::load_recent(conn, &session_id, &leaf, &recent)
            };
            let Loaded { path, checkpoint } = self.readers.read("read the end of a path", read).await?;
            if let Some(checkpoint) = checkpoint {
                let keep = move |tx: &Connection| checkpoint::keep(tx, &session_id, &checkpoint);
                // Only the next reading takes longer without it. Where nothing can be stored, the next commit says so.
                let _ = self.writer.write("keep what was counted of a path", keep).await;
            }
            Ok(path)
        })
    }

    fn events(&self, session_id: &SessionId, after_seq: u64, limit: u32) -> StoreFuture<'_, Vec<RuntimeEvent>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read events", move |conn| read::events(conn, &session_id, after_seq, limit)))
    }

    fn run_events(&self, run_id: &RunId, after_run_seq: u64, limit: u32) -> StoreFuture<'_, Vec<RuntimeEvent>> {
        let run_id = run_id.clone();
        Box::pin(
            self.readers.read("read a run's events", move |conn| read::run_events(conn, &run_id, after_run_seq, limit)),
        )
    }

    fn last_event(&self, session_id: &SessionId, event_type: EventType) -> StoreFuture<'_, Option<RuntimeEvent>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("look for an event in", move |conn| read::last_event(conn, &session_id, event_type)))
    }

    fn user_messages(
        &self,
        session_id: &SessionId,
        agent_id: &AgentId,
        after_node_seq: u64,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Node>> {
        let (session_id, agent_id) = (session_id.clone(), agent_id.clone());
        let read = move |conn: &Connection| {
            said::messages(conn, sql::USER_MESSAGES, &session_id, &agent_id, after_node_seq, limit)
        };
        Box::pin(self.readers.read("read a user's messages", read))
    }

    fn newest_user_messages(
        &self,
        session_id: &SessionId,
        agent_id: &AgentId,
        after_node_seq: u64,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Node>> {
        let (session_id, agent_id) = (session_id.clone(), agent_id.clone());
        let read = move |conn: &Connection| {
            said::messages(conn, sql::NEWEST_USER_MESSAGES, &session_id, &agent_id, after_node_seq, limit)
        };
        Box::pin(self.readers.read("read a user's newest messages", read))
    }

    fn nodes_between(
        &self,
        session_id: &SessionId,
        from_node_seq: u64,
        to_node_seq: u64,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Node>> {
        let session_id = session_id.clone();
        let read = move |conn: &Connection| read::nodes_between(conn, &session_id, from_node_seq, to_node_seq, limit);
        Box::pin(self.readers.read("read nodes", read))
    }

    fn file_versions(&self, session_id: &SessionId, agent_id: &AgentId) -> StoreFuture<'_, Vec<FileVersion>> {
        let (session_id, agent_id) = (session_id.clone(), agent_id.clone());
        Box::pin(
            self.readers.read("read file versions", move |conn| agents::file_versions(conn, &session_id, &agent_id)),
        )
    }

    fn written_files(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<FileVersion>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read file versions", move |conn| agents::written_files(conn, &session_id)))
    }

    fn blob(&self, session_id: &SessionId, hash: &ContentHash) -> StoreFuture<'_, Option<Arc<[u8]>>> {
        let (session_id, hash) = (session_id.clone(), hash.clone());
        Box::pin(self.readers.read("read a blob", move |conn| read::blob(conn, &session_id, &hash)))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // The readers first: the last connection to close moves the log back into the file, and only a writer can.
            self.readers.close().await;
            self.writer.close().await;
        })
    }
}
