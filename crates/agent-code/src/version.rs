//! Whether a file is still what the session last saw (COD-5).

use std::path::Path;

use agent_tool::{FileStamp, FileVersion, FileVersions};
use rustix::fs::Stat;

use crate::place::stamp;

/// Bigger files are told apart by what the file system says, smaller ones by their content. Bytes.
pub(crate) const HASHED_MAX: u64 = 4 * 1024 * 1024;

/// The version of a file with this content and state.
pub(crate) fn version(content: &[u8], stamp: FileStamp) -> FileVersion {
    if content.len() as u64 <= HASHED_MAX { FileVersion::Content(hash(content)) } else { FileVersion::Stamp(stamp) }
}

/// BLAKE3.
pub(crate) fn hash(content: &[u8]) -> [u8; 32] {
    *blake3::hash(content).as_bytes()
}

/// Whether the session knows the file, and it is another now. `hash` is there where the file was small enough.
pub(crate) fn changed(versions: &dyn FileVersions, path: &Path, stat: &Stat, hash: Option<[u8; 32]>) -> bool {
    match versions.seen(path) {
        None => false,
        Some(FileVersion::Content(seen)) => hash != Some(seen),
        Some(FileVersion::Stamp(seen)) => stamp(stat) != seen,
    }
}
