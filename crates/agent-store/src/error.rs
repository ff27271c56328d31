//! Why the store could not do what it was asked.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{ErrorCode, ErrorPayload, PayloadError, RunId, SessionId};

use crate::limit::Limit;
use crate::rows::Owner;

/// The failure behind a [`StoreError`], whatever database it came from.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why the store could not do what it was asked.
///
/// Cheap to clone: one failed transaction may be several callers' failure.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else owns the session (RUN-4).
    #[error("session {session_id} is in use by {}", holder(.owner.as_ref()))]
    SessionActive {
        /// The session.
        session_id: SessionId,
        /// Its owner; unknown for the moment between taking the lock and writing it down.
        owner: Option<Owner>,
    },
    /// Somebody else has taken the session over: its lock was removed from outside (DB-06).
    #[error(
        "session {session_id} has been taken over by another process, since the lock of this one was removed; what comes after that is \
         not stored"
    )]
    FenceLost {
        /// The session.
        session_id: SessionId,
    },
    /// The session has been given up by its owner in this process.
    #[error("session {session_id} has been released; nothing was stored")]
    Released {
        /// The session.
        session_id: SessionId,
    },
    /// There is no such session.
    #[error("there is no session {session_id}")]
    SessionNotFound {
        /// The id that was asked for.
        session_id: SessionId,
    },
    /// The session was made for another project (COD-10).
    #[error("session {session_id} belongs to the project {cwd}, not to {project}")]
    OtherProject {
        /// The session.
        session_id: SessionId,
        /// Its project.
        cwd: String,
        /// The project that was asked for.
        project: String,
    },
    /// There is no such run.
    #[error("there is no run {run_id}")]
    RunNotFound {
        /// The id that was asked for.
        run_id: RunId,
    },
    /// The id of a new session is taken.
    #[error("session {session_id} exists already")]
    SessionExists {
        /// The id.
        session_id: SessionId,
    },
    /// Something names a row that its session does not have.
    #[error("session {session_id} has no {kind} {id}")]
    NotInSession {
        /// The session.
        session_id: SessionId,
        /// What was looked for.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// A search without a word.
    #[error(
        "there is nothing to search for: write one or more words, with letters or digits, such as `login error` or `migrat*`"
    )]
    NothingToSearch,
    /// What was to be stored breaks a rule: an id that is taken, a value that could not be read back.
    #[error("cannot {step}: what was to be stored breaks a rule of the database")]
    Rejected {
        /// What was tried.
        step: &'static str,
        /// Which rule.
        #[source]
        source: Cause,
    },
    /// A stored row cannot be read.
    #[error("row {id} of table {table} is damaged: its {column} cannot be read")]
    CorruptRow {
        /// The table.
        table: &'static str,
        /// The row's id.
        id: String,
        /// The column.
        column: String,
        /// What is wrong with it.
        #[source]
        source: Cause,
    },
    /// The database file is damaged (STO-5, DB-04).
    #[error(
        "cannot {step} {}: it is damaged, or its disk does not give all of it. It was left as it is: a repair copies \
         what can be read into a new one, and says what is lost", .path.display()
    )]
    CorruptFile {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// The database's words.
        #[source]
        source: Cause,
    },
    /// A repair can copy nothing: what says where the tables are cannot be read (STO-5).
    #[error(
        "cannot repair {}: its beginning, or what lists its tables, is damaged or missing, or it is no SQLite database. It was \
         left as it is", .path.display()
    )]
    BeyondRepair {
        /// The file.
        path: PathBuf,
        /// The database's words.
        #[source]
        source: Cause,
    },
    /// The log of the database is damaged, and commits stand behind the damage (STO-5).
    #[error(
        "cannot {step} {path}: its log, {path}-wal, is damaged, and {} behind the damage would be lost. Nothing was changed: \
         a repair copies what can be read into a new database", counted(*.commits), path = .path.display()
    )]
    DamagedLog {
        /// What was tried.
        step: &'static str,
        /// The database.
        path: PathBuf,
        /// Commits behind the damage, as far as they can be told.
        commits: u64,
    },
    /// The file has the tables of ours, but not the mark of one (STO-5): a tool made it from a copy.
    #[error(
        "{} has the tables of a session database, but not its mark: a tool has copied it, perhaps with `.dump`. It was left as \
         it is: a repair makes a session database of it",
        .path.display()
    )]
    Unmarked {
        /// The file.
        path: PathBuf,
    },
    /// The file is not ours (STO-5).
    #[error(
        "{} is not a session database of this program. It was left as it is: choose another path or move it away",
        .path.display()
    )]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// A newer version wrote the file (STO-4).
    #[error(
        "{} was written by a newer version of this program (schema {found}; this one knows {known}). It was left as it \
         is: use the newer version",
        .path.display()
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The file's schema version.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// The schema could not be brought up to date; it is what it was (STO-4).
    #[error("migration {version} ({name}) of {} failed; the database is as it was before", .path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// The step that failed.
        version: u32,
        /// Its name.
        name: &'static str,
        /// Why.
        #[source]
        source: Cause,
    },
    /// Another program holds the database's write lock (RUN-21).
    #[error(
        "cannot {step} {}: another program has had it locked for more than {waited:?}. Close it and try again",
        .path.display()
    )]
    Locked {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// What is to be done needs the database for itself.
    #[error("cannot {step} {}: another program uses it. End every run and try again", .path.display())]
    InUse {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// No room (RUN-21).
    #[error("cannot {step} {}: its disk is full. Make room and try again; what was stored is safe", .path.display())]
    DiskFull {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The system did not take what was written (RUN-21).
    #[error(
        "cannot {step} {}: writing failed. A quota or the limit on the size of files (`ulimit -f`) may be reached, or the disk \
         is failing; what was stored is safe",
        .path.display()
    )]
    WriteFailed {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The system failed to read, lock or look at the file.
    #[error(
        "cannot {step} {}: the system reports a fault of its disk, or of the connection to it. Nothing says that what is \
         stored is damaged: look after the disk and try again",
        .path.display()
    )]
    DiskFault {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// The database's words.
        #[source]
        source: Cause,
    },
    /// The database, or a file that SQLite needs beside it, cannot be opened.
    #[error(
        "cannot {step} {}: it cannot be opened. Check that it is a file, and its permissions and its folder's: both must be \
         readable and writable",
        .path.display()
    )]
    CannotOpen {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The database, or its log, is not where it was when it was opened (RUN-21).
    #[error(
        "cannot {step} {}: it, or the -wal or -shm file beside it, was moved, replaced or removed while in use. Nothing more \
         is stored: put back what was moved, and begin again",
        .path.display()
    )]
    Moved {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A log lies where its database is missing (STO-5).
    #[error(
        "there is no database at {path}, but its log {path}-wal is there and holds what was stored last. Nothing was changed: \
         put the database back beside its log; without it the log is of no use, and can be moved away",
        path = .path.display()
    )]
    LogAlone {
        /// Where the database should be.
        path: PathBuf,
    },
    /// A limit of the system on this process is reached.
    #[error("cannot {step} {}: {limit}", .path.display())]
    LimitReached {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// Which limit.
        limit: Limit,
    },
    /// The database cannot be written (RUN-21).
    #[error(
        "cannot {step} {}: it cannot be written. Check its permissions and its folder's; what was stored is safe",
        .path.display()
    )]
    ReadOnly {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A file or folder beside the database could not be used.
    #[error("cannot {step} {}", .path.display())]
    File {
        /// What was tried.
        step: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: Cause,
    },
    /// Anything else the database reports.
    #[error("cannot {step} {}", .path.display())]
    Database {
        /// What was tried.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// The database's words.
        #[source]
        source: Cause,
    },
    /// A path in the settings depends on the current folder.
    #[error("{} is not an absolute path", .path.display())]
    RelativePath {
        /// The path.
        path: PathBuf,
    },
    /// The store has been closed.
    #[error("the session store is closed")]
    Closed,
}

