//! The store itself: how it is opened, and what works for its two ports.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::database::{self, Readable};
use super::fault::{Outcome, Site};
use super::ownership::Claimant;
use super::readers::Readers;
use super::repair::{self, Repaired};
use super::writer::Writer;
use crate::error::StoreError;
use crate::settings::{Clock, StoreSettings};

/// Sessions in one SQLite file that several processes may share.
///
/// One thread writes; reads have connections of their own, opened when first needed. Dropping the store lets the thread
/// finish what it was given; [`close`](crate::SessionStore::close) waits for it.
#[derive(Debug)]
pub struct SqliteStore {
    pub(super) site: Arc<Site>,
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    claimant: Claimant,
    pub(super) sessions_dir: PathBuf,
    pub(super) clock: Clock,
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
        let readers = Readers::new(Arc::clone(&site));
        Ok(Self::over(site, writer, readers, sessions_dir, clock))
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
        let Some(readable) = blocking(move || database::readable(&database, busy_timeout)).await? else {
            return Err(error);
        };
        let Readable { site, conn, index } = readable;
        let site = Arc::new(site);
        let writer = Writer::refusing(Arc::clone(&site), error);
        let readers = Readers::with(Arc::clone(&site), conn, index);
        Ok(Self::over(site, writer, readers, sessions_dir, clock))
    }

    /// Makes a new database of what a damaged one still gives, and puts it in its place. The damaged one is set aside, unchanged.
    /// Copies that a tool made with `.dump` or `.recover` are taken as well.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while somebody uses the database; [`StoreError::ForeignFile`] if it has none of our tables; see
    /// [`StoreError`]. The files are as they were then.
    pub async fn repair(settings: StoreSettings) -> Result<Repaired, StoreError> {
        let StoreSettings { database, busy_timeout, clock, .. } = settings;
        require_absolute(&database)?;
        blocking(move || repair::repair(&database, &Site::new(&database, busy_timeout), &clock)).await?
    }

    fn over(site: Arc<Site>, writer: Writer, readers: Readers, sessions_dir: PathBuf, clock: Clock) -> Self {
        let claimant = Claimant::new(sessions_dir.clone(), clock.clone());
        Self { readers, site, writer, claimant, sessions_dir, clock }
    }
}

impl SqliteStore {
    /// Makes or claims a session. Each try is a piece of work of its own, so that nobody waits for a lock in the writer's
    /// thread.
    pub(super) async fn own<T: Send + 'static>(
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
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    // Fails only if the runtime shuts down before the work has begun, or if the work panicked.
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed)
}

/// A relative path depends on the current folder, and SQLite takes some for URIs.
fn require_absolute(path: &Path) -> Result<(), StoreError> {
    if path.is_absolute() { Ok(()) } else { Err(StoreError::RelativePath { path: path.to_owned() }) }
}
