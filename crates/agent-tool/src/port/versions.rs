//! What a session last saw of a file, so that a write does not undo what somebody else did meanwhile (COD-5).

use std::path::Path;

/// Remembers one version for each resolved path, for the life of a session.
pub trait FileVersions: Send + Sync {
    /// What this session last read or wrote there.
    fn seen(&self, path: &Path) -> Option<FileVersion>;
    /// This is what is there now, and the session knows it.
    fn record(&self, path: &Path, version: FileVersion);
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
}