fn counted(count: u64) -> String {
    match count {
        0 => "everything".to_owned(),
        1 => "one commit".to_owned(),
        more => format!("{more} commits"),
    }
}

fn holder(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "another process".to_owned(), Owner::to_string)
}

impl StoreError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::SessionActive { .. } | Self::FenceLost { .. } | Self::Released { .. } => ErrorCode::SessionActive,
            Self::SessionNotFound { .. }
            | Self::OtherProject { .. }
            | Self::RunNotFound { .. }
            | Self::SessionExists { .. }
            | Self::NotInSession { .. }
            | Self::NothingToSearch => ErrorCode::ValidationError,
            Self::Rejected { .. } => ErrorCode::InternalError,
            Self::NewerVersion { .. } | Self::Migration { .. } => ErrorCode::MigrationFailed,
            Self::RelativePath { .. } => ErrorCode::ConfigError,
            Self::CorruptRow { .. }
            | Self::CorruptFile { .. }
            | Self::BeyondRepair { .. }
            | Self::DamagedLog { .. }
            | Self::Unmarked { .. }
            | Self::ForeignFile { .. }
            | Self::DiskFault { .. }
            | Self::Locked { .. }
            | Self::InUse { .. }
            | Self::DiskFull { .. }
            | Self::WriteFailed { .. }
            | Self::CannotOpen { .. }
            | Self::ReadOnly { .. }
            | Self::Moved { .. }
            | Self::LogAlone { .. }
            | Self::LimitReached { .. }
            | Self::File { .. }
            | Self::Database { .. }
            | Self::Closed => ErrorCode::StorageError,
        }
    }

    /// What programs tell the failures under one code apart by.
    fn kind(&self) -> &'static str {
        match self {
            Self::SessionActive { .. } => "session_active",
            Self::FenceLost { .. } => "fence_lost",
            Self::Released { .. } => "released",
            Self::SessionNotFound { .. } => "session_not_found",
            Self::OtherProject { .. } => "other_project",
            Self::RunNotFound { .. } => "run_not_found",
            Self::SessionExists { .. } => "session_exists",
            Self::NotInSession { .. } => "not_in_session",
            Self::NothingToSearch => "nothing_to_search",
            Self::Rejected { .. } => "rejected",
            Self::CorruptRow { .. } => "corrupt_row",
            Self::CorruptFile { .. } => "corrupt_file",
            Self::BeyondRepair { .. } => "beyond_repair",
            Self::DamagedLog { .. } => "damaged_log",
            Self::Unmarked { .. } => "unmarked",
            Self::ForeignFile { .. } => "foreign_file",
            Self::DiskFault { .. } => "disk_fault",
            Self::NewerVersion { .. } => "newer_version",
            Self::Migration { .. } => "migration",
            Self::Locked { .. } => "locked",
            Self::InUse { .. } => "in_use",
            Self::DiskFull { .. } => "disk_full",
            Self::WriteFailed { .. } => "write_failed",
            Self::CannotOpen { .. } => "cannot_open",
            Self::ReadOnly { .. } => "read_only",
            Self::Moved { .. } => "moved",
            Self::LogAlone { .. } => "log_alone",
            Self::LimitReached { .. } => "limit_reached",
            Self::File { .. } => "file",
            Self::Database { .. } => "database",
            Self::RelativePath { .. } => "relative_path",
            Self::Closed => "closed",
        }
    }

    /// Whether something stored is damaged, so that others may be whole.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::CorruptRow { .. } | Self::CorruptFile { .. })
    }

    /// What crosses the boundary: code, message with its causes, and facts.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        let retryable = matches!(
            self,
            Self::SessionActive { .. }
                | Self::Locked { .. }
                | Self::InUse { .. }
                | Self::DiskFull { .. }
                | Self::WriteFailed { .. }
                | Self::LimitReached { .. }
        );
        let payload =
            ErrorPayload::new(self.code(), with_causes(self)).retryable(retryable).detail("kind", self.kind());
        match self {
            Self::SessionActive { owner: Some(owner), .. } => payload
                .detail("owner_pid", owner.pid)
                .detail("owner_host", owner.host.as_str())
                .detail("owner_since", owner.since.as_str()),
            _ => payload,
        }
    }
}

/// A payload that cannot be read is a damaged row like any other.
impl From<PayloadError> for StoreError {
    fn from(error: PayloadError) -> Self {
        let column = match &error.why.field {
            Some(field) => format!("payload_json.{field}"),
            None => "payload_json".to_owned(),
        };
        Self::CorruptRow { table: "events", id: error.event_id.to_string(), column, source: Arc::new(error.why) }
    }
}

/// A message does not repeat its cause; a payload has no other place for it.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        // Some libraries repeat their cause, and SQLite's puts a number before it.
        let words =
            told.strip_prefix("Error code ").and_then(|told| told.split_once(": ")).map_or(&*told, |(_, words)| words);
        if !text.ends_with(words) {
            text.push_str(": ");
            text.push_str(&told);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
