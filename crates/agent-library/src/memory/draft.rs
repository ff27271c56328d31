//! Writing a file whole or not at all (MEM-5).

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::fd::{AsRawFd, OwnedFd},
    path::PathBuf,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, fchmod, linkat, openat, renameat, renameat_with, unlinkat},
    io::Errno,
};

/// What a new file is called until it is whole, where it cannot be written without a name, and for the moment before it
/// takes the place of an old one. Only who has the lock writes, so one name will do.
const NAME: &str = ".memory-draft.tmp";

/// Of every file that is made here (CFG-12).
pub(super) const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// What came of putting a file somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// It is there.
    Done,
    /// Something else is there than was said; it stays.
    Changed,
}

/// A file on its way to its name. It is gone when this is dropped before it got there.
pub(super) struct Draft<'f> {
    folder: &'f OwnedFd,
    file: File,
    has_name: bool,
}

impl<'f> Draft<'f> {
    /// An empty one, without a name where the file system can do that.
    pub(super) fn make(folder: &'f OwnedFd) -> io::Result<Self> {
        discard(folder)?;
        match nameless(folder) {
            Some(file) => Self { folder, file, has_name: false }.private(),
            None => Self::named(folder),
        }
    }

    pub(super) fn named(folder: &'f OwnedFd) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(folder, NAME, flags, PRIVATE)?);
        Self { folder, file, has_name: true }.private()
    }

    /// Whatever the umask (CFG-12).
    fn private(self) -> io::Result<Self> {
        fchmod(&self.file, PRIVATE)?;
        Ok(self)
    }

    /// Writes all of it, durably.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    /// Takes a name: that of what it replaces, or one that is still free.
    pub(super) fn take_name(mut self, name: &OsStr, replaces: bool) -> io::Result<Put> {
        let fd = self.folder;
        if !self.has_name {
            let here = by_descriptor(&self.file);
            if !replaces {
                return free_name(linkat(CWD, &here, fd, name, AtFlags::SYMLINK_FOLLOW));
            }
            linkat(CWD, &here, fd, NAME, AtFlags::SYMLINK_FOLLOW)?;
            self.has_name = true;
        }
        if replaces {
            renameat(fd, NAME, fd, name)?;
            self.has_name = false;
            return Ok(Put::Done);
        }
        let taken = match renameat_with(fd, NAME, fd, name, RenameFlags::NOREPLACE) {
            // Not every file system can do this in one step. The draft's own name goes when this is dropped.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => linkat(fd, NAME, fd, name, AtFlags::empty()),
            done => {
                self.has_name = done.is_err();
                done
            }
        };
        free_name(taken)
    }
}

fn free_name(taken: rustix::io::Result<()>) -> io::Result<Put> {
    match taken {
        Ok(()) => Ok(Put::Done),
        Err(Errno::EXIST) => Ok(Put::Changed),
        Err(error) => Err(error.into()),
    }
}

/// What was left of a draft by a process that was killed.
fn discard(folder: &OwnedFd) -> io::Result<()> {
    match unlinkat(folder, NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.has_name {
            // Nothing can be done about a failure; the next write tries again.
            let _ = discard(self.folder);
        }
    }
}

/// A file without a name: of a process that is killed while it writes nothing stays behind. `None` where the file system
/// has no such files, or no name could be given to it later.
#[cfg(target_os = "linux")]
fn nameless(folder: &OwnedFd) -> Option<File> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = File::from(openat(folder, ".", flags, PRIVATE).ok()?);
    std::fs::metadata(by_descriptor(&file)).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_folder: &OwnedFd) -> Option<File> {
    None
}

fn by_descriptor(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
