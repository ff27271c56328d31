//! Rules of ignore files.
//!
//! They are read here and not by the walker of the `ignore` crate, which opens whatever has the right name: a pipe called
//! `.gitignore` would hold it, and a link to a device would fill the memory.

use std::{
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
    str::Utf8Chunk,
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::{place::Folder, workspace::Workspace};

/// Rules beyond this are not read. Bytes.
const MAX_FILE: u64 = 256 * 1024;

/// The files rules come from.
const OWN: &str = ".ignore";
const GIT: &str = ".gitignore";
const EXCLUDE: &str = ".git/info/exclude";

/// The rules a folder adds to those above it.
#[derive(Debug)]
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// The folder's path.
    folder: PathBuf,
    /// Of `.ignore`, which wins over git's files, wherever they are.
    own: Gitignore,
    /// Of `.gitignore`.
    git: Gitignore,
    /// Of `.git/info/exclude`.
    exclude: Gitignore,
    /// Whether a repository begins here: git's rules above it are about another one.
    repository: bool,
}

impl Ignores {
    /// The rules in a folder; those above if it has none of its own.
    pub(super) fn within(workspace: &Workspace, folder: &Folder, above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let read = |folder: &Folder, name: &str| read(workspace, folder, name);
        let exclude = || {
            let info = folder.child(OsStr::new(".git")).and_then(|git| git.child(OsStr::new("info"))).ok()?;
            Some(read(&info, "exclude"))
        };
        let repository = is_repository(folder);
        let here = Self {
            folder: folder.path().to_owned(),
            own: read(folder, OWN),
            git: read(folder, GIT),
            exclude: if repository { exclude() } else { None }.unwrap_or_else(Gitignore::empty),
            repository,
            above,
        };
        let adds = !here.own.is_empty() || !here.git.is_empty() || !here.exclude.is_empty() || repository;
        if adds { Some(Arc::new(here)) } else { here.above }
    }

    /// The rules above a folder, up to the top of its repository. Outside of one they do not count: a list of a home
    /// folder's dotfiles would hide every project in it.
    pub(super) fn above(workspace: &Workspace, folder: &Folder) -> Option<Arc<Self>> {
        let mut levels = Vec::new();
        let mut top = is_repository(folder);
        while !top {
            let at = levels.last().unwrap_or(folder);
            // The root is in itself.
            at.path().parent()?;
            let parent = at.parent().ok()?;
            top = is_repository(&parent);
            levels.push(parent);
        }
        levels.iter().rev().fold(None, |above, level| Self::within(workspace, level, above))
    }

    /// The kind of file that says an entry is to be left out; `path` is its whole path, below all the folders of these rules.
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> Option<&'static str> {
        let (mut own, mut git, mut exclude) = (Match::None, Match::None, Match::None);
        let mut same_repository = true;
        let mut level = Some(self);
        while let Some(rules) = level {
            let Ok(rest) = path.strip_prefix(&rules.folder) else { break };
            if own.is_none() {
                own = rules.own.matched(rest, is_folder);
            }
            if same_repository && git.is_none() {
                git = rules.git.matched(rest, is_folder);
            }
            if same_repository && exclude.is_none() {
                exclude = rules.exclude.matched(rest, is_folder);
            }
            same_repository &= !rules.repository;
            level = rules.above.as_deref();
        }
        let by_file = [(own, OWN), (git, GIT), (exclude, EXCLUDE)];
        let (decides, file) = by_file.into_iter().find(|(decides, _)| !decides.is_none())?;
        decides.is_ignore().then_some(file)
    }
}

/// As git sees it: whatever is called `.git`.
fn is_repository(folder: &Folder) -> bool {
    folder.stat(OsStr::new(".git")).is_ok_and(|found| found.is_some())
}

/// The rules of a file; none where there is no such file. A link is none, as for git.
fn read(workspace: &Workspace, folder: &Folder, name: &str) -> Gitignore {
    let Ok(Ok(file)) = workspace.open(folder, OsStr::new(name)) else { return Gitignore::empty() };
    let mut text = Vec::new();
    if file.file.take(MAX_FILE).read_to_end(&mut text).is_err() {
        return Gitignore::empty();
    }
    // Patterns are text here. A byte that is none may be any one, so that what git passes over is passed over.
    let of_chunk = |chunk: Utf8Chunk<'_>| chunk.valid().to_owned() + &"?".repeat(chunk.invalid().len());
    let text: String = text.utf8_chunks().map(of_chunk).collect();
    let mut rules = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern says nothing.
        let _ = rules.add_line(None, line);
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}
