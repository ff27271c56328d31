//! What is remembered, for people: to look at and to forget. Needs no model server.

use std::path::PathBuf;

pub use agent_library::memory::{
    Based, MemoryCategory, MemoryEntry, MemoryId, MemoryListing, MemoryProblem, Moment, NoMemoryId, NoMoment,
    UnknownCategory,
};
use agent_library::memory::{MemoryError, MemoryStore};
use agent_runtime::project_name;

use crate::environment::Environment;
use crate::error::BuildError;
use crate::location::Location;

/// The memories of a user. Files are the truth, so they are read anew each time; its methods block for that long.
#[derive(Debug, Clone)]
pub struct Memories {
    home: PathBuf,
    folder: PathBuf,
    project: String,
    enabled: bool,
}

impl Memories {
    /// Opens them: those that hold everywhere, and those of the location's project. The folder need not exist, and is not made.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with the project folder.
    pub fn open(location: &Location) -> Result<Self, BuildError> {
        let loaded = location.load_to_look(Environment::look())?;
        let memory = &loaded.config.memory;
        Ok(Self {
            folder: memory.memory_dir.resolve(&loaded.places),
            enabled: memory.enabled,
            project: project_name(&loaded.places.project),
            home: loaded.places.home,
        })
    }

    /// Whether runs use them and make new ones (`memory.enabled`).
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Where they lie.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// The project, as memories name it.
    #[must_use]
    pub fn project(&self) -> &str {
        &self.project
    }

    /// All of them, of all projects, newest first; broken files beside them.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<MemoryListing, MemoryError> {
        self.store()?.entries()
    }

    /// Removes one, by its id or a beginning of it from 8 characters behind `mem_` on.
    ///
    /// # Errors
    /// When there is none, or several; when the folder cannot be written.
    pub fn forget(&self, id: &str) -> Result<MemoryEntry, MemoryError> {
        self.store()?.forget(id)
    }

    fn store(&self) -> Result<MemoryStore, MemoryError> {
        MemoryStore::open(&self.folder, &self.home)
    }
}
