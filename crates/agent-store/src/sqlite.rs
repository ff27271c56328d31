//! The store in a SQLite database.

mod apply;
mod archive;
mod clear;
mod database;
mod decode;
mod fault;
mod fields;
mod json;
mod listing;
mod migrate;
mod ownership;
mod path;
mod read;
mod readers;
mod recent;
mod said;
mod search;
mod sql;
mod strays;
mod timeline;
mod writer;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_protocol::{AgentId, ArtifactId, EventType, Node, NodeId, RunId, RuntimeEvent, SessionId};

use rusqlite::Connection;

use self::fault::{Outcome, Site};
use self::ownership::Claimant;
use self::readers::Readers;
use self::writer::Writer;
use crate::{
    AgentRow, ArtifactRow, Clock, Commit, Committed, ContentHash, FileVersion, Lease, NewSession, Recent, RecentPath,
    RunRow, SessionRow, SessionStore, StoreError, StoreFuture, StoreSettings, UserMessages,
};

/// Sessions in one SQLite file that several processes may share.
///
/// One thread writes; reads have connections of their own, opened when first needed. Dropping the store lets the thread
/// finish what it was given; [`SessionStore::close`] waits for it.
#[derive(Debug)]
pub struct SqliteStore {
    site: Arc<Site>,
    writer: Writer,
    readers: Readers,
    claimant: Claimant,
    sessions_dir: PathBuf,
    clock: Clock,
}

impl SqliteStore {
    /// Opens the database, makes it if it is missing or empty, and brings its schema up to date.
    ///
    /// # Errors
    /// A file that is damaged, foreign or from a newer version is refused and left as it is; so is one whose migration
    /// fails. See [`StoreError`].
    pub async fn open(settings: StoreSettings) -> Result<Self, StoreError> {
        let StoreSettings { database, sessions_dir, busy_timeout, clock } = settings;
        for path in [&database, &sessions_dir] {
            require_absolute(path)?;
        }
        let site = Arc::new(Site::new(database, busy_timeout));
        let open = {
            let (site, clock) = (Arc::clone(&site), clock.clone());
            move || database::open_to_write(&site, &clock)
        };
        let writer = Writer::start(Arc::clone(&site), open).await?;
        Ok(Self::over(site, writer, sessions_dir, clock))
    }

    /// Whether nothing was ever stored there: opening would make the database. What is wrong with a file that exists is for
    /// opening to say.
    #[must_use]
    pub fn is_unused(database: &Path) -> bool {
        database::is_unused(database)
    }

    /// Opens the database to look back. Where it cannot be written (a full disk, a read-only folder) it is only read, if it can
    /// be without leaving anything out; what would write then fails as opening did.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub async fn open_to_look(settings: StoreSettings) -> Result<Self, StoreError> {
        let StoreSettings { database, sessions_dir, busy_timeout, clock } = settings.clone();
        let error = match Self::open(settings).await {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        if !matches!(error, StoreError::ReadOnly { .. } | StoreError::DiskFull { .. } | StoreError::CannotOpen { .. }) {
            return Err(error);
        }
        let Some(site) = blocking(move || database::readable(&database, busy_timeout)).await? else {
            return Err(error);
        };
        let site = Arc::new(site);
        let writer = Writer::refusing(Arc::clone(&site), error);
        Ok(Self::over(site, writer, sessions_dir, clock))
    }

    fn over(site: Arc<Site>, writer: Writer, sessions_dir: PathBuf, clock: Clock) -> Self {
        let claimant = Claimant::new(sessions_dir.clone(), clock.clone());
        Self { readers: Readers::new(Arc::clone(&site)), site, writer, claimant, sessions_dir, clock }
    }
}

impl SqliteStore {
    /// Makes or claims a session. Each try is a piece of work of its own, so that nobody waits for a lock in the writer's
    /// thread.
    async fn own<T: Send + 'static>(
        &self,
        step: &'static str,
        work: impl Fn(&Claimant, &Connection) -> Outcome<T> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + CLAIM_PATIENCE;
        let work = Arc::new(work);
        loop {
            let (claimant, work) = (self.claimant.clone(), Arc::clone(&work));
            match self.writer.write(step, move |tx| work(&claimant, tx)).await {
                Err(StoreError::SessionActive { .. }) if Instant::now() < deadline => {
                    blocking(|| std::thread::sleep(CLAIM_PAUSE)).await?;
                }
                result => return result,
            }
        }
    }
}

