//! A folder and all below it.

use std::{collections::BTreeMap, io};

use agent_protocol::{ErrorPayload, shown_path};
use agent_tool::CallContext;
use rustix::fs::FileType;
use tokio_util::sync::CancellationToken;

use super::{
    entry::{Entry, Pass},
    flat,
};
use crate::{
    fail,
    place::Folder,
    traverse::{Branch, IgnoreFiles, Tree},
    workspace::Workspace,
};

/// The first `limit` entries, each folder before what is in it, by name.
pub(super) fn list(
    workspace: &Workspace,
    folder: &Folder,
    limit: usize,
    context: &CallContext,
) -> Result<Pass, ErrorPayload> {
    let mut pass = walk(workspace, folder, IgnoreFiles::Respected, limit, context)?;
    // A folder that was named is meant, even if rules above it, or its own, leave nothing of it.
    for fewer_rules in [IgnoreFiles::FromHere, IgnoreFiles::None] {
        let is_hidden = pass.entries.is_empty() && pass.ignored.count > 0;
        if is_hidden && folder.path() != workspace.project() {
            pass = walk(workspace, folder, fewer_rules, limit, context)?;
        }
    }
    Ok(pass)
}

/// An entry that was not listed yet, and the folder behind it if it is one.
type Waiting = (Entry, Option<Branch>);

fn walk(
    workspace: &Workspace,
    root: &Folder,
    ignore: IgnoreFiles,
    limit: usize,
    context: &CallContext,
) -> Result<Pass, ErrorPayload> {
    let tree = Tree::new(root, ignore, workspace);
    let mut pass = Pass::default();
    let failed = |error: io::Error| fail::os("list", &shown_path(root.path()), &error);
    // The next one is the last; so there are as many as the limit for each folder on the way, at most.
    let mut waiting = first(&tree, tree.trunk(), limit, &context.cancel).map_err(failed)?;
    while let Some((mut entry, folder)) = waiting.pop() {
        fail::unless_cancelled(&context.cancel)?;
        if pass.entries.len() == limit {
            pass.truncated = true;
            break;
        }
        if let Some(folder) = folder {
            match first(&tree, folder, limit - pass.entries.len(), &context.cancel) {
                Ok(inside) => waiting.extend(inside),
                Err(_) => entry.unreadable = true,
            }
        }
        pass.entries.push(entry);
    }
    fail::unless_cancelled(&context.cancel)?;
    pass.sensitive = tree.sensitive();
    pass.ignored = tree.ignored();
    Ok(pass)
}

/// The first entries of a folder by name, the first one last: one more than can be listed, to know that there are more.
fn first(tree: &Tree<'_>, folder: Branch, most: usize, cancel: &CancellationToken) -> io::Result<Vec<Waiting>> {
    let level = tree.enter(folder)?;
    let mut first = BTreeMap::new();
    for node in tree.nodes(&level)? {
        if cancel.is_cancelled() {
            break;
        }
        let node = node?;
        first.insert(node.name.clone(), node);
        if first.len() > most + 1 {
            first.pop_last();
        }
    }
    Ok(first
        .into_values()
        .rev()
        .filter_map(|node| {
            let branch = (node.kind == FileType::Directory).then(|| level.branch(&node));
            // One that is gone by now is left out.
            let stat = level.folder.stat(&node.name).ok().flatten()?;
            Some((flat::entry(node.path.as_os_str(), &stat), branch))
        })
        .collect())
}
