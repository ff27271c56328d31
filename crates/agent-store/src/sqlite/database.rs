//! Connections: how the file is made, recognised and opened.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::{Access, Fault, Outcome, Site};
use super::in_place::{InPlace, beside, which};
use super::log;
use super::migrate::{self, MIGRATIONS};
use super::sql;
use super::wal_index::WalIndex;
use crate::error::StoreError;
use crate::private;
use crate::settings::Clock;
use agent_protocol::percent_encoded;

/// Statements a connection keeps prepared: all of them.
const STATEMENTS: usize = 96;

/// A database that is open to write.
pub(super) struct Opened {
    pub(super) conn: Connection,
    pub(super) ground: Ground,
}

/// What the file system must hold for a transaction.
#[derive(Debug)]
pub(super) struct Ground {
    in_place: InPlace,
    /// After the connection: see [`WalIndex`].
    index: Option<WalIndex>,
}

impl Ground {
    /// Inside a transaction, before anything is written: the database is where it was, and the index of the log has room.
    pub(super) fn hold(&mut self, site: &Site) -> Outcome<()> {
        let log = self.in_place.check(site)?;
        self.index.as_mut().map_or(Ok(()), |index| index.make_room(log, site))
    }
}

/// Opens the database to write; makes it, or brings its schema up to date, where needed.
///
/// A file that is not ours, damaged or newer is refused before anything is written to it (STO-4, STO-5).
pub(super) fn open_to_write(site: &Site, clock: &Clock) -> Result<Opened, StoreError> {
    const STEP: &str = "open the session database";
    prepare_file(&site.path)?;
    let file = fs::metadata(&site.path).map(|meta| which(&meta));
    let file = file.map_err(|_| StoreError::Moved { step: STEP, path: site.path.clone() })?;
    let index = WalIndex::prepare(site, STEP).map_err(|fault| fault.at(site, STEP))?;
    let is_first = index.as_ref().is_some_and(WalIndex::is_first);
    let open = || -> Outcome<(Connection, InPlace)> {
        if is_first {
            refuse_damaged_log(site, STEP)?;
        }
        let conn = connect(site, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let set_up = set_up(&conn, site, clock, STEP);
        // Also where that failed: the last connection to close is to find nobody else's lock.
        index.iter().for_each(WalIndex::opened);
        set_up?;
        let in_place = InPlace::opened(site, file)?;
        Ok((conn, in_place))
    };
    let opened = open();
    match opened {
        Ok((conn, in_place)) => Ok(Opened { conn, ground: Ground { in_place, index } }),
        Err(fault) => {
            index.into_iter().for_each(WalIndex::withdraw);
            Err(fault.at(site, STEP))
        }
    }
}

/// Refuses what is none of ours before anything is written, and makes or changes what is missing.
fn set_up(conn: &Connection, site: &Site, clock: &Clock, step: &'static str) -> Outcome<()> {
    let version = migrate::version(conn, site)?;
    migrate::refuse_newer(version, MIGRATIONS, site)?;
    if conn.is_readonly("main")? {
        return Err(StoreError::ReadOnly { step, path: site.path.clone() }.into());
    }
    use_wal(conn, site.busy_timeout)?;
    // Survives the end of the process at any moment. Power loss may cost the latest commits, never consistency.
    conn.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
    // What moves or goes is overwritten where that costs no further page: a later deletion then leaves little behind.
    conn.execute_batch(sql::OVERWRITE_CHEAPLY)?;
    migrate::bring_up_to_date(conn, site, clock, version)
}

/// Opens the database to read. It exists by then, since every store opens it to write first.
pub(super) fn open_to_read(site: &Site) -> Outcome<Connection> {
    connect(site, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// A database that is open to read only.
pub(super) struct Readable {
    pub(super) site: Site,
    /// The first connection. As long as it is open, the index of the log stays as it is.
    pub(super) conn: Connection,
    pub(super) index: Option<WalIndex>,
}

/// How a database can be read that cannot be written, if it can: it must be of this version. What a log holds is not passed
/// over.
pub(super) fn readable(path: &Path, busy_timeout: Duration) -> Option<Readable> {
    let site = |access| Site { access, ..Site::new(path, busy_timeout) };
    let has_no_log = log_of(path).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |log| log.len() == 0);
    open_shared(site(Access::Shared)).or_else(|| open_readable(site(Access::Immutable), None).filter(|_| has_no_log))
}

/// Beside whoever writes. Without room for the index of the log that is not even tried.
fn open_shared(site: Site) -> Option<Readable> {
    let index = WalIndex::prepare(&site, "open").ok()?;
    open_readable(site, index)
}

fn open_readable(site: Site, index: Option<WalIndex>) -> Option<Readable> {
    let known = MIGRATIONS.last().map_or(0, |newest| newest.version);
    let conn = open_to_read(&site).ok().filter(|conn| migrate::version(conn, &site).is_ok_and(|found| found == known));
    match (conn, index) {
        (Some(conn), index) => {
            index.iter().for_each(WalIndex::opened);
            Some(Readable { site, conn, index })
        }
        (None, index) => {
            index.into_iter().for_each(WalIndex::withdraw);
            None
        }
    }
}

/// Moves the log into the file and empties it, so that nothing deleted remains there; whether it could. Somebody who
/// reads an older state makes it impossible.
pub(super) fn empty_log(site: &Site, patience: Duration) -> Outcome<bool> {
    let conn = connect(site, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.busy_timeout(patience)?;
    Ok(conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))? == 0)
}

fn connect(site: &Site, access: OpenFlags) -> Outcome<Connection> {
    // No CREATE: SQLite would make the file under the umask. No mutex: a connection is used by one thread at a time.
    let access = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match site.access {
        Access::Shared => Connection::open_with_flags(&site.path, access)?,
        Access::Immutable => Connection::open_with_flags(immutable(&site.path), access | OpenFlags::SQLITE_OPEN_URI)?,
    };
    conn.busy_timeout(site.busy_timeout)?;
    // Plans must not depend on bound values: otherwise statements are compiled anew at every commit.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(conn)
}

/// The URI of a file that nobody changes.
fn immutable(path: &Path) -> String {
    format!("file:{}?immutable=1", percent_encoded(path))
}

/// Makes an empty file, which SQLite takes for a new database, if there is none.
///
/// Only SQLite may open and close the database file in this process: on Unix, closing a file gives up every lock the
/// process has on it, those of other stores on the same database too. So a new file is closed before it gets its name,
/// and one that is there is only looked at from outside.
fn prepare_file(path: &Path) -> Result<(), StoreError> {
    // Before the file: whoever makes a database makes its log after it.
    let had_log = has_log(path);
    let fault = |step, error: io::Error| StoreError::File { step, path: path.to_owned(), source: Arc::new(error) };
    match fs::metadata(path) {
        // SQLite takes a file of one byte for an empty one and would write over it.
        Ok(meta) if !meta.is_file() || meta.len() == 1 => Err(StoreError::ForeignFile { path: path.to_owned() }),
        // SQLite would take it for new and remove the log, which may hold everything.
        Ok(meta) if meta.len() == 0 && has_log(path) => Err(StoreError::CorruptFile {
            step: "open the session database",
            path: path.to_owned(),
            source: Arc::new(EmptyBesideLog),
        }),
        Ok(_) => Ok(()),
        // A database without what is in the log would be made, and the log removed.
        Err(e) if e.kind() == io::ErrorKind::NotFound && had_log => Err(StoreError::LogAlone { path: path.to_owned() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                private::folders(folder).map_err(|e| fault("make the folder of", e))?;
            }
            private::new_closed_file(path).map_err(|e| fault("make", e))
        }
        Err(e) => Err(fault("look at", e)),
    }
}

pub(super) fn is_unused(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(meta) => meta.is_file() && meta.len() == 0 && !has_log(path),
        Err(error) => error.kind() == io::ErrorKind::NotFound && !has_log(path),
    }
}

