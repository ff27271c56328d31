//! Making a new database of what a damaged one still gives.
//!
//! The damaged files are never changed: they are copied, and set aside at the end. What the copy gives is inserted row by row into a
//! database made anew; what cannot be read, or is not whole, stays out and is counted. So all that is in the new one can be read.

mod anew;
mod copy;
mod mend;
mod mended;
mod ways;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::database::{self, Opened};
use super::fault::{Fault, Outcome, Site};
use super::in_place::beside;
use super::wal_index::WalIndex;
use super::{log, migrate};
use crate::error::StoreError;
use crate::private;
use crate::settings::Clock;
use copy::TABLES;
use mended::Mended;

/// What a repair made, and what it had to leave out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// The damaged database now, with its log beside it: nothing of it was changed.
    pub set_aside: PathBuf,
    /// Rows of sessions that the new one holds.
    pub sessions: u64,
    /// Rows that were copied and kept, in all tables.
    pub copied: u64,
    /// Rows that are lost, by table; at least so many.
    pub lost: Vec<(&'static str, u64)>,
    /// Commits that stood behind damage of the log: lost.
    pub lost_commits: u64,
    /// What could not be read and got a neutral value, or was set to what is left: a line for each.
    pub mended: Vec<String>,
}

impl Repaired {
    /// Whether all there was is in the new database.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.lost_commits == 0 && self.mended.is_empty()
    }
}

const STEP: &str = "repair";

/// Puts a new database in the place of a damaged one, which nobody may be using.
pub(super) fn repair(path: &Path, site: &Site, clock: &Clock) -> Result<Repaired, StoreError> {
    let fault = |step: &'static str, path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| StoreError::File { step, path, source: Arc::new(error) }
    };
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(StoreError::ForeignFile { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && beside(path, "-wal").exists() => {
            return Err(StoreError::LogAlone { path: path.to_owned() });
        }
        Err(error) => return Err(fault("look at", path)(error)),
    }
    // Held to the end: nobody else opens the database meanwhile.
    let alone = WalIndex::alone(site, STEP).map_err(|fault| fault.at(site, STEP))?;
    let stamp: String = clock.now().as_str().chars().filter(char::is_ascii_digit).collect();
    let folder = beside(path, &format!(".repair-{stamp}"));
    private::folders(&folder).map_err(fault("make", &folder))?;
    let made = Work { path, folder: &folder, stamp: &stamp, busy_timeout: site.busy_timeout, clock }.run();
    // What is left of the work is of no use, whatever came of it.
    let _ = fs::remove_dir_all(&folder);
    alone.into_iter().for_each(WalIndex::withdraw);
    made
}

struct Work<'a> {
    path: &'a Path,
    folder: &'a Path,
    stamp: &'a str,
    busy_timeout: std::time::Duration,
    clock: &'a Clock,
}

impl Work<'_> {
    fn run(&self) -> Result<Repaired, StoreError> {
        let fault = |step: &'static str, path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| StoreError::File { step, path, source: Arc::new(error) }
        };
        let (old, new) = (self.folder.join("old.sqlite"), self.folder.join("new.sqlite"));
        fs::copy(self.path, &old).map_err(fault("copy", self.path))?;
        let log = beside(self.path, "-wal");
        let mut repaired = Repaired::default();
        if log.exists() {
            repaired.lost_commits = log::lost(&log).map_err(fault("read", &log))?.unwrap_or(0);
            fs::copy(&log, beside(&old, "-wal")).map_err(fault("copy", &log))?;
        }
        let site = Site::new(&new, self.busy_timeout);
        let Opened { conn, ground } = database::open_to_write(&site, self.clock)?;
        let filled = self.fill(&conn, &old, &mut repaired);
        // What is wrong is wrong with the one that is copied.
        filled.map_err(|fault| self.failed(fault))?;
        // The last connection moves the log into the file.
        drop(conn);
        drop(ground);
        repaired.set_aside = self.exchange(&new, &log).map_err(fault("exchange", self.path))?;
        Ok(repaired)
    }

    /// What is so damaged that nothing can be copied is not to be repaired once more.
    fn failed(&self, fault: Fault) -> StoreError {
        let code = match &fault {
            Fault::Sqlite(error) => error.sqlite_error_code(),
            Fault::Store(_) => None,
        };
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::BeyondRepair { path: self.path.to_owned(), source: fault.into_cause() }
            }
            _ => fault.at(&Site::new(self.path, self.busy_timeout), STEP),
        }
    }

    fn fill(&self, conn: &Connection, old: &Path, repaired: &mut Repaired) -> Outcome<()> {
        let source = Site::new(old, self.busy_timeout);
        let _index = WalIndex::prepare(&source, STEP)?;
        let old = Connection::open_with_flags(old, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Without these tables it is not ours, or nothing of it can be read.
        if !migrate::has_our_tables(&old)? {
            return Err(StoreError::ForeignFile { path: self.path.to_owned() }.into());
        }
        match migrate::newest(&old) {
            Ok(found) => {
                migrate::refuse_newer(found, migrate::MIGRATIONS, &Site::new(self.path, self.busy_timeout))?;
            }
            // Columns are found by their names; the old file is kept, whatever else it holds.
            Err(_) => repaired
                .mended
                .push("the version of the database could not be read: it is taken for this one".to_owned()),
        }
        // One of an older version has fewer columns; if it cannot be brought up to date either, those stay empty.
        let _ = migrate::run_all(&old, &source, self.clock);
        conn.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
        let mut lost = Vec::new();
        for table in TABLES {
            lost.push((table.name, copy::table(&old, conn, table)?));
        }
        let made = mend::everything(conn, self.clock, &mut Mended { lost: &mut lost, lines: &mut repaired.mended })?;
        let mut rows = 0;
        for table in TABLES {
            let held: u64 = conn.query_row(&format!("SELECT count(*) FROM {}", table.name), [], |row| row.get(0))?;
            rows += held;
        }
        repaired.copied = rows.saturating_sub(made);
        repaired.lost = lost.into_iter().filter(|(_, lost)| *lost > 0).collect();
        repaired.sessions = conn.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
        Ok(conn.execute_batch("COMMIT; PRAGMA foreign_keys = ON")?)
    }

    /// Sets the damaged files aside and puts the new one in their place. The database goes before its log: a log alone is refused,
    /// a database without its log would be taken for whole.
    fn exchange(&self, new: &Path, log: &Path) -> io::Result<PathBuf> {
        let aside = beside(self.path, &format!(".damaged-{}", self.stamp));
        let real = beside(self.path, "");
        fs::rename(&real, &aside)?;
        if log.exists() {
            fs::rename(log, beside(&aside, "-wal"))?;
        }
        fs::rename(new, &real)?;
        Ok(aside)
    }
}
