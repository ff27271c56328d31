//! What is remembered, for people: to look at and to forget. Needs no model server.

use std::path::PathBuf;

use agent_library::memory::{MemoryEntry, MemoryError, MemoryListing, MemoryStore};
use agent_runtime::project_name;

use crate::BuildError;
use crate::builder::load;
use crate::edges::Edges;

/// Opens the memories of a user; everything is optional.
#[derive(Debug, Default)]
pub struct MemoriesBuilder {
    project_dir: Option<PathBuf>,
    config_path: Option<PathBuf>,
    home_dir: Option<PathBuf>,
}

impl MemoriesBuilder {
    /// The project whose memories count besides those that hold everywhere. The current folder if not given.
    #[must_use]
    pub fn project_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.project_dir = Some(path.into());
        self
    }

    /// The user's configuration file. `<home>/config.toml` if not given.
    #[must_use]
    pub fn config_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.config_path = Some(path.into());
        self
    }

    /// The user's home of soong-agent. `SOONG_AGENT_HOME`, else `~/.soong-agent`, if not given.
    #[must_use]
    pub fn home_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.home_dir = Some(path.into());
        self
    }

    /// Opens them. The folder need not exist, and is not made.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with the project folder.
    pub fn open(self) -> Result<Memories, BuildError> {
        let edges = Edges::look();
        let (home, config) = (self.home_dir.as_deref(), self.config_path.as_deref());
        let loaded = load(&edges, home, config, self.project_dir.as_deref())?;
        let memory = &loaded.config.memory;
        Ok(Memories {
            folder: memory.memory_dir.resolve(&loaded.places),
            enabled: memory.enabled,
            project: project_name(&loaded.places.project),
            home: loaded.places.home,
        })
    }
}

/// The memories of a user. Files are the truth, so they are read anew each time; its methods block for that long.
#[derive(Debug, Clone)]
pub struct Memories {
    home: PathBuf,
    folder: PathBuf,
    project: String,
    enabled: bool,
}

impl Memories {
    /// Begins to open them.
    #[must_use]
    pub fn builder() -> MemoriesBuilder {
        MemoriesBuilder::default()
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
