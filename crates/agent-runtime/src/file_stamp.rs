//! What the file system says of a file, to notice that it changed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Another answer means other content, or a careful somebody.
pub(crate) type Stamp = ([u64; 3], [i64; 4]);

pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    let known = std::fs::symlink_metadata(path).ok()?;
    // The last two cannot be set by whoever writes the file.
    let times = [known.mtime(), known.mtime_nsec(), known.ctime(), known.ctime_nsec()];
    Some(([known.dev(), known.ino(), known.size()], times))
}
