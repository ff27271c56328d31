//! Going through a folder and all below it.
//!
//! Every folder is opened through the one that is held, so that nothing outside is ever listed, whatever is renamed or
//! linked meanwhile. Links are listed and never followed, so that no tree is endless. Hidden files are ordinary, except
//! for git's own folder. Sensitive files nobody asked for by name are passed over and counted (DEC-11).

mod ignores;
mod left_out;
mod share;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ignore::overrides::Override;
use rustix::fs::{DirEntry, FileType};

use crate::{place::Folder, workspace::Workspace};
use ignores::Ignores;
pub(crate) use left_out::{Few, LeftOut};
pub(crate) use share::{Pile, share};

/// Whose ignore files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreFiles {
    /// Those in the folder and, inside a repository, those above it.
    Respected,
    /// Only those in the folder: rules above leave nothing of it, but it was asked for by name.
    FromHere,
    None,
}

/// A folder with all below it.
#[derive(Debug)]
pub(crate) struct Tree<'w> {
    workspace: &'w Workspace,
    root: &'w Folder,
    ignore: IgnoreFiles,
    /// Whoever asked for a sensitive folder by name was asked for it.
    allowed: bool,
    /// The files that are meant, where not all are.
    glob: Option<&'w Override>,
    sensitive: AtomicU64,
    sensitive_files: AtomicU64,
    ignored: LeftOut,
}

/// A folder of a tree, still to be entered.
#[derive(Debug)]
pub(crate) struct Branch {
    path: PathBuf,
    above: Option<Arc<Ignores>>,
}

/// A folder of a tree, entered.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) folder: Folder,
    path: PathBuf,
    rules: Option<Arc<Ignores>>,
}

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: OsString,
    /// From the tree's root.
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
    /// As the folder tells it, which some file systems do wrongly.
    pub(crate) inode: u64,
}

impl<'w> Tree<'w> {
    pub(crate) fn new(root: &'w Folder, ignore: IgnoreFiles, workspace: &'w Workspace) -> Self {
        let allowed = workspace.rules().sensitive(root.path()).is_some();
        let (sensitive, sensitive_files) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { workspace, root, ignore, allowed, glob: None, sensitive, sensitive_files, ignored: LeftOut::default() }
    }

    /// The same, counting only those sensitive files that a glob fits.
    pub(crate) fn of(self, glob: Option<&'w Override>) -> Self {
        Self { glob, ..self }
    }

    /// The root, still to be entered.
    pub(crate) fn trunk(&self) -> Branch {
        let above = match self.ignore {
            IgnoreFiles::Respected => Ignores::above(self.workspace, self.root),
            IgnoreFiles::FromHere | IgnoreFiles::None => None,
        };
        Branch { path: PathBuf::new(), above }
    }

    /// Whether what is sensitive was asked for by the name of the root.
    pub(crate) fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// How many entries were passed over because they are sensitive.
    pub(crate) fn sensitive(&self) -> u64 {
        self.sensitive.load(Ordering::Relaxed)
    }

    /// How many of them are no folders.
    pub(crate) fn sensitive_files(&self) -> u64 {
        self.sensitive_files.load(Ordering::Relaxed)
    }

    fn count_sensitive(&self, path: &Path, is_folder: bool) {
        // A folder may hold files that the glob fits.
        if is_folder || !self.glob.is_some_and(|glob| glob.matched(path, false).is_ignore()) {
            self.sensitive.fetch_add(1, Ordering::Relaxed);
            self.sensitive_files.fetch_add(u64::from(!is_folder), Ordering::Relaxed);
        }
    }

    /// What ignore rules left out, by path from the root.
    pub(crate) fn ignored(&self) -> Few {
        self.ignored.few()
    }

    pub(crate) fn enter(&self, branch: Branch) -> io::Result<Level> {
        let folder = self.root.child_below(&branch.path)?;
        let rules = match self.ignore {
            IgnoreFiles::None => None,
            _ => Ignores::within(self.workspace, &folder, branch.above),
        };
        Ok(Level { folder, path: branch.path, rules })
    }

    /// The entries of a folder, in no order, but for those that are passed over.
    pub(crate) fn nodes<'t>(&'t self, level: &'t Level) -> io::Result<impl Iterator<Item = io::Result<Node>> + 't> {
        let entries = level.folder.entries()?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) => self.node(level, &entry).map(Ok),
            Err(error) => Some(Err(error.into())),
        }))
    }

    fn node(&self, level: &Level, entry: &DirEntry) -> Option<Node> {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || name == ".git" {
            return None;
        }
        let kind = match entry.file_type() {
            // Not every file system tells; one that is gone by now is left out.
            FileType::Unknown => FileType::from_raw_mode(level.folder.stat(name).ok()??.st_mode),
            kind => kind,
        };
        let whole = level.folder.path().join(name);
        if !self.allowed && self.workspace.rules().sensitive_entry(&whole).is_some() {
            self.count_sensitive(&level.path.join(name), kind == FileType::Directory);
            return None;
        }
        if let Some(file) = level.rules.as_ref().and_then(|rules| rules.ignore(&whole, kind == FileType::Directory)) {
            self.ignored.add(&level.path.join(name), file);
            return None;
        }
        Some(Node { name: name.to_owned(), path: level.path.join(name), kind, inode: entry.ino() })
    }
}

impl Branch {
    /// From the tree's root.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Level {
    /// A folder that is in it, still to be entered.
    pub(crate) fn branch(&self, folder: &Node) -> Branch {
        Branch { path: folder.path.clone(), above: self.rules.clone() }
    }
}

#[cfg(test)]
mod tests;
