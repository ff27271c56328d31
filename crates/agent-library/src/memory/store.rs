//! Reading and forgetting.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    MemoryEntry, MemoryError, MemoryListing, catalog,
    folder::Folder,
    listing,
    lock::{self, Lock},
};

/// How long a writer waits for another one.
const WAIT: Duration = Duration::from_secs(10);

/// The memory folder of a user. Cheap: nothing is held between calls, so that folders may be moved and made meanwhile.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    home: PathBuf,
    memory_dir: PathBuf,
    wait: Duration,
}

/// The folder while it is locked.
pub(super) struct Held {
    pub(super) memory: Folder,
    _lock: Lock,
}

impl MemoryStore {
    /// The folder `memory_dir`, which need not exist and must resolve inside `home` (CFG-10).
    ///
    /// # Errors
    /// When it does not, or is something else than a folder.
    pub fn open(memory_dir: &Path, home: &Path) -> Result<Self, MemoryError> {
        Folder::memory(home, memory_dir, false)?;
        Ok(Self { home: home.to_owned(), memory_dir: memory_dir.to_owned(), wait: WAIT })
    }

    /// The folder, as it was named: what paths of entries are below.
    #[must_use]
    pub fn memory_dir(&self) -> &Path {
        &self.memory_dir
    }

    /// Waits for other writers at most about this long, instead of ten seconds.
    #[must_use]
    pub fn with_lock_wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// All memories. What is broken or foreign is listed beside them. Never waits for writers: each file is old or new, but
    /// whole.
    ///
    /// # Errors
    /// When the folder itself cannot be opened, or leads out of home by now.
    pub fn entries(&self) -> Result<MemoryListing, MemoryError> {
        let memory = Folder::memory(&self.home, &self.memory_dir, false)?;
        Ok(memory.map_or_else(MemoryListing::default, |memory| listing::read(&memory)))
    }

    /// One memory, by its id or the beginning of it ([`MemoryListing::find`]).
    ///
    /// # Errors
    /// As [`MemoryStore::entries`], and when there is none, or several.
    pub fn get(&self, id: &str) -> Result<MemoryEntry, MemoryError> {
        self.entries()?.find(id).cloned()
    }

    /// Removes a memory: its file and copies with its id, then its line in the catalog. Returns what was forgotten.
    ///
    /// # Errors
    /// As [`MemoryStore::get`], and when the lock cannot be had or the system refuses.
    pub fn forget(&self, id: &str) -> Result<MemoryEntry, MemoryError> {
        // Nothing is made for a question.
        self.get(id)?;
        let held = self.hold()?;
        let mut listing = listing::read(&held.memory);
        let entry = listing.find(id)?.clone();
        // A copy that somebody made has the same id, and would take its place.
        while let Some(same) = listing.entries.iter().find(|other| other.id == entry.id) {
            held.folder(same.category.as_str())?.remove(OsStr::new(same.file_name()))?;
            listing = listing::read(&held.memory);
        }
        catalog::update(&held.memory, &listing.entries)?;
        Ok(entry)
    }

    /// Locks the folder; makes it if there is none.
    pub(super) fn hold(&self) -> Result<Held, MemoryError> {
        let missing = || MemoryError::os("open", &self.home, std::io::Error::from(std::io::ErrorKind::NotFound));
        let memory = Folder::memory(&self.home, &self.memory_dir, true)?.ok_or_else(missing)?;
        let lock = lock::take(&memory, self.wait)?;
        Ok(Held { memory, _lock: lock })
    }
}

impl Held {
    /// The folder of a category; made if there is none.
    pub(super) fn folder(&self, category: &str) -> Result<Folder, MemoryError> {
        let name = OsStr::new(category);
        let path = || self.memory.path().join(name);
        self.memory.child(name, true)?.ok_or_else(|| MemoryError::Restless { path: path() })
    }
}

impl MemoryEntry {
    /// The last part of [`MemoryEntry::path`].
    pub(super) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}
