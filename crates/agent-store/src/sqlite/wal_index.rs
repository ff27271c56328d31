//! The index of the log: the `-shm` file, which every process that uses the database maps into its memory.
//!
//! SQLite grows it by one byte for every page of 4 KiB. Where the disk's blocks are smaller, the rest of a page stays a hole in
//! the file, which gets its blocks when somebody writes there through the mapping: with the disk full by then, the system can
//! only end the process (SIGBUS). So the blocks are given out here, before SQLite maps them, where a full disk is an error.
//!
//! The first who opens the index empties it. To give out blocks before that, we are that first one: with SQLite's own lock for
//! it (the byte [`FIRST`]), held by the open file and not by the process, so that SQLite in this very process respects it too.
//!
//! Closing any file gives up every lock that the process has on it, SQLite's included. So an index that was opened here is closed
//! once it has been removed, and kept open until then: one for each database, however many stores use it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
#[cfg(target_os = "linux")]
use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
};
use rustix::fs::{FallocateFlags, fallocate};

use super::fault::{Outcome, Site};
use super::in_place::{beside, which};
use crate::error::StoreError;
use crate::limit::Limit;
use crate::private;

/// Bytes that are mapped at once.
const REGION: u64 = 32 * 1024;
/// Pages of the log that a region holds the places of, rounded down.
const PAGES: u64 = 4_000;
/// Bytes of a page in the log.
const PAGE: u64 = 4_096 + 24;
/// Regions ahead of the log: one transaction may add so much to it, about 100 MB.
const AHEAD: u64 = 6;
/// The byte that is locked by everybody who has the index open, and by the first one alone while the index is emptied: `UNIX_SHM_DMS` of
/// SQLite, a part of its file format.
#[cfg(target_os = "linux")]
const FIRST: i64 = 128;
/// How often it is tried to share it with somebody who is emptying it, and how long is waited in between.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(2);

/// Those that cannot be closed yet. That closing gives up locks is a fact of the process, so this is one list for it.
static KEPT: Mutex<Vec<Arc<File>>> = Mutex::new(Vec::new());

/// The index of one database, whose blocks are given out before they are used.
#[derive(Debug)]
pub(super) struct WalIndex {
    file: Arc<File>,
    path: PathBuf,
    /// Bytes that have their blocks.
    room: u64,
    /// It was made here.
    is_new: bool,
    /// Nobody else used it: what the log holds is looked for anew.
    is_first: bool,
}

