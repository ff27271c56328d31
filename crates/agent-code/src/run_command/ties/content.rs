//! What tells a content from every other one.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::FileExt},
};

use rustix::fs::{AtFlags, FileType, Stat, statat};

use crate::{
    place::{Folder, OpenFile},
    workspace::Workspace,
};

/// Bigger files are told apart by what the system says of them. Bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// So are all files once so much was read for one command. Bytes.
const MAX_READ: u64 = 64 * 1024 * 1024;
/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 4096;
/// As much of a file as Linux looks at for its interpreter. Bytes.
const FIRST_LINE: usize = 256;

/// Reads for one command, within limits.
pub(super) struct Reader {
    left: u64,
}

/// What is known of a file's content.
pub(super) struct Content {
    pub(super) hash: String,
    /// Not a pipe or the like.
    pub(super) is_file: bool,
    /// What follows `#!`.
    pub(super) interpreter: Option<String>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { left: MAX_READ }
    }

    /// A file's content; where it cannot be read, what the system says of it.
    pub(super) fn file(&mut self, workspace: &Workspace, folder: &Folder, name: &OsStr, stat: &Stat) -> Content {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let Ok(Ok(file)) = workspace.open(folder, name) else {
            return Content { hash: by_state(stat), is_file, interpreter: None };
        };
        let read = if file.size() <= MAX_FILE.min(self.left) { self.hash(&file).ok() } else { None };
        Content { hash: read.unwrap_or_else(|| by_state(&file.stat)), is_file: true, interpreter: interpreter(&file) }
    }

    fn hash(&mut self, file: &OpenFile) -> io::Result<String> {
        self.left = self.left.saturating_sub(file.size());
        let mut hasher = blake3::Hasher::new();
        // It may grow while it is read.
        hasher.update_reader((&file.file).take(MAX_FILE))?;
        Ok(hasher.finalize().to_string())
    }

    /// The files directly in a folder, links followed, and the names of its folders. Nothing where there are too many, or
    /// they cannot be listed.
    pub(super) fn folder(&mut self, folder: &Folder) -> Option<String> {
        let mut names: Vec<OsString> = Vec::new();
        for entry in folder.entries().ok()? {
            let name = OsStr::from_bytes(entry.ok()?.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            if names.len() >= MAX_ENTRIES {
                return None;
            }
            names.push(name);
        }
        names.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        for name in names {
            hasher.update(&name.len().to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(entry_state(folder, &name).as_bytes());
        }
        Some(hasher.finalize().to_string())
    }

    /// A folder that does not exist.
    pub(super) fn nothing() -> String {
        blake3::hash(b"nothing").to_string()
    }
}

/// What the system says of a file: no write leaves the time of the last change as it was.
pub(super) fn by_state(stat: &Stat) -> String {
    blake3::hash(state(stat).as_bytes()).to_string()
}

fn entry_state(folder: &Folder, name: &OsStr) -> String {
    let looks = [AtFlags::empty(), AtFlags::SYMLINK_NOFOLLOW].into_iter();
    let found = looks.filter_map(|flags| statat(folder.fd(), name, flags).ok()).next();
    match found {
        // Its own times change with every file that something puts there for a moment.
        Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => "folder".to_owned(),
        Some(stat) => state(&stat),
        None => "gone".to_owned(),
    }
}

/// What changes with every write and every swap.
fn state(stat: &Stat) -> String {
    let file = (stat.st_dev, stat.st_ino, stat.st_mode, stat.st_size);
    let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
    format!("{file:?} {times:?}")
}

/// What the first line of a script names.
fn interpreter(file: &OpenFile) -> Option<String> {
    let mut head = [0; FIRST_LINE];
    let read = file.file.read_at(&mut head, 0).ok()?;
    let line = head[..read].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}
