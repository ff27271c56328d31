//! What a name stands for, held before it is opened.

use std::{ffi::OsStr, fs::File, io, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, statat},
    io::Errno,
};

#[cfg(target_os = "linux")]
use super::system::{READ, own_path};
use super::{
    folder::Folder,
    system::{identity, restless},
};

/// Something in a folder, held by what it is. It was not opened, so nothing has happened to it.
#[derive(Debug)]
pub(crate) struct Pinned<'f> {
    folder: &'f Folder,
    name: &'f OsStr,
    /// Where the system can hold a thing without opening it.
    fd: Option<OwnedFd>,
    stat: Stat,
}

impl<'f> Pinned<'f> {
    /// Holds what a name in a folder stands for, the link itself if it is one.
    pub(crate) fn new(folder: &'f Folder, name: &'f OsStr) -> io::Result<Self> {
        let fd = hold(folder, name)?;
        let stat = match &fd {
            Some(fd) => fstat(fd)?,
            None => statat(folder.fd(), name, AtFlags::SYMLINK_NOFOLLOW)?,
        };
        Ok(Self { folder, name, fd, stat })
    }

    /// What it is.
    pub(crate) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Opens it for reading: this very thing, whatever its name stands for by now.
    pub(crate) fn open(&self) -> io::Result<File> {
        if let Some(opened) = self.fd.as_ref().and_then(reopen) {
            return opened;
        }
        let file = self.folder.open_file(self.name)?;
        if identity(&fstat(&file)?) == identity(&self.stat) { Ok(file) } else { Err(restless()) }
    }
}

#[cfg(target_os = "linux")]
fn hold(folder: &Folder, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    Ok(Some(openat(folder.fd(), name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?))
}

/// Opens what is held; nothing where there is no `/proc` to do it by: what is held has no name that could be gone.
#[cfg(target_os = "linux")]
fn reopen(fd: &OwnedFd) -> Option<io::Result<File>> {
    match rustix::fs::open(own_path(fd), READ.difference(OFlags::NOFOLLOW), Mode::empty()) {
        Err(Errno::NOENT) => None,
        opened => Some(opened.map(File::from).map_err(io::Error::from)),
    }
}

#[cfg(not(target_os = "linux"))]
fn hold(_: &Folder, _: &OsStr) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
fn reopen(_: &OwnedFd) -> Option<io::Result<File>> {
    None
}
