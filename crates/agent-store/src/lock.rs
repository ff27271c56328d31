//! The lock that says who owns a session: a lock of the operating system on `<sessions>/<id>/lock` (RUN-4).
//!
//! The kernel releases it when its process ends, however it ends; a stopped or sleeping process keeps it (DEC-4). It
//! belongs to the open file, not to the process, so two stores in one process keep each other out as well.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_protocol::SessionId;

use crate::error::StoreError;
use crate::private;

/// The lock's file in its session's folder.
pub(crate) const NAME: &str = "lock";

/// Held until it is dropped.
#[derive(Debug)]
pub(crate) struct SessionLock {
    file: File,
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started still shares the open file until it becomes its
        // program.
        let _ = self.file.unlock();
    }
}

/// How often a lock file may vanish between opening and locking it before that counts as a fault.
const TRIES: u32 = 8;

/// Takes the lock of a session; `None` if somebody holds it. Never waits.
pub(crate) fn try_take(sessions_dir: &Path, session_id: &SessionId) -> Result<Option<SessionLock>, StoreError> {
    let folder = sessions_dir.join(session_id.as_str());
    private::folders(&folder).map_err(|e| fault("make the folder", &folder, e))?;
    let path = folder.join(NAME);
    for _ in 0..TRIES {
        let file = private::open_or_make(&path).map_err(|e| fault("open the lock", &path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(fault("lock", &path, e)),
        }
        // A lock on a file that has been removed meanwhile keeps nobody out.
        if is_at(&file, &path).map_err(|e| fault("look at the lock", &path, e))? {
            return Ok(Some(SessionLock { file }));
        }
    }
    Err(fault("keep the lock", &path, io::Error::other("something keeps removing it")))
}

/// Whether somebody holds the lock of a session. Nothing is made on disk.
///
/// The lock is held for a moment itself, shared with others who look: a claim in that moment must try again.
pub(crate) fn is_held(sessions_dir: &Path, session_id: &SessionId) -> Result<bool, StoreError> {
    let path = sessions_dir.join(session_id.as_str()).join(NAME);
    // Without waiting, should something else than a file lie there.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_no_lock(&e) => {
            return Ok(false);
        }
        Err(e) => return Err(fault("open the lock", &path, e)),
    };
    match file.try_lock_shared() {
        // Given back at once, and not only by closing: see `SessionLock`.
        Ok(()) => file.unlock().map(|()| false).map_err(|e| fault("unlock", &path, e)),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(fault("look at the lock", &path, e)),
    }
}

/// What lies there is no file that anybody can hold: a link to itself, a socket. Whoever claims the session is told.
fn is_no_lock(error: &io::Error) -> bool {
    let no_lock = [rustix::io::Errno::LOOP, rustix::io::Errno::NXIO];
    rustix::io::Errno::from_io_error(error).is_some_and(|errno| no_lock.contains(&errno))
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((held.dev(), held.ino()) == (there.dev(), there.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn fault(step: &'static str, path: &Path, error: io::Error) -> StoreError {
    StoreError::File { step, path: PathBuf::from(path), source: Arc::new(error) }
}

#[cfg(test)]
mod tests;
