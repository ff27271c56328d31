//! One pass through a folder, on all cores.

use std::{collections::HashSet, fs, mem, path::Path, sync::Arc, thread::available_parallelism};

use agent_redact::KnownSecrets;
use ignore::overrides::Override;
use rustix::fs::{FileType, fstat};

use super::{
    collect::{Collector, State, key},
    file::{FileSearch, MAX_LINE, Outcome},
    query::Query,
    stop::Stop,
};
use crate::{
    place::{Folder, Identity, OpenFile, identity, regular},
    second_names::SecondNames,
    traverse::{Branch, Few, IgnoreFiles, LeftOut, Level, Node, Pile, Tree, share},
    workspace::Workspace,
};

/// Bigger files are not searched. Bytes.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// More threads than this wait for the disk or for each other.
const MAX_THREADS: usize = 8;
/// So many files of a folder are searched at a stretch; the next ones may be somebody else's.
const CHUNK: usize = 64;

/// What to search, and how.
pub(crate) struct Pass<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) names: &'a SecondNames,
    /// The folder, held open; files are opened through it.
    pub(crate) folder: &'a Folder,
    pub(crate) glob: Option<&'a Override>,
    pub(crate) query: &'a Query,
    pub(crate) secrets: &'a KnownSecrets,
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
    /// How many of them are no folders.
    pub(crate) sensitive_files: u64,
    /// How many entries ignore rules left out.
    pub(crate) ignored: u64,
    /// Links that lead out of the folder; none is followed.
    pub(crate) links: Few,
}

impl Passed {
    /// Of one file, where nothing is passed over.
    pub(crate) fn of(state: State) -> Self {
        Self { state, sensitive: 0, sensitive_files: 0, ignored: 0, links: Few::default() }
    }
}

/// What is left to do.
enum Job {
    Folder(Branch),
    Files(Arc<Level>, Vec<Node>),
}

/// A pass under way.
struct Passing<'a> {
    pass: &'a Pass<'a>,
    tree: Tree<'a>,
    collector: Collector,
    unreadable: LeftOut,
    links: LeftOut,
    /// What must not be opened.
    database: Vec<Identity>,
}

impl Pass<'_> {
    pub(crate) fn run(&self) -> Passed {
        let passing = Passing {
            pass: self,
            tree: Tree::new(self.folder, self.ignore, self.workspace).of(self.glob),
            collector: Collector::new(self.limit, self.query.readings.is_some()),
            unreadable: LeftOut::default(),
            links: LeftOut::default(),
            database: self.workspace.session_database(),
        };
        let threads = available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        share(Job::Folder(passing.tree.trunk()), threads, || {
            let mut search = FileSearch::new(self.query, self.secrets, self.limit + 1, MAX_LINE);
            let passing = &passing;
            move |job, pile| match job {
                Job::Folder(branch) => passing.folder(branch, &mut search, pile),
                Job::Files(level, files) => passing.files(&level, &files, &mut search),
            }
        });
        let (sensitive, sensitive_files) = (passing.tree.sensitive(), passing.tree.sensitive_files());
        let ignored = passing.tree.ignored().count;
        let (mut state, links) = (passing.collector.finish(), passing.links.few());
        state.counts.unreadable.join(passing.unreadable.few());
        Passed { state, sensitive, sensitive_files, ignored, links }
    }
}

