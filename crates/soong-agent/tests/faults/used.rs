//! A used home that is damaged again and again, and mended in between.

use std::fs;
use std::path::{Path, PathBuf};

use agent_core::session::Node;
use agent_testkit::Protocol;
use rustix::process::Signal;

use crate::ledger::read;
use crate::world::World;

/// A used home, kept to be damaged again and again.
pub(crate) struct Used {
    pub(crate) world: World,
    pub(crate) session: String,
    /// What the session holds.
    pub(crate) path: Vec<Node>,
    /// The files of the home as they were.
    good: Vec<(PathBuf, Vec<u8>)>,
}

impl Used {
    /// With a session that was left in order.
    pub(crate) fn new(name: &str) -> Self {
        let world = World::new(name, Protocol::OpenAi);
        let session = world.session();
        world.run(Some(&session), "Round 1.");
        world.session();
        Self::of(world, session)
    }

    /// With a session whose process was killed: the newest of it lies in the log beside the database.
    pub(crate) fn killed(name: &str) -> Self {
        let world = World::new(name, Protocol::OpenAi);
        let session = world.session();
        let asked = world.server.request_count() + 3;
        let mut running = world.start(Some(&session), "Round 1.");
        world.server.wait_for_request_blocking(asked);
        running.signal(Signal::KILL);
        running.ends();
        world.end_orphans();
        let good = files(&world.home.home);
        let used = Self::of(world, session);
        Self { good, ..used }
    }

    fn of(world: World, session: String) -> Self {
        let good = files(&world.home.home);
        let path = read(&world, &session).path;
        Self { world, session, path, good }
    }

    pub(crate) fn home(&self) -> &Path {
        &self.world.home.home
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.world.database()
    }

    /// Everything as it was.
    pub(crate) fn mend(&self) {
        fs::remove_dir_all(self.home()).unwrap();
        for (path, bytes) in &self.good {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
}

/// Every file below a folder, with its bytes. What is no ordinary file or folder has none.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Files that were added, removed or changed.
pub(crate) fn changed(before: &[(PathBuf, Vec<u8>)], after: &[(PathBuf, Vec<u8>)]) -> Vec<PathBuf> {
    let differs = |one: &[(PathBuf, Vec<u8>)], other: &[(PathBuf, Vec<u8>)]| {
        let missing = one.iter().filter(|file| !other.contains(file)).map(|(path, _)| path.clone());
        missing.collect::<Vec<_>>()
    };
    let mut all = [differs(before, after), differs(after, before)].concat();
    all.dedup();
    all
}

/// Whatever is there is removed.
pub(crate) fn nothing_at(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}
