//! One pass through a folder, on all cores.

use std::{
    collections::HashSet,
    fs::File,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread::available_parallelism,
};

use ignore::{DirEntry, WalkState, overrides::Override};

use super::{
    collect::{Collector, State, key},
    file::{FileSearch, Outcome},
    query::Query,
    stop::Stop,
};
use crate::code::{
    place::Folder,
    traverse::{IgnoreFiles, traversal},
    workspace::Workspace,
};

/// Bigger files are not searched. Bytes.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// More threads than this wait for the disk or for each other.
const MAX_THREADS: usize = 8;

/// What to search, and how.
pub(crate) struct Pass<'a> {
    pub(crate) workspace: &'a Workspace,
    /// The folder, held open; files are opened through it.
    pub(crate) folder: &'a Folder,
    pub(crate) glob: Option<&'a Override>,
    pub(crate) query: &'a Query,
    pub(crate) ignore: IgnoreFiles,
    pub(crate) limit: usize,
    pub(crate) stop: Stop,
    /// Files that need no second look, by [`key`].
    pub(crate) known: Option<&'a HashSet<u64>>,
}

/// What a pass found.
pub(crate) struct Passed {
    pub(crate) state: State,
    /// Entries that were passed over because they are sensitive.
    pub(crate) sensitive: u64,
}

impl Pass<'_> {
    pub(crate) fn run(&self) -> Passed {
        let (mut walk, sensitive) = traversal(self.folder.path(), self.ignore, self.workspace);
        walk.threads(available_parallelism().map_or(1, usize::from).min(MAX_THREADS));
        let collector = Collector::new(self.limit);
        let unreadable = AtomicU64::new(0);
        walk.build_parallel().run(|| {
            let mut search = FileSearch::new(self.query.matcher.clone(), self.limit + 1);
            let (collector, unreadable) = (&collector, &unreadable);
            Box::new(move |found| {
                if self.stop.now() {
                    collector.stopped();
                    return WalkState::Quit;
                }
                match found {
                    Ok(entry) => self.visit(&entry, &mut search, collector),
                    Err(_) => {
                        unreadable.fetch_add(1, Ordering::Relaxed);
                    }
                }
                WalkState::Continue
            })
        });
        let mut state = collector.finish();
        state.counts.unreadable += unreadable.into_inner();
        Passed { state, sensitive: sensitive.get() }
    }

    fn visit(&self, entry: &DirEntry, search: &mut FileSearch, collector: &Collector) {
        let Ok(path) = entry.path().strip_prefix(self.folder.path()) else { return };
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if !is_file
            || self.glob.is_some_and(|glob| glob.matched(path, false).is_ignore())
            || self.known.is_some_and(|known| known.contains(&key(path)))
            || collector.is_settled_before(path)
        {
            return;
        }
        collector.add(path, self.search(path, search));
    }

    fn search(&self, path: &Path, search: &mut FileSearch) -> Outcome {
        let Ok(file) = self.folder.open_below(path) else { return Outcome::Unreadable };
        let shown = self.workspace.show(&self.folder.path().join(path));
        search_file(&file, &shown, search, &self.stop)
    }
}

/// Searches an open file, if it is one and of a sane size.
pub(crate) fn search_file(file: &File, shown: &str, search: &mut FileSearch, stop: &Stop) -> Outcome {
    match file.metadata() {
        Ok(found) if !found.is_file() => Outcome::Unreadable,
        Ok(found) if found.len() > MAX_FILE => Outcome::TooBig,
        Ok(_) => search.search(file, shown, stop),
        Err(_) => Outcome::Unreadable,
    }
}
