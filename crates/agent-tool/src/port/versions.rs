//! What an agent last saw of a file, so that a write does not undo what somebody else did meanwhile (COD-5).

use std::fmt;
use std::path::Path;

/// Remembers one version of each resolved path for each agent, for the life of a session.
pub trait FileVersions: Send + Sync {
    /// What this agent last read or wrote there.
    fn seen(&self, path: &Path) -> Option<FileVersion>;
    /// The agent has read this version.
    fn read(&self, path: &Path, version: FileVersion);
    /// The agent has written this version.
    fn wrote(&self, path: &Path, version: FileVersion);
    /// Another agent of the session, by its id, if that wrote this version and nobody of the session wrote after it.
    fn writer(&self, path: &Path, version: FileVersion) -> Option<String>;
    /// Waits until no other call of the session writes this file, and keeps others waiting until the guard is dropped.
    /// Blocks.
    fn exclusive(&self, path: &Path) -> WriteGuard;
}

/// The right to write a file, until it is dropped.
#[must_use]
pub struct WriteGuard(Option<Box<dyn FnOnce() + Send>>);

impl WriteGuard {
    /// For implementations of [`FileVersions`]: `release` is run when the guard is dropped.
    pub fn new(release: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(release)))
    }

    /// For where there is nobody to keep out.
    pub fn free() -> Self {
        Self(None)
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

impl fmt::Debug for WriteGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGuard").finish_non_exhaustive()
    }
}

/// Tells one content of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileVersion {
    /// BLAKE3 of the content: exact.
    Content([u8; 32]),
    /// For files too big to be read for this: what the file system says of it.
    Stamp(FileStamp),
}

/// What the file system says of a file that changes when its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// Time of the last change of anything about the file, which nobody can set back. Versions stored by older builds have none,
    /// and are no version of any file that is there now.
    pub status_changed: Option<(i64, u32)>,
}
