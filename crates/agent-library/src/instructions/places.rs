//! What makes a file an instruction file: its name and its place.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::level::Level;
use super::names::{NAMES, SKIPPED};
use crate::source::{self, target};

/// Where instruction files are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionPlaces {
    /// The agent's own folder in the user's home.
    pub home: Option<PathBuf>,
    /// The project's root.
    pub project: Option<PathBuf>,
    /// The user's home, so that paths in it can be shown with `~`.
    pub user_home: Option<PathBuf>,
}

/// The same without links.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolved {
    pub(super) home: Option<PathBuf>,
    pub(super) project: Option<PathBuf>,
    /// As they were given, for showing.
    given: InstructionPlaces,
}

impl Resolved {
    /// What does not exist holds no files.
    pub(super) fn of(places: &InstructionPlaces) -> Self {
        let real = |path: &Option<PathBuf>| path.as_ref().and_then(|path| fs::canonicalize(path).ok());
        Self { home: real(&places.home), project: real(&places.project), given: places.clone() }
    }

    /// What [`super::InstructionCatalog::level_of`] says of files that are not in the catalog.
    pub(super) fn level_of(&self, path: &Path) -> Option<Level> {
        if self.home.as_deref().is_some_and(|home| is_users(home, path)) {
            return Some(Level::User);
        }
        let project = self.project.as_deref()?;
        // The agent's home, if it lies in the project, is the user's and not the project's.
        let home = self.home.as_deref().filter(|home| *home != project && home.starts_with(project));
        if home.is_some_and(|home| path.starts_with(home)) {
            return None;
        }
        is_projects(project, path).then_some(Level::Project)
    }

    /// The path to show for a file of the project: from its root.
    pub(super) fn below_project(&self, named: &Path) -> PathBuf {
        self.project.as_deref().and_then(|project| named.strip_prefix(project).ok()).unwrap_or(named).to_owned()
    }

    /// The path to show for whatever lies in either.
    pub(super) fn below(&self, named: &Path) -> PathBuf {
        match &self.home {
            Some(home) if named.starts_with(home) => self.below_user(named),
            _ => self.below_project(named),
        }
    }

    /// The path to show for a file of the user's: as the home was given, with `~` where that can be said.
    pub(super) fn below_user(&self, named: &Path) -> PathBuf {
        let below = self.home.as_deref().and_then(|home| named.strip_prefix(home).ok());
        let path = match (&self.given.home, below) {
            (Some(home), Some(below)) => home.join(below),
            _ => named.to_owned(),
        };
        let below = self.given.user_home.as_deref().and_then(|user| path.strip_prefix(user).ok());
        below.map_or_else(|| path.clone(), |below| Path::new("~").join(below))
    }
}

fn is_users(home: &Path, path: &Path) -> bool {
    if path.parent() == Some(home) {
        return is_chosen(home, path);
    }
    let Ok(below) = path.strip_prefix(home.join("rules")) else { return false };
    let folders_count = below.parent().is_some_and(|folders| folders.iter().all(|name| is_open(name, Kind::Rules)));
    folders_count && path.file_name().is_some_and(source::is_markdown) && target(home, path).is_some()
}

fn is_projects(project: &Path, path: &Path) -> bool {
    // The name first: nearly every file that is asked about has another one, and then nothing is looked up.
    if !path.file_name().is_some_and(|name| NAMES.iter().any(|known| name == *known)) {
        return false;
    }
    let Some(below) = path.strip_prefix(project).ok().and_then(Path::parent) else { return false };
    let mut folder = project.to_owned();
    for name in below {
        folder.push(name);
        if !is_open(name, Kind::Project) || folder.join(".git").symlink_metadata().is_ok() {
            return false;
        }
    }
    is_chosen(project, path)
}

/// Whether a file is the one that counts in its folder.
fn is_chosen(root: &Path, path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| NAMES.iter().any(|known| name == *known));
    let folder = path.parent().unwrap_or(root);
    is_named && NAMES.iter().find_map(|name| target(root, &folder.join(name))).is_some_and(|chosen| chosen == path)
}

/// Which rules a folder is walked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Project,
    Rules,
}

/// Whether a folder of this name is looked into.
pub(super) fn is_open(name: &OsStr, kind: Kind) -> bool {
    let hidden = kind == Kind::Rules && name.as_bytes().starts_with(b".");
    !hidden && !SKIPPED.iter().any(|skipped| name == *skipped)
}
