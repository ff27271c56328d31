//! Second names of files that may hold secrets (PATH-11).
//!
//! A hard link tells nothing of the other names of its file. So files with sensitive names are looked for where they are to
//! be expected, and told apart by device and inode. Only their own names are judged and only they are looked at, so that
//! a tree of hundreds of thousands of ordinary hard links costs the reading of folders: once a call, and nothing where
//! no file with several names is met.

use std::{
    collections::{HashMap, VecDeque},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use agent_policy::{Access, Target, TargetKind};
use rustix::fs::{FileType, Stat};

use crate::{
    place::{Folder, Found, Identity, identity, target_kind, walk},
    workspace::Workspace,
};

/// How many entries are looked through for the sensitive paths that are written out, and how many for all others.
const MAX_ANCHORED: usize = 16 * 1024;
const MAX_ENTRIES: usize = 64 * 1024;

/// Folders whose content has many names and is nobody's secret: what package managers link from a store of their own, and
/// git's objects. Looked through only for a file that is in them.
const PASSED_OVER: [&str; 2] = ["node_modules", ".git"];

/// Knows second names of the files one call meets; finds them out when the first such file is met.
#[derive(Debug)]
pub(crate) struct SecondNames {
    workspace: Workspace,
    near: Option<PathBuf>,
    known: OnceLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    names: HashMap<Identity, Vec<PathBuf>>,
    /// Whether there were more entries than are looked through.
    cut: bool,
}

impl SecondNames {
    /// Among the sensitive paths that are written out, and in the project and the write roots.
    pub(crate) fn new(workspace: &Workspace) -> Self {
        Self { workspace: workspace.clone(), near: None, known: OnceLock::new() }
    }

    /// Also in and right above the folder where the files are that will be asked about.
    pub(crate) fn near(workspace: &Workspace, folder: &Path) -> Self {
        let near = (!belongs_to_roots(workspace, folder)).then(|| folder.to_owned());
        Self { near, ..Self::new(workspace) }
    }

    /// The facts about something that exists, its second names among them.
    pub(crate) fn target(&self, requested: &str, resolved: &Path, access: Access, stat: &Stat) -> Target {
        // The type of the count differs between systems.
        #[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
        let links = stat.st_nlink as u64;
        let kind = target_kind(stat);
        let aliases = if kind == TargetKind::File { self.of(stat, resolved) } else { Vec::new() };
        Target { requested: requested.to_owned(), resolved: resolved.to_owned(), access, kind, links, aliases }
    }

    /// The sensitive names of a file besides its path.
    pub(crate) fn of(&self, file: &Stat, path: &Path) -> Vec<PathBuf> {
        if file.st_nlink < 2 {
            return Vec::new();
        }
        let known = self.known.get_or_init(|| Known::of(&self.workspace, self.near.as_deref()));
        let mut names = known.names.get(&identity(file)).cloned().unwrap_or_default();
        names.retain(|name| name != path);
        names.sort();
        names.dedup();
        names
    }

    /// What to say when some names were not looked at.
    pub(crate) fn note(&self) -> Option<&'static str> {
        let cut = self.known.get().is_some_and(|known| known.cut);
        cut.then_some("there are too many files to look for all second names of those with hard links")
    }
}

/// Where code is worked on.
fn roots(workspace: &Workspace) -> impl Iterator<Item = &Path> {
    let places = workspace.rules().places();
    std::iter::once(&places.project).chain(&places.write_roots).map(PathBuf::as_path)
}

/// Whether what is in a folder is looked through with the folders where code is worked on.
fn belongs_to_roots(workspace: &Workspace, folder: &Path) -> bool {
    let rest = roots(workspace).find_map(|root| folder.strip_prefix(root).ok());
    rest.is_some_and(|rest| !rest.iter().any(is_passed_over))
}

fn is_passed_over(name: &OsStr) -> bool {
    PASSED_OVER.iter().any(|passed| name == *passed)
}

impl Known {
    fn of(workspace: &Workspace, near: Option<&Path>) -> Self {
        let mut search = Search { workspace, known: Self::default(), left: MAX_ANCHORED };
        for anchor in workspace.rules().anchors() {
            match walk(anchor) {
                Ok(Found::Entry { folder, name, stat }) => search.known.add(folder.path().join(name), &stat),
                Ok(Found::Folder(folder)) => search.below(&folder, true),
                _ => {}
            }
        }
        search.left = MAX_ENTRIES;
        if let Some(near) = near {
            search.around(near);
        }
        for root in roots(workspace) {
            if let Ok(Found::Folder(folder)) = walk(root) {
                search.below(&folder, false);
            }
        }
        search.known
    }

    fn add(&mut self, path: PathBuf, stat: &Stat) {
        if stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            self.names.entry(identity(stat)).or_default().push(path);
        }
    }
}

struct Search<'w> {
    workspace: &'w Workspace,
    known: Known,
    left: usize,
}

impl Search<'_> {
    /// Looks through what is right in the folders above, and through the folder and all below it.
    fn around(&mut self, near: &Path) {
        for folder in near.ancestors().skip(1) {
            if let Ok(Found::Folder(folder)) = walk(folder) {
                self.entries(&folder, Path::new(""), false);
            }
        }
        if let Ok(Found::Folder(folder)) = walk(near) {
            self.below(&folder, self.workspace.rules().sensitive(near).is_some());
        }
    }

    /// Looks through a folder and all below it, the upper ones first. `inside`: all of it is sensitive.
    fn below(&mut self, root: &Folder, inside: bool) {
        let mut todo = VecDeque::from([(PathBuf::new(), inside)]);
        while let Some((path, inside)) = todo.pop_front() {
            todo.extend(self.entries(root, &path, inside));
        }
    }

    /// Looks through one folder. Returns the folders in it, and whether all in them is sensitive.
    fn entries(&mut self, root: &Folder, path: &Path, inside: bool) -> Vec<(PathBuf, bool)> {
        let mut folders = Vec::new();
        let Ok(folder) = root.child_below(path) else { return folders };
        for entry in folder.entries().into_iter().flatten().flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if self.left == 0 {
                self.known.cut = true;
                break;
            }
            self.left -= 1;
            let whole = folder.path().join(name);
            let sensitive = inside || self.workspace.rules().sensitive_entry(&whole).is_some();
            let known_kind = Some(entry.file_type()).filter(|kind| *kind != FileType::Unknown);
            let stat = || folder.stat(name).ok().flatten();
            let kind = known_kind.or_else(|| Some(FileType::from_raw_mode(stat()?.st_mode)));
            match kind {
                Some(FileType::Directory) if sensitive || !is_passed_over(name) => {
                    folders.push((path.join(name), sensitive));
                }
                Some(FileType::RegularFile) if sensitive => {
                    if let Some(stat) = stat() {
                        self.known.add(whole, &stat);
                    }
                }
                _ => {}
            }
        }
        folders
    }
}

#[cfg(test)]
mod tests;
