//! A folder held open.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Component, Path, PathBuf},
};

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::Errno,
};

use super::system::{Identity, READ, identity, restless};

/// Enough to open what is in the folder; unlike reading it, that needs no right but to pass through.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = OFlags::RDONLY;

/// How often an entry is looked at again that changes under our eyes.
const LOOKS: usize = 8;

/// A folder, and its real path when it was opened.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// What a name in a folder stands for.
#[derive(Debug)]
pub(crate) enum Entry {
    Folder(Folder),
    /// A link and where it points, unread.
    Link(PathBuf),
    /// A file, or something special.
    Other(Stat),
    Missing,
}

impl Folder {
    /// `/`.
    pub(crate) fn root() -> io::Result<Self> {
        let fd = rustix::fs::open("/", HOLD | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { fd, path: PathBuf::from("/") })
    }

    /// The folder's real path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself, for calls that work in it.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The folder it is in; the root is in itself.
    pub(crate) fn parent(&self) -> io::Result<Self> {
        let mut path = self.path.clone();
        path.pop();
        self.open(OsStr::new(".."), path)
    }

    /// Opens a folder in it, if it is one and not a link.
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Self> {
        self.open(name, self.path.join(name))
    }

    fn open(&self, name: &OsStr, path: PathBuf) -> io::Result<Self> {
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { fd: openat(&self.fd, name, flags, Mode::empty())?, path })
    }

    /// What a name in it stands for.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Entry> {
        for _ in 0..LOOKS {
            let stat = match self.stat(name) {
                Ok(Some(stat)) => stat,
                Ok(None) => return Ok(Entry::Missing),
                Err(error) => return Err(error),
            };
            let opened = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.child(name).map(Entry::Folder),
                FileType::Symlink => self.link(name).map(Entry::Link),
                _ => return Ok(Entry::Other(stat)),
            };
            match opened {
                // It was replaced after the look.
                Err(error) if is_race(&error) => {}
                opened => return opened,
            }
        }
        Err(restless())
    }

    /// What the system says of a name in it, links themselves included.
    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = readlinkat(&self.fd, name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Opens what a name in it stands for, if that is no link. Of special files that has an effect: see [`Pinned`].
    ///
    /// [`Pinned`]: super::pinned::Pinned
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        Ok(File::from(openat(&self.fd, name, READ, Mode::empty())?))
    }

    /// Opens a folder somewhere below it, if no link is on the way; itself for an empty path.
    pub(crate) fn child_below(&self, path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if !path.as_os_str().is_empty() {
            let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let within = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
            match rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), within) {
                // Old kernels, and containers that forbid what they do not know.
                Err(Errno::NOSYS | Errno::PERM) => {}
                opened => return Ok(Self { fd: opened?, path: self.path.join(path) }),
            }
        }
        self.child_step_by_step(path)
    }

    /// The same by nothing but plain opening.
    pub(crate) fn child_step_by_step(&self, path: &Path) -> io::Result<Self> {
        let mut folder = self.reopened()?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(Errno::XDEV.into()) };
            folder = folder.child(name)?;
        }
        Ok(folder)
    }

    /// Its entries, in no order.
    pub(crate) fn entries(&self) -> io::Result<Dir> {
        Ok(Dir::new(self.readable()?)?)
    }

    /// The same folder, opened for reading it or for making it durable.
    pub(crate) fn readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.fd, c".", flags, Mode::empty())?)
    }

    /// The same folder once more.
    pub(crate) fn reopened(&self) -> io::Result<Self> {
        self.open(OsStr::new("."), self.path.clone())
    }

    /// What tells it from every other folder.
    pub(crate) fn identity(&self) -> io::Result<Identity> {
        Ok(identity(&fstat(&self.fd)?))
    }

    /// Fails if the folder is known to have another path by now: what was decided about the old one does not hold.
    pub(crate) fn has_not_moved(&self) -> io::Result<()> {
        match real_path(&self.fd) {
            Some(path) if path != self.path => Err(io::Error::new(io::ErrorKind::NotFound, "the folder was moved")),
            _ => Ok(()),
        }
    }

    /// With the path the system gives, where it gives one: folders may have been renamed while they were walked.
    pub(crate) fn with_real_path(mut self) -> Self {
        if let Some(path) = real_path(&self.fd) {
            self.path = path;
        }
        self
    }
}

/// What the system says when an entry is not what it was a moment ago.
fn is_race(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL))
}

/// Where an open file or folder is now, if the system tells and it still has a name.
pub(crate) fn real_path(fd: impl AsFd) -> Option<PathBuf> {
    // A deleted one has a path with a mark in it that cannot be told from a name.
    let links = fstat(&fd).ok()?.st_nlink;
    let path = system_path(fd)?;
    (links > 0 && path.is_absolute()).then_some(path)
}

#[cfg(target_os = "linux")]
fn system_path(fd: impl AsFd) -> Option<PathBuf> {
    std::fs::read_link(super::system::own_path(fd)).ok()
}

#[cfg(target_vendor = "apple")]
fn system_path(fd: impl AsFd) -> Option<PathBuf> {
    Some(PathBuf::from(OsString::from_vec(rustix::fs::getpath(fd).ok()?.into_bytes())))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn system_path(_: impl AsFd) -> Option<PathBuf> {
    None
}
