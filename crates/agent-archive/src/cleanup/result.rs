//! What a cleanup is asked, and what it says.

use std::fmt;
use std::path::PathBuf;

use agent_protocol::{ArtifactId, SessionId, Timestamp};
use agent_tasks::TaskStatus;

/// Which artifacts to delete. The default deletes nothing and looks at what is for debugging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactCleanup {
    /// Those of this session only.
    pub session_id: Option<SessionId>,
    /// Only says what would go.
    pub dry_run: bool,
    /// Covers every artifact, not just those whose `kind` is `debug` or `raw`.
    pub include_all: bool,
    /// Only what was stored before this moment.
    pub older_than: Option<Timestamp>,
    /// Only as many, the oldest first, that what remains of the covered ones is at most this.
    pub max_bytes: Option<u64>,
}

impl Default for ArtifactCleanup {
    fn default() -> Self {
        Self { session_id: None, dry_run: true, include_all: false, older_than: None, max_bytes: None }
    }
}

/// What a cleanup found, and what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupResult {
    /// Whether it only looked.
    pub dry_run: bool,
    /// What may go: artifacts, the oldest first, then files that no artifact names; or logs of Tasks, then folders that are empty.
    pub candidates: Vec<CleanupCandidate>,
    /// What was looked at and stays, where that is to be told: logs of Tasks.
    pub kept: Vec<CleanupKept>,
    /// How many of them are gone.
    pub removed: u64,
    /// Bytes of files that are gone; of all candidates if it only looked.
    pub bytes: u64,
    /// What could not be done. Everything else was.
    pub failures: Vec<CleanupFailure>,
}

/// Something that may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupCandidate {
    /// The session.
    pub session_id: SessionId,
    /// The artifact; none for a file that no artifact names, and for logs of Tasks.
    pub artifact_id: Option<ArtifactId>,
    /// Its file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was stored; when a Task ended; when a file that no artifact names was last changed.
    pub created_at: Timestamp,
    /// Why it may go.
    pub reason: CleanupReason,
}

/// Why something may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanupReason {
    /// It was made for debugging.
    DebugArtifact,
    /// It was stored before the moment asked for.
    Older,
    /// Together the covered artifacts are bigger than asked for, and it is one of the oldest.
    OverMaxBytes,
    /// All were asked for.
    Asked,
    /// No artifact names the file; its process was killed before it could.
    Stray,
    /// The artifact's file is gone.
    FileMissing,
    /// Its Task has ended so.
    TaskEnded(TaskStatus),
    /// Nothing is left in the folder.
    EmptyFolder,
}

impl fmt::Display for CleanupReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TaskEnded(status) => return write!(f, "its task is {status}"),
            Self::EmptyFolder => "nothing else is in it",
            Self::DebugArtifact => "made for debugging",
            Self::Older => "older than asked for",
            Self::OverMaxBytes => "among the oldest of what is too much",
            Self::Asked => "all were asked for",
            Self::Stray => "no artifact names it",
            Self::FileMissing => "its file is gone",
        })
    }
}

/// Something that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupKept {
    /// The session.
    pub session_id: SessionId,
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Something that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupFailure {
    /// The session.
    pub session_id: SessionId,
    /// The artifact, where it is about one.
    pub artifact_id: Option<ArtifactId>,
    /// The file, where it is about one.
    pub path: Option<PathBuf>,
    /// Why.
    pub message: String,
}