/// How long a claim waits for a lock that is held: somebody may only be looking who owns the session.
const CLAIM_PATIENCE: Duration = Duration::from_millis(100);
/// Between two tries. Looking takes microseconds.
const CLAIM_PAUSE: Duration = Duration::from_millis(8);

/// Does `work` on one of the runtime's threads for blocking work.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    // Fails only if the runtime shuts down before the work has begun, or if the work panicked.
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed)
}

/// A relative path depends on the current folder, and SQLite takes some for URIs.
fn require_absolute(path: &Path) -> Result<(), StoreError> {
    if path.is_absolute() { Ok(()) } else { Err(StoreError::RelativePath { path: path.to_owned() }) }
}

impl SessionStore for SqliteStore {
    fn create_session(&self, new: NewSession) -> StoreFuture<'_, Lease> {
        Box::pin(self.own("create the session in", move |claimant, tx| claimant.create(tx, &new)))
    }

    fn claim_session(&self, session_id: &SessionId) -> StoreFuture<'_, (SessionRow, Lease)> {
        let session_id = session_id.clone();
        Box::pin(self.own("claim the session in", move |claimant, tx| claimant.claim(tx, &session_id)))
    }

    fn commit(&self, lease: &Lease, commit: Commit) -> StoreFuture<'_, Committed> {
        let (session_id, fence, clock) = (lease.session_id().clone(), lease.fence(), self.clock.clone());
        Box::pin(self.writer.write("commit to", move |tx| apply::commit(tx, &session_id, fence, &commit, clock.now())))
    }

    fn session(&self, session_id: &SessionId) -> StoreFuture<'_, Option<SessionRow>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read a session", move |conn| read::session(conn, &session_id)))
    }

    fn agent(&self, agent_id: &AgentId) -> StoreFuture<'_, Option<AgentRow>> {
        let agent_id = agent_id.clone();
        Box::pin(self.readers.read("read an agent", move |conn| read::agent(conn, &agent_id)))
    }

    fn node(&self, node_id: &NodeId) -> StoreFuture<'_, Option<Node>> {
        let node_id = node_id.clone();
        Box::pin(self.readers.read("read a node", move |conn| read::node(conn, &node_id)))
    }

    fn run(&self, run_id: &RunId) -> StoreFuture<'_, Option<RunRow>> {
        let run_id = run_id.clone();
        Box::pin(self.readers.read("read a run", move |conn| read::run(conn, &run_id)))
    }

    fn artifact(&self, artifact_id: &ArtifactId) -> StoreFuture<'_, Option<ArtifactRow>> {
        let (sessions_dir, artifact_id) = (self.sessions_dir.clone(), artifact_id.clone());
        Box::pin(self.readers.read("read an artifact", move |conn| read::artifact(conn, &sessions_dir, &artifact_id)))
    }

    fn unfinished_runs(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<RunRow>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read unfinished runs", move |conn| read::unfinished_runs(conn, &session_id)))
    }

    fn load_path(&self, session_id: &SessionId, leaf: &NodeId) -> StoreFuture<'_, Vec<Node>> {
        let (session_id, leaf) = (session_id.clone(), leaf.clone());
        Box::pin(self.readers.read("read a path", move |conn| path::load_path(conn, &session_id, &leaf)))
    }

    fn load_recent(&self, session_id: &SessionId, leaf: &NodeId, recent: &Recent) -> StoreFuture<'_, RecentPath> {
        let (session_id, leaf, recent) = (session_id.clone(), leaf.clone(), recent.clone());
        let read = move |conn: &Connection| recent::load_recent(conn, &session_id, &leaf, &recent);
        Box::pin(self.readers.read("read the end of a path", read))
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
        let read = move |conn: &Connection| said::messages(conn, &session_id, &agent_id, after_node_seq, limit);
        Box::pin(self.readers.read("read a user's messages", read))
    }

    fn count_user_messages(
        &self,
        session_id: &SessionId,
        agent_id: &AgentId,
        after_node_seq: u64,
    ) -> StoreFuture<'_, UserMessages> {
        let (session_id, agent_id) = (session_id.clone(), agent_id.clone());
        let read = move |conn: &Connection| said::in_short(conn, &session_id, &agent_id, after_node_seq);
        Box::pin(self.readers.read("count a user's messages", read))
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

    fn file_versions(&self, session_id: &SessionId) -> StoreFuture<'_, Vec<FileVersion>> {
        let session_id = session_id.clone();
        Box::pin(self.readers.read("read file versions", move |conn| read::file_versions(conn, &session_id)))
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
