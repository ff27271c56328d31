//! How this system opens files, and tells one from another.

use std::io;
#[cfg(target_os = "linux")]
use std::{os::fd::AsFd, path::PathBuf};

use rustix::fs::{OFlags, Stat};

/// To read a file: never a link, and never waiting, as opening a pipe would.
pub(super) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A path to what is held open, for this process and for one that is made from it, as long as it is held.
#[cfg(target_os = "linux")]
pub(crate) fn own_path(fd: impl AsFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()).into()
}

/// Device and inode: what tells a file or folder from every other.
pub(crate) type Identity = (u64, u64);

/// Of what the system said.
// The types of these fields differ between systems.
#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, clippy::cast_lossless)]
pub(crate) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// What was looked at is not there any more each time it is opened.
pub(crate) fn restless() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "it keeps changing")
}
