//! A log that is held to be removed: locked, and otherwise left as it is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{JournalError, ReadError};
use crate::file::{lock, sync_folder_of};
use crate::lines::{self, io_error};
use crate::torn;

/// A log whose lock is held. Unlike [`Journal::open`](crate::Journal::open), nothing is mended: whoever holds it wants to know what
/// is there, and perhaps remove it.
#[derive(Debug)]
pub struct HeldLog {
    file: File,
    path: PathBuf,
}

impl HeldLog {
    /// Takes the lock of a log. A link is no log.
    ///
    /// # Errors
    /// [`Locked`](JournalError::Locked) where somebody else has it; what cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or(0);
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = opened.map_err(|source| io_error("open", path, source))?;
        lock(&file, path)?;
        let held = Self { file, path: path.to_owned() };
        held.must_be_in_place()?;
        Ok(held)
    }

    /// Hands out the whole lines, as [`read`](crate::read) does.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read<E>(&self, line: impl FnMut(&str) -> Result<(), E>) -> Result<u64, ReadError<E>> {
        use std::io::Seek;
        (&self.file).rewind().map_err(|source| io_error("read", &self.path, source))?;
        Ok(lines::each(&self.file, &self.path, line)?.lines)
    }

    /// Removes the log with the torn ends that were kept of it, the log last: where it breaks off, what is left is still a log with
    /// its name. Gives how many bytes are gone.
    ///
    /// # Errors
    /// The first step that failed; what was removed before it is gone.
    pub fn remove(self) -> Result<u64, JournalError> {
        self.must_be_in_place()?;
        let mut bytes = 0;
        for kept in torn::kept_of(&self.path).map_err(|source| io_error("look for torn ends of", &self.path, source))? {
            fs::remove_file(&kept.path).map_err(|source| io_error("remove", &kept.path, source))?;
            bytes += kept.bytes;
        }
        let metadata = self.file.metadata().map_err(|source| io_error("look at", &self.path, source))?;
        fs::remove_file(&self.path).map_err(|source| io_error("remove", &self.path, source))?;
        sync_folder_of(&self.path).map_err(|source| io_error("sync the folder of", &self.path, source))?;
        Ok(bytes + metadata.len())
    }

    /// Another file may have got its name between opening and locking it.
    fn must_be_in_place(&self) -> Result<(), JournalError> {
        let failed = |source| io_error("look at", &self.path, source);
        let open = self.file.metadata().map_err(failed)?;
        let there = fs::symlink_metadata(&self.path).map_err(failed)?;
        if !open.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
        }
        if (open.dev(), open.ino()) != (there.dev(), there.ino()) {
            return Err(failed(io::Error::other("it was replaced while it was looked at")));
        }
        Ok(())
    }
}
