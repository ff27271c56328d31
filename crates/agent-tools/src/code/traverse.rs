//! Going through a folder and all below it.
//!
//! Links are listed and never followed, so that no tree is endless. Hidden files are ordinary, except for git's own
//! folder. Sensitive files nobody asked for by name are passed over and counted (DEC-11).

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ignore::WalkBuilder;

use super::workspace::Workspace;

/// Whose ignore files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreFiles {
    /// Those in the folder and, inside a repository, those above it.
    Respected,
    /// Only those in the folder: rules above leave nothing of it, but it was asked for by name.
    FromHere,
    None,
}

/// Counts what is passed over because it is sensitive.
#[derive(Debug, Clone, Default)]
pub(crate) struct SensitiveCount(Arc<AtomicU64>);

impl SensitiveCount {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A walk through `root`, still to be built. What is passed over is counted.
pub(crate) fn traversal(root: &Path, ignore: IgnoreFiles, workspace: &Workspace) -> (WalkBuilder, SensitiveCount) {
    let respected = ignore != IgnoreFiles::None;
    let parents = ignore == IgnoreFiles::Respected && root.ancestors().any(|folder| folder.join(".git").exists());
    let count = SensitiveCount::default();
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .current_dir(root)
        .follow_links(false)
        .ignore(respected)
        .git_ignore(respected)
        .git_exclude(respected)
        // Ignore files count in a folder that is no repository, too; its parents' only inside one, as a list of a
        // home folder's dotfiles would hide every project in it.
        .require_git(false)
        .parents(parents);
    let (skipped, rules) = (count.clone(), workspace.settings().rules.clone());
    // Whoever asked for a sensitive folder by name was asked for it.
    let allowed = rules.sensitive(root).is_some();
    walk.filter_entry(move |entry| {
        if entry.file_name() == ".git" {
            return false;
        }
        let sensitive = !allowed && rules.sensitive_entry(entry.path()).is_some();
        if sensitive {
            skipped.0.fetch_add(1, Ordering::Relaxed);
        }
        !sensitive
    });
    (walk, count)
}

/// The path an error of a walk is about.
pub(crate) fn failed_path(error: &ignore::Error) -> Option<&PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => failed_path(err),
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}
