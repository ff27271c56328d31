//! The second port: what looks back at sessions and clears them away.

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{ArtifactId, NodeId, RunId, RuntimeEvent, SessionId};

use super::search::{self, Query};
use super::store::{SqliteStore, blocking};
use super::{agents, apply, clear, database, fence, listing, ownership, sql, strays, timeline};
use crate::archive::{
    ArtifactPlace, DamagedSession, DeletedArtifacts, DeletedSession, PlacedArtifact, ReplayCursor, ReplayPage,
    ReplayScope, SearchPage, SessionArchive, SessionFilter, SessionSummary, StrayFile,
};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::port::StoreFuture;
use crate::rows::{AgentInfo, Owner, RunInfo};

/// How long readers may keep the log from being emptied after a deletion. Other writers wait meanwhile.
const LOG_PATIENCE: Duration = Duration::from_millis(100);

impl SessionArchive for SqliteStore {
    fn list_sessions(
        &self,
        filter: &SessionFilter,
        limit: u32,
        offset: u32,
    ) -> StoreFuture<'_, Vec<Result<SessionSummary, DamagedSession>>> {
        let (site, filter) = (Arc::clone(&self.site), filter.clone());
        let list = move |conn: &_| listing::sessions(conn, &site, &filter, limit, offset);
        Box::pin(self.readers.read("list sessions of", list))
    }

    fn session_summary(&self, session_id: &SessionId) -> StoreFuture<'_, Option<SessionSummary>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read a session", move |conn| listing::session(conn, &session_id)))
    }

    fn sessions_beginning(&self, prefix: &str, limit: u32) -> StoreFuture<'_, Vec<SessionId>> {
        let prefix = prefix.to_owned();
        Box::pin(self.readers.read("look up sessions in", move |conn| listing::beginning(conn, &prefix, limit)))
    }

    fn search(&self, words: &str, filter: &SessionFilter, limit: u32, offset: u32) -> StoreFuture<'_, SearchPage> {
        let (query, filter, site) = (Query::new(words), filter.clone(), Arc::clone(&self.site));
        Box::pin(async move {
            let query = query.ok_or(StoreError::NothingToSearch)?;
            self.clean_index().await?;
            let unsearched = self.fill_index().await?;
            let find = move |conn: &_| {
                let unsearched = search::of_project(conn, unsearched, &filter)?;
                let hits = search::find(conn, &site, &query, &filter, limit, offset)?;
                Ok(SearchPage { hits, unsearched })
            };
            self.readers.read("search", find).await
        })
    }

    fn owner(&self, session_id: &SessionId) -> StoreFuture<'_, Option<Owner>> {
        let (sessions_dir, session_id) = (self.sessions_dir.clone(), session_id.clone());
        Box::pin(
            self.readers.read("look up the owner in", move |conn| ownership::owner(conn, &sessions_dir, &session_id)),
        )
    }

    fn runs(&self, session_id: &SessionId, limit: u32, offset: u32) -> StoreFuture<'_, Vec<RunInfo>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read runs", move |conn| listing::runs(conn, &session_id, limit, offset)))
    }

    fn last_question(&self, run_id: &RunId) -> StoreFuture<'_, Option<RuntimeEvent>> {
        let run_id = run_id.clone();
        Box::pin(self.readers.read("look for a question in", move |conn| listing::last_question(conn, &run_id)))
    }

    fn agents(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<Result<AgentInfo, StoreError>>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read agents", move |conn| listing::agents(conn, &session_id)))
    }

    fn children(&self, run_id: &RunId) -> StoreFuture<'_, Vec<RunInfo>> {
        let run_id = run_id.clone();
        Box::pin(self.readers.read("read a run's children", move |conn| agents::children(conn, &run_id)))
    }

    fn replay(&self, scope: &ReplayScope, after: ReplayCursor) -> StoreFuture<'_, ReplayPage> {
        let (sessions_dir, scope) = (self.sessions_dir.clone(), scope.clone());
        Box::pin(self.readers.read("replay", move |conn| timeline::replay(conn, &sessions_dir, &scope, after)))
    }

    fn artifacts(
        &self,
        session_id: &SessionId,
        after: Option<ArtifactPlace>,
        limit: u32,
    ) -> StoreFuture<'_, Vec<PlacedArtifact>> {
        let (sessions_dir, session_id) = (self.sessions_dir.clone(), session_id.clone());
        Box::pin(self.readers.read("read artifacts", move |conn| {
            listing::artifacts(conn, &sessions_dir, &session_id, after.as_ref(), limit)
        }))
    }

    fn activate(&self, lease: &Lease, node_id: &NodeId) -> StoreFuture<'_, ()> {
        let (session_id, number, node_id) = (lease.session_id().clone(), lease.fence(), node_id.clone());
        Box::pin(self.writer.write("switch to a node in", move |tx| {
            let root = fence::check_and_move(tx, &session_id, number, &node_id)?;
            apply::activate(tx, &session_id, &root, &node_id)
        }))
    }

    fn set_project(&self, lease: &Lease, cwd: &str) -> StoreFuture<'_, ()> {
        let (session_id, number, cwd) = (lease.session_id().clone(), lease.fence(), cwd.to_owned());
        Box::pin(self.writer.write("move the session in", move |tx| {
            fence::check(tx, &session_id, number)?;
            tx.prepare_cached(sql::SET_PROJECT)?.execute(rusqlite::params![session_id.as_str(), number, cwd])?;
            Ok(())
        }))
    }

    fn delete_remains(&self, session_id: &SessionId) -> StoreFuture<'_, Option<DeletedArtifacts>> {
        let (sessions_dir, session_id) = (self.sessions_dir.clone(), session_id.clone());
        Box::pin(
            self.readers
                .read("look for remains beside", move |conn| strays::remove_remains(conn, &sessions_dir, &session_id)),
        )
    }

    fn delete_files(&self, session_id: &SessionId) -> StoreFuture<'_, DeletedArtifacts> {
        let (sessions_dir, session_id) = (self.sessions_dir.clone(), session_id.clone());
        Box::pin(async move { blocking(move || strays::remove_files(&sessions_dir, &session_id)).await? })
    }

    fn delete_session(&self, lease: Lease) -> StoreFuture<'_, DeletedSession> {
        Box::pin(async move {
            let (session_id, number) = (lease.session_id().clone(), lease.fence());
            let id = session_id.clone();
            let rows = self.writer.write("delete the session from", move |tx| {
                fence::check(tx, &id, number)?;
                clear::session(tx, &id)
            });
            let rows = rows.await?;
            let folder = self.sessions_dir.join(session_id.as_str());
            // The lease goes along: the session stays locked until nothing of it is left.
            let removed = blocking(move || {
                let removed = strays::remove_session(&folder);
                drop(lease);
                removed
            });
            let removed = removed.await?;
            let index_left = self.wipe().await;
            Ok(DeletedSession {
                session_id,
                nodes: rows.nodes,
                events: rows.events,
                runs: rows.runs,
                agents: rows.agents,
                artifacts: rows.artifacts,
                bytes: removed.bytes,
                failures: removed.failures,
                index_left,
            })
        })
    }

    fn delete_artifacts(&self, lease: &Lease, artifact_ids: Vec<ArtifactId>) -> StoreFuture<'_, DeletedArtifacts> {
        let (session_id, number) = (lease.session_id().clone(), lease.fence());
        Box::pin(async move {
            let id = session_id.clone();
            let rows = self.writer.write("delete artifacts from", move |tx| {
                fence::check(tx, &id, number)?;
                clear::artifacts(tx, &id, &artifact_ids)
            });
            let gone = rows.await?;
            let folder = self.sessions_dir.join(session_id.as_str());
            blocking(move || strays::remove_artifacts(&folder, gone)).await
        })
    }

    fn stray_files(&self, session_id: Option<&SessionId>) -> StoreFuture<'_, Vec<StrayFile>> {
        let (sessions_dir, only) = (self.sessions_dir.clone(), session_id.cloned());
        Box::pin(
            self.readers
                .read("look for stray files beside", move |conn| strays::find(conn, &sessions_dir, only.as_ref())),
        )
    }

    fn delete_stray(&self, file: &StrayFile) -> StoreFuture<'_, bool> {
        let (sessions_dir, file) = (self.sessions_dir.clone(), file.clone());
        Box::pin(
            self.readers.read("delete a stray file beside", move |conn| strays::remove(conn, &sessions_dir, &file)),
        )
    }
}

