//! A file held open for reading.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use agent_policy::TargetKind;
use agent_tool::FileStamp;
use rustix::fs::{FileType, Stat};

use super::{
    folder::{Folder, real_path},
    pinned::Pinned,
};

/// A regular file, its real path, and what it was just before it was opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) stat: Stat,
}

impl OpenFile {
    /// Opens a file of a folder, if `accept` agrees to what it is. `Ok(Err(_))` is something that is no file; it was not
    /// opened, since opening some devices has an effect, and opening a pipe wakes whoever waits at its other end.
    pub(crate) fn open(
        folder: &Folder,
        name: &OsStr,
        accept: impl FnOnce(&Stat) -> io::Result<()>,
    ) -> io::Result<Result<Self, FileType>> {
        let pinned = Pinned::new(folder, name)?;
        let stat = *pinned.stat();
        if let Err(kind) = regular(&stat) {
            return Ok(Err(kind));
        }
        accept(&stat)?;
        let file = pinned.open()?;
        let path = real_path(&file).unwrap_or_else(|| folder.path().join(name));
        Ok(Ok(Self { file, path, stat }))
    }

    /// Its size when it was opened.
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether it is a file; else what it is.
pub(crate) fn regular(stat: &Stat) -> Result<(), FileType> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        other => Err(other),
    }
}

/// What tells this state of a file from others.
// The types of these fields differ between systems.
#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, clippy::cast_lossless, clippy::cast_possible_truncation)]
pub(crate) fn stamp(stat: &Stat) -> FileStamp {
    FileStamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
        status_changed: Some((stat.st_ctime as i64, stat.st_ctime_nsec as u32)),
    }
}

/// As the facts put it.
pub(crate) fn target_kind(stat: &Stat) -> TargetKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => TargetKind::File,
        FileType::Directory => TargetKind::Folder,
        _ => TargetKind::Special,
    }
}

/// What people call it.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        FileType::Symlink => "link",
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "special file",
    }
}
