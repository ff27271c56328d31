//! The folders that matter.

use std::path::{Component, Path, PathBuf};

use super::{error::RulesError, fold::fold_path, why::Why};

/// The folders decisions depend on: absolute, with every link resolved. A trailing slash does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The folder the session works on (COD-10).
    pub project: PathBuf,
    /// `tools.allowed_write_roots`.
    pub write_roots: Vec<PathBuf>,
    /// The temporary folder, where `tools.allow_tmp_write` is set.
    pub tmp: Option<PathBuf>,
    /// Our own home: `${SOONG_AGENT_HOME}`.
    pub home: PathBuf,
    /// The user's home: `~`.
    pub user_home: Option<PathBuf>,
    /// `memory.memory_dir`.
    pub memory_dir: PathBuf,
    /// `task.wal_dir`: the task journal.
    pub wal_dir: PathBuf,
    /// `context.session_db_path`.
    pub session_db: PathBuf,
    /// The folder that holds a folder per session: locks, and what was too big for a result.
    pub sessions_dir: PathBuf,
    /// `plan.default_dir`.
    pub plans_dir: PathBuf,
}

/// Which folder a path lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// The project.
    Project,
    /// The write root with this index.
    WriteRoot(usize),
    /// The temporary folder, which may be written.
    Tmp,
    /// Our own home, which code tools may not write.
    Home,
    /// None of them.
    Outside,
}

impl Places {
    /// Normalises and checks every place.
    pub(super) fn checked(self) -> Result<Self, RulesError> {
        Ok(Self {
            project: checked("project", &self.project)?,
            write_roots: self.write_roots.iter().map(|root| checked("write root", root)).collect::<Result<_, _>>()?,
            tmp: self.tmp.map(|tmp| checked("temporary", &tmp)).transpose()?,
            home: checked("home", &self.home)?,
            user_home: self.user_home.map(|home| checked("user's home", &home)).transpose()?,
            memory_dir: checked("memory", &self.memory_dir)?,
            wal_dir: checked("task journal", &self.wal_dir)?,
            session_db: checked("session database", &self.session_db)?,
            sessions_dir: checked("sessions folder", &self.sessions_dir)?,
            plans_dir: checked("plans", &self.plans_dir)?,
        })
    }

    /// The root a resolved path lies in, our home aside.
    pub(super) fn root_of(&self, path: &Path) -> Root {
        if path.starts_with(&self.project) {
            return Root::Project;
        }
        if let Some(index) = self.write_roots.iter().position(|root| path.starts_with(root)) {
            return Root::WriteRoot(index);
        }
        if self.tmp.as_ref().is_some_and(|tmp| path.starts_with(tmp)) { Root::Tmp } else { Root::Outside }
    }

    /// The folder behind [`Places::root_of`].
    pub(super) fn root_path(&self, path: &Path) -> Option<&Path> {
        match self.root_of(path) {
            Root::Project => Some(&self.project),
            Root::WriteRoot(index) => self.write_roots.get(index).map(PathBuf::as_path),
            Root::Tmp => self.tmp.as_deref(),
            Root::Home | Root::Outside => None,
        }
    }

    /// The plans folder, if it is where every project has it. Only then may it lie in our home (a project around our
    /// home): a plans folder that was configured into home could be any folder of it, such as the one with the tools.
    pub(super) fn standard_plans(&self) -> Option<&Path> {
        (self.plans_dir == self.project.join(".soong-agent/plans")).then_some(self.plans_dir.as_path())
    }

    /// What no answer opens for writing, our home aside; folded.
    pub(super) fn protected(&self) -> Vec<(String, Why)> {
        let rule = |path: String, because| (path.clone(), Why::new(path, because));
        let database = fold_path(&self.session_db);
        let mut rules = vec![
            rule(fold_path(&self.memory_dir), "belongs to the memory"),
            rule(fold_path(&self.wal_dir), "belongs to the task journal"),
            rule(fold_path(&self.sessions_dir), "holds the sessions"),
        ];
        // SQLite's own files beside the database.
        rules.extend(
            ["", "-wal", "-shm", "-journal"].map(|tail| rule(format!("{database}{tail}"), "holds the sessions")),
        );
        rules
    }
}

fn checked(place: &'static str, path: &Path) -> Result<PathBuf, RulesError> {
    if !is_resolved(path) {
        return Err(RulesError::Place { place, path: path.to_path_buf() });
    }
    // Drops a trailing slash and inner `.`, which comparing by components would not see but printing would show.
    Ok(path.components().collect())
}

/// Absolute and without `..`; what the caller owes, checked where a slip would permit something.
pub(super) fn is_resolved(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}