impl WalIndex {
    /// Whether nobody else used the database when this was prepared, so that its log is read anew.
    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Before SQLite opens it. `None` where it cannot be opened to write: that is for SQLite to say.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`], before anything depends on it.
    pub(super) fn prepare(site: &Site, step: &'static str) -> Outcome<Option<Self>> {
        let path = beside(&site.path, "-shm");
        // One at a time: stores in one process share the open file and its lock.
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = open(&mut kept, path, &site.path).and_then(|mut index| {
            let ready = index.share().and_then(|locked| {
                index.reach(AHEAD * REGION)?;
                // Without a lock somebody may empty it once more.
                index.room = if locked { index.room } else { 0 };
                Ok(())
            });
            match ready {
                Ok(()) => Ok(index),
                Err(error) => {
                    index.remove_if_new();
                    // Its end takes the list of those that are kept.
                    drop(kept);
                    Err(error)
                }
            }
        });
        match prepared {
            Ok(index) => Ok(Some(index)),
            Err(error) => refusal(&error, site, step).map_or(Ok(None), |error| Err(error.into())),
        }
    }

    /// Takes it for as long as this lives, so that nobody else opens the database. What it holds stays.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while somebody uses the database.
    pub(super) fn alone(site: &Site, step: &'static str) -> Outcome<Option<Self>> {
        let path = beside(&site.path, "-shm");
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match open(&mut kept, path, &site.path) {
            Ok(index) => index,
            Err(error) => return refusal(&error, site, step).map_or(Ok(None), |error| Err(error.into())),
        };
        match lock(&index.file, Lock::First) {
            Err(Errno::EAGAIN | Errno::EACCES) => {
                drop(kept);
                Err(StoreError::InUse { step, path: site.path.clone() }.into())
            }
            // A file system without such locks keeps nobody out.
            _ => Ok(Some(index)),
        }
    }

    /// Room for a transaction behind a log of so many bytes. Only whoever holds the write lock may ask: nobody else lets the index
    /// grow.
    pub(super) fn make_room(&mut self, log: u64, site: &Site) -> Outcome<()> {
        let wanted = (log / PAGE / PAGES + AHEAD) * REGION;
        if wanted <= self.room {
            return Ok(());
        }
        match self.reach(wanted) {
            Ok(()) => Ok(()),
            Err(error) => refusal(&error, site, "write to").map_or(Ok(()), |error| Err(error.into())),
        }
    }

    /// SQLite has opened it, and holds the lock itself. As long as anybody else does, the last one to close the database would not
    /// remove it.
    pub(super) fn opened(&self) {
        // One at a time, as when it is locked.
        let _kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails where there are no such locks; nothing is locked there.
        let _ = lock(&self.file, Lock::Nobody);
    }

    /// Nothing came of opening the database: an index that was made for it goes again, if nobody uses it.
    pub(super) fn withdraw(self) {
        self.remove_if_new();
    }

    fn remove_if_new(&self) {
        if self.is_new && lock(&self.file, Lock::First).is_ok() && is_at(&self.file, &self.path) {
            // One that stays holds nothing, and is used by whoever opens the database next.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Locks it as everybody does who uses it; whether it could. If nobody else does, what it holds is of no use to anybody and
    /// goes first.
    fn share(&mut self) -> io::Result<bool> {
        for _ in 0..TRIES {
            if lock(&self.file, Lock::First).is_ok() {
                self.file.set_len(0)?;
                give_out(&self.file, AHEAD * REGION)?;
                self.is_first = true;
            }
            match lock(&self.file, Lock::User) {
                Ok(()) => return Ok(true),
                // Somebody is emptying it at this moment.
                Err(Errno::EAGAIN | Errno::EACCES) => thread::sleep(PAUSE),
                // A file system without such locks.
                Err(_) => break,
            }
        }
        Ok(false)
    }

    /// Gives out the blocks up to here.
    fn reach(&mut self, end: u64) -> io::Result<()> {
        // One that another program made longer may have holes up to its end.
        let end = end.max(self.file.metadata()?.len());
        give_out(&self.file, end)?;
        self.room = end;
        Ok(())
    }
}

impl Drop for WalIndex {
    fn drop(&mut self) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        // This one and the list's: no other store has it.
        if Arc::strong_count(&self.file) <= 2 {
            // Fails where there are no such locks; nothing is locked there.
            let _ = lock(&self.file, Lock::Nobody);
            kept.retain(|file| !Arc::ptr_eq(file, &self.file) || is_there(file));
        }
    }
}

/// Blocks for so many bytes; what is in them stays.
fn give_out(file: &File, end: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, end) {
        Ok(()) => Ok(()),
        // No such call on this file system: what lies behind the end is written instead, where nothing can be yet.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            let zeros = [0; 4096];
            let mut at = file.metadata()?.len();
            while at < end {
                let count = zeros.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
                file.write_all_at(&zeros[..count], at)?;
                at += count as u64;
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the index, or makes it, readable by whoever may read the database. One that is open already is not opened again.
fn open(kept: &mut Vec<Arc<File>>, path: PathBuf, database: &Path) -> io::Result<WalIndex> {
    // One that has been removed is used by nobody any more.
    kept.retain(|file| Arc::strong_count(file) > 1 || is_there(file));
    if let Some(file) = kept.iter().find(|file| is_at(file, &path)) {
        return Ok(WalIndex { file: Arc::clone(file), path, room: 0, is_new: false, is_first: false });
    }
    let (file, is_new) = match private::new_file(&path) {
        Ok(file) => {
            file.set_permissions(fs::metadata(database)?.permissions())?;
            (file, true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (private::open_or_make(&path)?, false),
        Err(error) => return Err(error),
    };
    let file = Arc::new(file);
    kept.push(Arc::clone(&file));
    Ok(WalIndex { file, path, room: 0, is_new, is_first: false })
}

fn is_there(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.nlink() > 0)
}

fn is_at(file: &File, path: &Path) -> bool {
    let held = file.metadata().ok();
    held.is_some_and(|held| path.symlink_metadata().is_ok_and(|there| which(&held) == which(&there)))
}

/// How the index is locked.
#[derive(Debug, Clone, Copy)]
enum Lock {
    /// Alone, to empty it.
    First,
    /// Beside others who use it.
    User,
    Nobody,
}

/// Locks the byte, or unlocks it, at once.
#[cfg(target_os = "linux")]
fn lock(file: &File, how: Lock) -> Result<(), Errno> {
    let kind = match how {
        Lock::First => libc::F_WRLCK,
        Lock::User => libc::F_RDLCK,
        Lock::Nobody => libc::F_UNLCK,
    };
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: FIRST,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock)).map(drop)
}

/// Elsewhere there are no such locks: SQLite empties the index itself, and blocks are given out before the first transaction.
#[cfg(not(target_os = "linux"))]
fn lock(_: &File, _: Lock) -> Result<(), Errno> {
    Err(Errno::ENOSYS)
}

/// What a failure means, where it is not left to SQLite.
fn refusal(error: &io::Error, site: &Site, step: &'static str) -> Option<StoreError> {
    let path = site.path.clone();
    match error.kind() {
        io::ErrorKind::StorageFull => Some(StoreError::DiskFull { step, path }),
        io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Some(StoreError::WriteFailed { step, path }),
        _ => Limit::behind(error).filter(|limit| *limit == Limit::Descriptors).map(|limit| StoreError::LimitReached {
            step,
            path,
            limit,
        }),
    }
}
