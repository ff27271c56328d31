//! What the agents of a session have written to files: who wrote what is there now, and one write at a time per file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use agent_protocol::AgentId;
use agent_tool::{FileVersion, WriteGuard};

use crate::file_stamp::{Stamp, stamp};

/// Shared by all agents of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionFiles {
    /// The last write of each file, and whose it was. Where that was before this process: the last one of each agent.
    writers: Mutex<HashMap<PathBuf, Vec<(FileVersion, AgentId)>>>,
    busy: Arc<Busy>,
    changes: Mutex<Arc<RunChanges>>,
}

/// Files that are being written.
#[derive(Debug, Default)]
struct Busy {
    files: Mutex<HashSet<PathBuf>>,
    one_less: Condvar,
}

impl SessionFiles {
    /// With the writes that were stored.
    pub(crate) fn stored(writes: impl IntoIterator<Item = (PathBuf, FileVersion, AgentId)>) -> Self {
        let mut writers: HashMap<_, Vec<_>> = HashMap::new();
        for (path, version, agent) in writes {
            writers.entry(path).or_default().push((version, agent));
        }
        Self { writers: Mutex::new(writers), ..Self::default() }
    }

    pub(crate) fn wrote(&self, path: &Path, version: FileVersion, agent: &AgentId) {
        whole(&self.writers).insert(path.to_owned(), vec![(version, agent.clone())]);
    }

    /// The agent whose write made this version, if no other write followed.
    pub(crate) fn writer(&self, path: &Path, version: FileVersion) -> Option<AgentId> {
        let writers = whole(&self.writers);
        let (_, agent) = writers.get(path)?.iter().find(|(written, _)| *written == version)?;
        Some(agent.clone())
    }

    /// Waits until nobody of this session writes the file, and keeps others out. Blocks.
    pub(crate) fn exclusive(&self, path: &Path) -> WriteGuard {
        let mut files = whole(&self.busy.files);
        while files.contains(path) {
            files = self.busy.one_less.wait(files).unwrap_or_else(PoisonError::into_inner);
        }
        files.insert(path.to_owned());
        let (busy, path) = (Arc::clone(&self.busy), path.to_owned());
        WriteGuard::new(move || {
            whole(&busy.files).remove(&path);
            busy.one_less.notify_all();
        })
    }

    /// What is changed from now on: by a run of the user, and by the children it has. While children of an earlier run live,
    /// what they change still counts.
    pub(crate) fn begin_changes(&self, children_live: bool) -> Arc<RunChanges> {
        let mut changes = whole(&self.changes);
        if !children_live {
            *changes = Arc::default();
        }
        Arc::clone(&changes)
    }

    /// What the user's run at work, and its children, have changed.
    pub(crate) fn changes(&self) -> Arc<RunChanges> {
        Arc::clone(&whole(&self.changes))
    }
}

/// Files that tools made or changed in a run of the user and its children: they do not bind before the next one (INS-6).
#[derive(Debug, Default)]
pub(crate) struct RunChanges(Mutex<Changes>);

#[derive(Debug, Default)]
struct Changes {
    /// The files that may bind, as they were when the user's run began.
    at_first: Option<HashMap<PathBuf, Option<Stamp>>>,
    written: HashSet<PathBuf>,
    /// Something ran that may have changed any file.
    anything: bool,
}

impl RunChanges {
    /// Says what the files were like, unless it was said before.
    pub(crate) fn begin_with<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) {
        let mut changes = whole(&self.0);
        if changes.at_first.is_none() {
            changes.at_first = Some(paths.into_iter().map(|path| (path.to_owned(), stamp(path))).collect());
        }
    }

    /// A call has written this file.
    pub(crate) fn written(&self, path: &Path) {
        whole(&self.0).written.insert(path.to_owned());
    }

    /// A call ran that may have written any file.
    pub(crate) fn something_ran(&self) {
        whole(&self.0).anything = true;
    }

    /// Whether a tool made or changed the file, or may have: once something ran that could, a file counts as untouched only
    /// if it is what it was at first.
    pub(crate) fn is_written(&self, path: &Path) -> bool {
        let changes = whole(&self.0);
        let at_first = || changes.at_first.as_ref().and_then(|at_first| at_first.get(path));
        changes.written.contains(path) || (changes.anything && at_first().is_none_or(|then| *then != stamp(path)))
    }
}

/// Everything here is whole after every operation, so a panic elsewhere has not broken it.
fn whole<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentId {
        AgentId::parse(&format!("{}{name}", AgentId::PREFIX)).unwrap()
    }

    /// AGT-C06: one write at a time per file, by whichever agent; other files are not waited for.
    #[test]
    fn one_write_at_a_time() {
        let files = Arc::new(SessionFiles::default());
        let held = files.exclusive(Path::new("/p/a"));
        drop(files.exclusive(Path::new("/p/b")));
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = Arc::clone(&files);
        let waiting = std::thread::spawn(move || {
            let _held = other.exclusive(Path::new("/p/a"));
            sender.send(()).unwrap();
        });
        assert!(receiver.try_recv().is_err());
        drop(held);
        receiver.recv().unwrap();
        waiting.join().unwrap();
        assert!(whole(&files.busy.files).is_empty(), "what nobody holds is forgotten");
    }

    /// INS-6: what a child changes counts for the run of the user it works for, and for late children's next one.
    #[test]
    fn changes_are_those_of_a_run_and_its_children() {
        let folder = agent_testkit::scratch("run-changes");
        let file = folder.join("AGENTS.md");
        std::fs::write(&file, "one").unwrap();
        let files = SessionFiles::default();
        let run = files.begin_changes(false);
        run.begin_with([file.as_path()]);
        let child = files.changes();
        child.begin_with([]);
        assert!(!run.is_written(&file));
        child.something_ran();
        assert!(!run.is_written(&file), "it is what it was");
        std::fs::write(&file, "other").unwrap();
        assert!(run.is_written(&file) && child.is_written(&file));
        let next = files.begin_changes(true);
        assert!(next.is_written(&file), "a child of the run before lives");
        assert!(!files.begin_changes(false).is_written(&file));
    }

    #[test]
    fn the_last_write_has_a_name() {
        let [one, two] = [1, 2].map(|n| FileVersion::Content([n; 32]));
        let path = Path::new("/p/a");
        let files = SessionFiles::stored([(path.to_owned(), one, agent("a"))]);
        assert_eq!(files.writer(path, one), Some(agent("a")));
        files.wrote(path, two, &agent("b"));
        assert_eq!((files.writer(path, one), files.writer(path, two)), (None, Some(agent("b"))));
    }
}
