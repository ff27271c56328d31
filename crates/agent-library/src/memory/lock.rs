//! One writer at a time (MEM-07): a lock of the operating system on a file in the memory folder.
//!
//! The kernel gives it up when its process ends, however it ends. It belongs to the open file, so two stores in one process
//! keep each other out as well.

use std::{ffi::OsStr, fs::File, thread, time::Duration};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::{MemoryError, folder::Folder};

/// The lock's file; empty.
pub(super) const NAME: &str = ".lock";

/// Between two tries. Waits are counted in these, so that no clock is needed.
const PAUSE: Duration = Duration::from_millis(10);

/// Held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started still shares the open file until it becomes its
        // program.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Takes the lock, waiting for others at most about `wait`.
pub(super) fn take(folder: &Folder, wait: Duration) -> Result<Lock, MemoryError> {
    let name = OsStr::new(NAME);
    let path = || folder.path().join(NAME);
    let mut waited = Duration::ZERO;
    loop {
        let file = folder.open_lock(name)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // A lock on a file that has been removed meanwhile keeps nobody out.
            Ok(()) if folder.is_at(&file, name)? => return Ok(Lock { file }),
            Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(MemoryError::os("lock", &path(), error)),
        }
        if waited >= wait {
            let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
            return Err(MemoryError::Busy { path: path(), waited_ms });
        }
        thread::sleep(PAUSE);
        waited += PAUSE;
    }
}
