//! Whether the database is still where it was opened: what is stored in a file that was moved away or removed is lost to
//! whoever looks at its path (RUN-21).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::fault::{Outcome, Site};
use crate::error::StoreError;

/// The database and the files beside it, as they were when it was opened.
#[derive(Debug)]
pub(super) struct InPlace {
    database: Seen,
    log: Option<Seen>,
    index: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl InPlace {
    /// Where they are now. `database` was looked at before it was opened.
    pub(super) fn opened(site: &Site, database: (u64, u64)) -> Outcome<Self> {
        let database = Seen { path: site.path.clone(), file: database };
        database.must_be_there(site)?;
        let beside = |suffix| Seen::of(beside(&site.path, suffix)).ok();
        Ok(Self { database, log: beside("-wal"), index: beside("-shm") })
    }

    /// Fails if one of them is not what it was. Gives the bytes of the log.
    pub(super) fn check(&self, site: &Site) -> Outcome<u64> {
        self.database.must_be_there(site)?;
        if let Some(index) = &self.index {
            index.must_be_there(site)?;
        }
        self.log.as_ref().map_or(Ok(0), |log| log.must_be_there(site))
    }
}

impl Seen {
    fn of(path: PathBuf) -> io::Result<Self> {
        let file = which(&fs::metadata(&path)?);
        Ok(Self { path, file })
    }

    /// Gives its bytes.
    fn must_be_there(&self, site: &Site) -> Outcome<u64> {
        match fs::metadata(&self.path) {
            Ok(meta) if which(&meta) == self.file => Ok(meta.len()),
            _ => Err(StoreError::Moved { step: "write to", path: site.path.clone() }.into()),
        }
    }
}

/// What a file is, whatever it is called.
pub(super) fn which(meta: &fs::Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// A file beside the database. SQLite puts it beside the file itself, wherever links to it lie.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
    path.push(suffix);
    path.into()
}