/// SQLite reads a log as far as it is whole and drops the rest, without a word.
fn refuse_damaged_log(site: &Site, step: &'static str) -> Outcome<()> {
    let path = site.path.clone();
    match log::lost(&beside(&site.path, "-wal")) {
        Ok(None) => Ok(()),
        Ok(Some(commits)) => Err(StoreError::DamagedLog { step, path, commits }.into()),
        // SQLite says what it is.
        Err(_) => Ok(()),
    }
}

/// Whether something is in its log.
fn has_log(path: &Path) -> bool {
    log_of(path).is_ok_and(|log| log.len() > 0)
}

fn log_of(path: &Path) -> io::Result<fs::Metadata> {
    fs::metadata(beside(path, "-wal"))
}

#[derive(Debug, thiserror::Error)]
#[error("it is empty, but its -wal file is not")]
struct EmptyBesideLog;

/// Switches a new database to write-ahead logging. The mode is kept in the file.
fn use_wal(conn: &Connection, patience: Duration) -> Outcome<()> {
    let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    // The switch needs the file for itself and does not wait for it: another process may be opening the same new file.
    let deadline = Instant::now() + patience;
    loop {
        let switched = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match switched.map_err(Fault::from) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(Fault::rejected("use write-ahead logging", NoWal { mode })),
            Err(fault) if fault.is_busy() && Instant::now() < deadline => thread::sleep(Duration::from_millis(2)),
            Err(fault) => return Err(fault),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the database stays in journal mode {mode}: its folder's file system has no shared memory for files")]
struct NoWal {
    mode: String,
}
