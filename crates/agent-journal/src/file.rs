//! The file under a journal, and what tests put in its place.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::JournalError;
use crate::holder;

/// Where the bytes of a journal go. The methods are steps of the operating system; tests make them fail.
pub trait Medium: fmt::Debug + Send {
    /// Writes all of it at the end.
    ///
    /// # Errors
    /// Any part of it may have been written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns once what was written is on disk.
    ///
    /// # Errors
    /// Nobody knows what is on disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to this many bytes.
    ///
    /// # Errors
    /// The file has its old length.
    fn cut(&mut self, len: u64) -> io::Result<()>;

    /// Whether the file still lies where it was opened, and has just these many bytes: what is written to a removed file is lost, and
    /// behind lines of somebody else it makes no log.
    ///
    /// # Errors
    /// It cannot be found out.
    fn is_in_place(&self, len: u64) -> io::Result<bool>;
}

/// A file that is opened for appending.
#[derive(Debug)]
pub(crate) struct AppendFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
}

impl AppendFile {
    /// Makes the file, for its owner alone. Fails where there is anything.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Opens what is there. It must be a regular file; nothing waits, should something else lie there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
        let file = OpenOptions::new().read(true).append(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

impl Medium for AppendFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn is_in_place(&self, len: u64) -> io::Result<bool> {
        let open = self.file.metadata()?;
        if open.len() != len {
            return Ok(false);
        }
        match fs::metadata(&self.path) {
            Ok(there) => Ok((open.dev(), open.ino()) == (there.dev(), there.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Makes the names in a folder last: a file that was just made is otherwise gone after a power cut.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Takes the lock of an open file, or says who has it.
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    let path = path.to_owned();
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(JournalError::Locked { path, pid: holder::pid(file) }),
        Err(TryLockError::Error(source)) => Err(JournalError::Io { step: "lock", path, source }),
    }
}