impl SqliteStore {
    /// Adds to the index what it lacks, in pieces, so that other writers get their turn between them. Gives the sessions of which
    /// something cannot be read: what comes before that is in the index.
    async fn fill_index(&self) -> Result<Vec<DamagedSession>, StoreError> {
        if !self.readers.read("look for the search index of", search::exists).await? {
            self.writer.write("make the search index of", search::make).await?;
        }
        let (mut after, mut damaged) = (String::new(), Vec::new());
        loop {
            let site = Arc::clone(&self.site);
            let read = move |conn: &_| search::gather(conn, &site, &after);
            let gathered = self.readers.read("read what is to be indexed in", read).await?;
            damaged.extend(gathered.damaged);
            if !gathered.pieces.is_empty() {
                let pieces = gathered.pieces;
                self.writer.write("add to the search index of", move |tx| search::add(tx, &pieces)).await?;
            }
            match gathered.next {
                Some(next) => after = next,
                None => return Ok(damaged),
            }
        }
    }

    /// Rewrites the index without the words of what was deleted, in pieces as well.
    async fn clean_index(&self) -> Result<(), StoreError> {
        let mut dirty = self.readers.read("look at the search index of", search::is_dirty).await?;
        while dirty {
            dirty = self.writer.write("clear the search index of", search::clean).await?;
        }
        Ok(())
    }

    /// Clears what a deletion leaves in the index and in the log. What fails is told: the session itself is gone.
    async fn wipe(&self) -> Option<String> {
        if let Err(error) = self.clean_index().await {
            return Some(error.payload().message);
        }
        let site = Arc::clone(&self.site);
        // Whoever reads an older state keeps the log as it is; it is overwritten in time.
        let _ = blocking(move || database::empty_log(&site, LOG_PATIENCE).unwrap_or(false)).await;
        None
    }
}
