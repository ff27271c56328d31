//! Where the logs of a project's Tasks are.

use std::path::{Path, PathBuf};

use agent_archive::TaskArchive;
use agent_config::{PathValue, Places};
use agent_runtime::SharedSecrets;

use crate::environment::resolved;
use crate::settings::Settings;

/// What leads from a project to its Tasks.
#[derive(Clone)]
pub(crate) struct TaskLogs {
    wal_dir: PathValue,
    home: PathBuf,
    secrets: SharedSecrets,
}

impl TaskLogs {
    pub(crate) fn new(settings: &Settings<'_>, secrets: SharedSecrets) -> Self {
        Self { wal_dir: settings.config.task.wal_dir.clone(), home: settings.places.home.clone(), secrets }
    }

    /// The Tasks of a project.
    pub(crate) fn of(&self, project: &Path) -> TaskArchive {
        let places = Places { home: self.home.clone(), project: project.to_owned() };
        TaskArchive::new(resolved(&self.wal_dir.resolve(&places)), self.secrets.known())
    }
}
