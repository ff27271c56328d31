//! Limits of the system on a process that may be reached.

use std::fmt;
use std::fs::File;
use std::io;

use rustix::io::Errno;

/// A limit of the system on this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Open files and sockets.
    Descriptors,
    /// Threads and processes of the user.
    Threads,
}

impl Limit {
    /// The limit behind a failed system call that made or opened something; `None` if it failed for another reason.
    #[must_use]
    pub fn behind(error: &io::Error) -> Option<Self> {
        match Errno::from_io_error(error)? {
            Errno::MFILE | Errno::NFILE => Some(Self::Descriptors),
            // Of what is called here, only making a thread or a process says so.
            Errno::AGAIN => Some(Self::Threads),
            _ => None,
        }
    }

    /// Whether no file can be opened any more: libraries do not always say why they could not.
    pub(crate) fn descriptors_are_used_up() -> bool {
        File::open("/dev/null").is_err_and(|error| Self::behind(&error) == Some(Self::Descriptors))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => {
                "no more files can be opened (`ulimit -n` says how many one process may have open). Raise that limit, or \
                 close what holds them, and try again"
            }
            Self::Threads => {
                "no more threads can be started (`ulimit -u` says how many processes and threads a user may have). Raise \
                 that limit, or end others, and try again"
            }
        })
    }
}