impl Passing<'_> {
    fn stopped(&self) -> bool {
        let stopped = self.pass.stop.now();
        if stopped {
            self.collector.stopped();
        }
        stopped
    }

    fn unreadable(&self, path: &Path) {
        self.unreadable.add(path, "");
    }

    /// Notes a link that leads out of the folder: what is behind it is not searched under another name.
    fn link(&self, level: &Level, link: &Node) {
        let Ok(target) = fs::canonicalize(level.folder.path().join(&link.name)) else { return };
        let Ok(found) = fs::metadata(&target) else { return };
        let is_wanted = found.is_dir() || (found.is_file() && self.is_wanted(link));
        if is_wanted && !target.starts_with(self.pass.folder.path()) {
            self.links.add(&link.path, "");
        }
    }

    /// Leaves folders in it for later, and of its files what others have time for.
    fn folder(&self, branch: Branch, search: &mut FileSearch, pile: &Pile<Job>) {
        if self.stopped() {
            return;
        }
        let path = branch.path().to_owned();
        let Ok(level) = self.tree.enter(branch).map(Arc::new) else { return self.unreadable(&path) };
        let Ok(nodes) = self.tree.nodes(&level) else { return self.unreadable(&path) };
        let mut files = Vec::new();
        for node in nodes {
            match node {
                Ok(node) if node.kind == FileType::Directory => {
                    if !pile.add(Job::Folder(level.branch(&node))) {
                        self.unreadable(&node.path);
                    }
                }
                Ok(node) if node.kind == FileType::RegularFile && self.is_wanted(&node) => files.push(node),
                Ok(node) if node.kind == FileType::Symlink && self.pass.known.is_none() => self.link(&level, &node),
                Ok(_) => {}
                Err(_) => return self.unreadable(&path),
            }
            if files.len() == CHUNK {
                let files = mem::take(&mut files);
                if !pile.is_wanted() {
                    self.files(&level, &files, search);
                } else if !pile.add(Job::Files(Arc::clone(&level), files)) {
                    self.unreadable(&path);
                }
            }
        }
        self.files(&level, &files, search);
    }

    fn is_wanted(&self, file: &Node) -> bool {
        let Pass { glob, known, .. } = self.pass;
        !glob.is_some_and(|glob| glob.matched(&file.path, false).is_ignore())
            && !known.is_some_and(|known| known.contains(&key(&file.path)))
    }

    fn files(&self, level: &Level, files: &[Node], search: &mut FileSearch) {
        for file in files {
            if self.stopped() {
                return;
            }
            if !self.collector.is_settled_before(&file.path) {
                self.collector.add(&file.path, self.file(level, file, search));
            }
        }
    }

    fn file(&self, level: &Level, file: &Node, search: &mut FileSearch) -> Outcome {
        let Some(file) = self.open(level, file) else { return Outcome::Unreadable };
        let shown = self.pass.workspace.show(&file.path);
        let outcome = search_file(&file, &shown, search, &self.pass.stop);
        if let Outcome::Searched { hits, .. } = &outcome
            && !hits.is_empty()
            && self.has_second_name(&file)
        {
            return Outcome::SecondName;
        }
        outcome
    }

    /// Opens a file without holding it first, as [`OpenFile::open`] does: with many small files that would cost as much
    /// again as searching them. What the folder said of it has to do; whatever took its place meanwhile is opened without
    /// waiting, and not read.
    fn open(&self, level: &Level, file: &Node) -> Option<OpenFile> {
        if self.database.iter().any(|(_, inode)| *inode == file.inode) {
            return self.pass.workspace.open(&level.folder, &file.name).ok()?.ok();
        }
        let opened = level.folder.open_file(&file.name).ok()?;
        let stat = fstat(&opened).ok()?;
        if self.database.contains(&identity(&stat)) {
            // It is closing it that would do harm: see `Workspace::open`.
            mem::forget(opened);
            return None;
        }
        let path = level.folder.path().join(&file.name);
        regular(&stat).is_ok().then_some(OpenFile { file: opened, path, stat })
    }

    /// Whether a file that may be searched by its name may not be by another one.
    fn has_second_name(&self, file: &OpenFile) -> bool {
        !self.tree.is_allowed() && !self.pass.names.of(&file.stat, &file.path).is_empty()
    }
}

/// Searches a file of many, if it is of a sane size.
pub(crate) fn search_file(file: &OpenFile, shown: &str, search: &mut FileSearch, stop: &Stop) -> Outcome {
    if file.size() > MAX_FILE { Outcome::TooBig } else { search.search(&file.file, MAX_FILE, shown, stop) }
}

/// Searches a file that was named, however big it is, to the end that it had when it was opened.
pub(crate) fn search_named(file: &OpenFile, shown: &str, search: &mut FileSearch, stop: &Stop) -> Outcome {
    search.search(&file.file, file.size().max(MAX_FILE), shown, stop)
}
