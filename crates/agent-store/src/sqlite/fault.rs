//! Inside, a failure is SQLite's or ours; outside it is a [`StoreError`]. This is the one place between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{ErrorCode as Code, ffi};

use crate::error::{Cause, StoreError};
use crate::limit::Limit;

/// What a [`StoreError`] says of the database.
#[derive(Debug)]
pub(super) struct Site {
    /// Its file.
    pub(super) path: PathBuf,
    /// How long an operation waits for other programs' locks.
    pub(super) busy_timeout: Duration,
    /// How it is read.
    pub(super) access: Access,
}

/// How the database is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Beside whoever writes.
    Shared,
    /// As a file that nobody changes: where nothing can be written beside it, not even the index of its log.
    Immutable,
}

impl Site {
    pub(super) fn new(path: impl Into<PathBuf>, busy_timeout: Duration) -> Self {
        Self { path: path.into(), busy_timeout, access: Access::Shared }
    }
}

/// A failure, before it is known of which step. Shared, since one failed transaction may be several callers' failure.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The database said no.
    Sqlite(Arc<rusqlite::Error>),
    /// We said no.
    Store(StoreError),
}

pub(super) type Outcome<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// A value that must not be stored.
    pub(super) fn rejected(step: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Store(StoreError::Rejected { step, source: Arc::new(source) })
    }

    /// Another connection holds a lock; trying again may help.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(Code::DatabaseBusy))
    }

    /// What is damaged; other failures stay what they are.
    pub(super) fn damage(self, site: &Site, step: &'static str) -> Outcome<StoreError> {
        let is_corrupt = matches!(
            &self,
            Self::Sqlite(error) if error.sqlite_error_code() == Some(Code::DatabaseCorrupt)
        );
        match self {
            Self::Store(error) if error.is_damage() => Ok(error),
            fault if is_corrupt => Ok(fault.at(site, step)),
            fault => Err(fault),
        }
    }

    /// Nothing is wrong with what was asked, nor with what is stored.
    pub(super) fn is_of_the_system(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(
                Code::DatabaseBusy
                    | Code::DatabaseLocked
                    | Code::DiskFull
                    | Code::SystemIoFailure
                    | Code::CannotOpen
                    | Code::ReadOnly
                    | Code::OutOfMemory
            )
        )
    }

    /// The error as callers see it.
    pub(super) fn at(self, site: &Site, step: &'static str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(error) => classify(error, site, step),
        }
    }

    /// The bare cause, for errors that say more than a step's name.
    pub(super) fn into_cause(self) -> Cause {
        match self {
            Self::Store(error) => Arc::new(error),
            Self::Sqlite(error) => error,
        }
    }
}

fn classify(error: Arc<rusqlite::Error>, site: &Site, step: &'static str) -> StoreError {
    let path = site.path.clone();
    match error.sqlite_error().map(|error| error.extended_code) {
        // The index of the log, which every process that opens the database needs room for.
        Some(ffi::SQLITE_IOERR_SHMSIZE) if is_full(&path) => return StoreError::DiskFull { step, path },
        Some(ffi::SQLITE_IOERR_WRITE) => return StoreError::WriteFailed { step, path },
        Some(ffi::SQLITE_READONLY_DBMOVED) => return StoreError::Moved { step, path },
        _ => {}
    }
    match error.sqlite_error_code() {
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Locked { step, path, waited: site.busy_timeout },
        Some(Code::DiskFull) => StoreError::DiskFull { step, path },
        // SQLite does not say which failure of the system it met.
        Some(Code::CannotOpen) if Limit::descriptors_are_used_up() => {
            StoreError::LimitReached { step, path, limit: Limit::Descriptors }
        }
        Some(Code::CannotOpen) => StoreError::CannotOpen { step, path },
        Some(Code::ReadOnly) => StoreError::ReadOnly { step, path },
        Some(Code::DatabaseCorrupt) => StoreError::CorruptFile { step, path, source: error },
        Some(Code::SystemIoFailure) => StoreError::DiskFault { step, path, source: error },
        Some(Code::NotADatabase) => StoreError::ForeignFile { path },
        Some(Code::ConstraintViolation | Code::TooBig) => StoreError::Rejected { step, source: error },
        _ => StoreError::Database { step, path, source: error },
    }
}

/// Whether there is no room for an index of the log. One that cannot be asked is not known to be full.
fn is_full(path: &Path) -> bool {
    const INDEX: u64 = 64 * 1024;
    let disk = path.parent().and_then(|folder| rustix::fs::statvfs(folder).ok());
    disk.is_some_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < INDEX)
}

#[cfg(test)]
mod tests;
