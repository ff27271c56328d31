//! Removing and weighing folders below the sessions' folder, without ever following a link.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::archive::FileFailure;

/// Folders within folders that are removed. Ours are three deep.
const MAX_DEPTH: usize = 64;

/// What a removal has done.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    /// Bytes of the files that are gone.
    pub(crate) bytes: u64,
    /// What could not be removed.
    pub(crate) failures: Vec<FileFailure>,
}

impl Removed {
    fn note(&mut self, path: &Path, error: Errno) {
        // Somebody was faster: gone is gone.
        if error != Errno::NOENT {
            self.failures.push(FileFailure { path: path.to_owned(), message: error.to_string() });
        }
    }
}

/// Removes the entry `path` of the folder `root`, with everything in it. Where `path` has several parts, none of those
/// before the last may be a link. A file named `last` in the removed folder goes when all the others are gone.
pub(crate) fn remove(root: &Path, path: &[&str], last: Option<&str>) -> Removed {
    let mut removed = Removed::default();
    let whole = path.iter().fold(root.to_owned(), |whole, part| whole.join(part));
    let Some((name, parents)) = path.split_last() else { return removed };
    match open_parents(root, parents) {
        Ok(folder) => remove_entry(folder.as_fd(), OsStr::new(name), &whole, last, 0, &mut removed),
        Err(error) => removed.note(&whole, error),
    }
    removed
}

fn open_parents(root: &Path, parents: &[&str]) -> Result<OwnedFd, Errno> {
    // How the sessions' folder itself is reached is the user's business.
    let root = rustix::fs::open(root, folder_flags() & !OFlags::NOFOLLOW, Mode::empty())?;
    parents.iter().try_fold(root, |folder, part| openat(&folder, *part, folder_flags(), Mode::empty()))
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn remove_entry(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    last: Option<&str>,
    depth: usize,
    removed: &mut Removed,
) {
    let done = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).and_then(|stat| {
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            unlinkat(folder, name, AtFlags::empty())?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                removed.bytes += u64::try_from(stat.st_size).unwrap_or(0);
            }
            return Ok(());
        }
        if depth == MAX_DEPTH {
            return Err(Errno::LOOP);
        }
        let inner = openat(folder, name, folder_flags(), Mode::empty())?;
        let failures = removed.failures.len();
        for entry in names(&inner)?.iter().map(|entry| OsStr::from_bytes(entry)) {
            if last.is_none_or(|last| entry != last) {
                remove_entry(inner.as_fd(), entry, &path.join(entry), None, depth + 1, removed);
            }
        }
        if let Some(last) = last {
            remove_entry(inner.as_fd(), OsStr::new(last), &path.join(last), None, depth + 1, removed);
        }
        // With something left in it, it stays; that has been told.
        if removed.failures.len() > failures { Ok(()) } else { unlinkat(folder, name, AtFlags::REMOVEDIR) }
    });
    if let Err(error) = done {
        removed.note(path, error);
    }
}

fn names(folder: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    /// Bytes of all files in it.
    pub(crate) bytes: u64,
    /// When it, or something in it, was last changed.
    pub(crate) modified: SystemTime,
}

/// Weighs what lies at a path; `None` if there is nothing. What cannot be looked at weighs nothing.
pub(crate) fn weigh(path: &Path) -> Option<Weight> {
    weigh_to(path, 0)
}

fn weigh_to(path: &Path, depth: usize) -> Option<Weight> {
    let meta = path.symlink_metadata().ok()?;
    let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let mut weight = Weight { bytes: if meta.is_file() { meta.len() } else { 0 }, modified };
    if meta.is_dir() && depth < MAX_DEPTH {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if let Some(inner) = weigh_to(&entry.path(), depth + 1) {
                weight.bytes += inner.bytes;
                weight.modified = weight.modified.max(inner.modified);
            }
        }
    }
    Some(weight)
}

#[cfg(test)]
mod tests;
