//! What was stored, without a provider or a tool.

use std::path::PathBuf;
use std::sync::Arc;

use agent_runtime::Archive;
use agent_store::SqliteStore;

use crate::BuildError;
use crate::builder::load;
use crate::edges::{Edges, resolved};
use crate::settings::{Settings, store_settings};

/// Opens what was stored, to look back at it or to clear it away; everything is optional. Needs no model server, and no
/// configuration where the database is named.
#[derive(Debug, Default)]
pub struct ArchiveBuilder {
    project_dir: Option<PathBuf>,
    config_path: Option<PathBuf>,
    home_dir: Option<PathBuf>,
    session_db_path: Option<PathBuf>,
}

impl ArchiveBuilder {
    /// The project, for a configuration that puts the database below it. The current folder if not given.
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

    /// The session database. `context.session_db_path` of the configuration if not given.
    #[must_use]
    pub fn session_db_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.session_db_path = Some(path.into());
        self
    }

    /// Opens it. Where there is no database none is made.
    ///
    /// # Errors
    /// [`BuildError::NothingStored`] where there is nothing yet, what is wrong with the configuration, a database that cannot
    /// be opened.
    pub async fn open(self) -> Result<Archive, BuildError> {
        let edges = Edges::look();
        let database = match &self.session_db_path {
            Some(path) => resolved(&edges.absolute(path)?),
            None => self.configured(&edges)?,
        };
        if SqliteStore::is_unused(&database) {
            return Err(BuildError::NothingStored { path: database });
        }
        let store = Arc::new(SqliteStore::open_to_look(store_settings(database)).await?);
        Ok(Archive::new(Arc::clone(&store) as _, store))
    }

    fn configured(&self, edges: &Edges) -> Result<PathBuf, BuildError> {
        let (home, config) = (self.home_dir.as_deref(), self.config_path.as_deref());
        let loaded = load(edges, home, config, self.project_dir.as_deref())?;
        Ok(Settings { config: &loaded.config, places: loaded.places, edges, database: None }.store().database)
    }
}
