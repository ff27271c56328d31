//! What files there are, for whoever named none of them.

use std::collections::BTreeMap;

use agent_protocol::shown_path;
use agent_redact::KnownSecrets;
use rustix::fs::FileType;

use super::stop::Stop;
use crate::{
    place::Folder,
    traverse::{Few, IgnoreFiles, Tree},
    workspace::Workspace,
};

/// More files than this are not counted.
const MAX_FILES: u64 = 20_000;
/// So many kinds of files are told.
const KINDS: usize = 6;

/// The files of a folder by their endings, the most frequent first, and the first of them; as far as there is time.
pub(super) fn survey(workspace: &Workspace, folder: &Folder, stop: &Stop, secrets: &KnownSecrets) -> String {
    let tree = Tree::new(folder, IgnoreFiles::Respected, workspace);
    let mut todo = vec![tree.trunk()];
    let mut files = Few::default();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(branch) = todo.pop() {
        if stop.now() || files.count >= MAX_FILES {
            break;
        }
        let Ok(level) = tree.enter(branch) else { continue };
        let Ok(nodes) = tree.nodes(&level) else { continue };
        for node in nodes.filter_map(Result::ok) {
            if node.kind == FileType::Directory {
                todo.push(level.branch(&node));
            } else if node.kind == FileType::RegularFile {
                let kind = node
                    .path
                    .extension()
                    .map_or_else(|| "without an ending".to_owned(), |ending| format!("*.{}", shown_path(ending)));
                *kinds.entry(kind).or_default() += 1;
                files.add(&node.path, "");
            }
        }
    }
    let more = if todo.is_empty() { "" } else { "at least " };
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let listed: Vec<_> = kinds.iter().take(KINDS).map(|(kind, count)| format!("{count} {kind}")).collect();
    let show = |path: &std::path::Path| workspace.show(&folder.path().join(path));
    match files.named("files", secrets, show) {
        Some(named) => format!("there are {more}{} ({named})", listed.join(", ")),
        None => "there are no files".to_owned(),
    }
}
