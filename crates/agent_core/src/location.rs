//! Where everything is: home, configuration, project, database.

use std::path::{Path, PathBuf};

use agent_config::{Config, ConfigError, ConfigProblems, Places, TEXT_ORIGIN, VALUE_ORIGIN, load_text, load_value};
use serde_json::Value;

use crate::environment::Environment;
use crate::error::BuildError;
use crate::settings::Settings;

/// Name of the configuration in home.
const CONFIG_FILE: &str = "config.toml";

/// Where home, configuration, project and database are; everything is optional. What [`AgentRuntime`](crate::AgentRuntime),
/// [`archive::open`](crate::archive::open), [`Memories`](crate::memory::Memories) and the inspections are opened with.
///
/// ```
/// use agent_core::config::{ConfigSource, Location};
///
/// let location = Location::default()
///     .project_dir("my-project")
///     .config(ConfigSource::Text("[model]\nname = \"qwen3:8b\"\n".to_owned()));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Location {
    home_dir: Option<PathBuf>,
    config: ConfigSource,
    project_dir: Option<PathBuf>,
    session_db_path: Option<PathBuf>,
}

/// Where the configuration comes from. Wherever it comes from, home stays what it is (API-14).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub enum ConfigSource {
    /// `config.toml` in home, which must exist (API-10).
    #[default]
    Home,
    /// Another file. It must exist, and others must not be able to write it.
    File(PathBuf),
    /// The text of such a file. Messages name line and key in "the configuration text".
    Text(String),
    /// An object with the tables and keys of such a file, as `json!({"model": {"name": "qwen3:8b"}})`. Messages name the key.
    /// An empty object means the defaults.
    Value(Value),
}

impl Location {
    /// The user's home of soong-agent. `SOONG_AGENT_HOME`, else `~/.soong-agent`, if not given.
    #[must_use]
    pub fn home_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.home_dir = Some(path.into());
        self
    }

    /// The configuration. [`ConfigSource::Home`] if not given.
    #[must_use]
    pub fn config(mut self, source: ConfigSource) -> Self {
        self.config = source;
        self
    }

    /// The configuration's file: [`ConfigSource::File`].
    #[must_use]
    pub fn config_path(self, path: impl Into<PathBuf>) -> Self {
        self.config(ConfigSource::File(path.into()))
    }

    /// The project folder; a file means its folder. The current folder if not given.
    #[must_use]
    pub fn project_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.project_dir = Some(path.into());
        self
    }

    /// The session database. `context.session_db_path` of the configuration if not given.
    #[must_use]
    pub fn session_db_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.session_db_path = Some(path.into());
        self
    }

    /// The file that the configuration is read from, whether it exists or not; nothing if it comes from no file.
    ///
    /// # Errors
    /// If there is neither a home nor a way to find it, or a relative path and no current folder.
    pub fn config_file(&self) -> Result<Option<PathBuf>, BuildError> {
        let environment = Environment::look();
        Ok(match &self.config {
            ConfigSource::Home => Some(environment.home(self.home_dir.as_deref())?.join(CONFIG_FILE)),
            ConfigSource::File(path) => Some(environment.absolute(path)?),
            ConfigSource::Text(_) | ConfigSource::Value(_) => None,
        })
    }

    /// The session database, where it is given.
    pub(crate) fn database(&self, environment: &Environment) -> Result<Option<PathBuf>, BuildError> {
        self.session_db_path.as_deref().map(|path| environment.absolute(path)).transpose()
    }

    /// Reads and checks the configuration. Creates nothing.
    pub(crate) fn load(&self, environment: Environment) -> Result<Loaded, BuildError> {
        let project = environment.project(self.project_dir.as_deref())?;
        self.load_for(environment, project)
    }

    /// The same for who only looks: a current folder that is gone is a project in which there is nothing.
    pub(crate) fn load_to_look(&self, environment: Environment) -> Result<Loaded, BuildError> {
        let project = match (&self.project_dir, environment.lost_current_dir()) {
            (None, Some(lost)) => lost,
            (given, _) => environment.project(given.as_deref())?,
        };
        self.load_for(environment, project)
    }

    fn load_for(&self, environment: Environment, project: PathBuf) -> Result<Loaded, BuildError> {
        let home = environment.home(self.home_dir.as_deref())?;
        let places = Places { home, project };
        let (config, origin) = match &self.config {
            ConfigSource::Home => read(&places.home.join(CONFIG_FILE), &places)?,
            ConfigSource::File(path) => read(&environment.absolute(path)?, &places)?,
            ConfigSource::Text(text) => (load_text(text, &places).map_err(wrong)?, TEXT_ORIGIN.to_owned()),
            ConfigSource::Value(value) => (load_value(value, &places).map_err(wrong)?, VALUE_ORIGIN.to_owned()),
        };
        let database = self.database(&environment)?;
        Ok(Loaded { config, origin, places, database, environment })
    }
}

fn read(file: &Path, places: &Places) -> Result<(Config, String), BuildError> {
    Ok((agent_config::load(file, places)?, file.display().to_string()))
}

fn wrong(problems: ConfigProblems) -> BuildError {
    ConfigError::from(problems).into()
}

/// A configuration that may be used, and what it is about.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// The file, or what else it came from, for messages.
    pub(crate) origin: String,
    pub(crate) places: Places,
    database: Option<PathBuf>,
    environment: Environment,
}

impl Loaded {
    pub(crate) fn settings(&self) -> Settings<'_> {
        Settings {
            config: &self.config,
            places: self.places.clone(),
            environment: &self.environment,
            database: self.database.clone(),
        }
    }
}
