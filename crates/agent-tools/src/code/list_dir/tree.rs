//! A folder and all below it.

use std::path::Path;

use agent_protocol::ErrorPayload;
use ignore::DirEntry;

use super::{Entry, Pass};
use crate::{
    CallContext,
    code::{
        fail,
        place::Folder,
        traverse::{IgnoreFiles, failed_path, traversal},
        workspace::Workspace,
    },
};

/// The first `limit` entries, each folder before what is in it, by name.
pub(super) fn list(
    workspace: &Workspace,
    folder: &Folder,
    limit: usize,
    context: &CallContext,
) -> Result<Pass, ErrorPayload> {
    let shown = || workspace.show(folder.path());
    folder.has_not_moved().map_err(|error| fail::conflict(&shown(), format!("cannot list {}: {error}", shown())))?;
    let pass = walk(workspace, folder.path(), IgnoreFiles::Respected, limit, context)?;
    if pass.entries.is_empty() && folder.path() != workspace.project() {
        return walk(workspace, folder.path(), IgnoreFiles::FromHere, limit, context);
    }
    Ok(pass)
}

fn walk(
    workspace: &Workspace,
    root: &Path,
    ignore: IgnoreFiles,
    limit: usize,
    context: &CallContext,
) -> Result<Pass, ErrorPayload> {
    let (mut walk, sensitive) = traversal(root, ignore, workspace);
    walk.sort_by_file_name(Ord::cmp);
    let mut pass = Pass::default();
    for found in walk.build() {
        fail::unless_cancelled(&context.cancel)?;
        match found {
            Ok(entry) if entry.depth() == 0 => {}
            Ok(_) if pass.entries.len() == limit => {
                pass.truncated = true;
                break;
            }
            Ok(entry) => pass.entries.push(shown(root, &entry)),
            Err(error) => pass.unreadable(root, &error)?,
        }
    }
    pass.sensitive = sensitive.get();
    Ok(pass)
}

impl Pass {
    /// Marks what cannot be looked into. It was listed already, or it is the folder itself.
    fn unreadable(&mut self, root: &Path, error: &ignore::Error) -> Result<(), ErrorPayload> {
        let Some(path) = failed_path(error) else { return Ok(()) };
        if path == root
            && let Some(error) = error.io_error()
        {
            return Err(fail::os("list", &root.to_string_lossy(), error));
        }
        let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        if let Some(entry) = self.entries.iter_mut().rev().find(|entry| entry.path == relative) {
            entry.unreadable = true;
        }
        Ok(())
    }
}

fn shown(root: &Path, entry: &DirEntry) -> Entry {
    let kind = match entry.file_type() {
        Some(kind) if kind.is_file() => "file",
        Some(kind) if kind.is_dir() => "dir",
        Some(kind) if kind.is_symlink() => "symlink",
        _ => "special",
    };
    let size = if kind == "file" { entry.metadata().ok().map(|found| found.len()) } else { None };
    let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
    Entry { path: path.to_string_lossy().into_owned(), kind, size, unreadable: false }
}
