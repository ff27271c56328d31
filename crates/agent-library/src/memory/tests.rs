//! A memory folder for each test, and words to write decisions with.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use agent_testkit::scratch;

use super::*;

mod catalog;
mod concurrent;
mod drafts;
mod files;
mod ids;
mod outside;
mod places;
mod refusals;
mod render;
mod writer;

const PROJECT: &str = "/home/me/project";
const NOW: &str = "2026-11-30T09:41:43.120Z";

/// A home with nothing in it.
struct World {
    root: PathBuf,
    home: PathBuf,
    store: MemoryStore,
}

impl World {
    fn new(name: &str) -> Self {
        let root = scratch(name);
        let home = root.join("home");
        fs::create_dir(&home).unwrap();
        let store = MemoryStore::open(&home.join("memory"), &home).unwrap();
        Self { root, home, store }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.join("memory").join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The files below the memory folder, but for the lock.
    fn files(&self) -> Vec<String> {
        let all = snapshot(&self.home.join("memory")).into_keys();
        all.filter(|path| path.contains('.') && path != ".lock").collect()
    }

    fn apply(&self, decisions: &[Decision]) -> Result<Applied, WriteError> {
        self.apply_at(decisions, NOW, "r4nd")
    }

    fn apply_at(&self, decisions: &[Decision], now: &str, rand: &str) -> Result<Applied, WriteError> {
        let based = self.store.entries().unwrap().based(PROJECT);
        self.apply_based(decisions, &based, now, rand)
    }

    fn apply_based(&self, decisions: &[Decision], based: &Based, now: &str, rand: &str) -> Result<Applied, WriteError> {
        let is_secret = |text: &str| text.contains("hunter2");
        Writer::new(&self.store, &is_secret).apply(decisions, &sources(), based, &Moment::parse(now).unwrap(), rand)
    }

    /// One new memory.
    fn one(&self, summary: &str) -> MemoryId {
        let decision = Decision { summary: summary.to_owned(), content: format!("{summary}."), ..new("tea") };
        let applied = self.apply(&[decision]).unwrap();
        assert_eq!(applied.refused, []);
        applied.created[0].clone()
    }

    fn entry(&self, id: &MemoryId) -> MemoryEntry {
        self.store.get(id.as_str()).unwrap()
    }
}

fn sources() -> Sources {
    let node = |id: &str, kind| (id.to_owned(), kind);
    Sources {
        session_id: "sess_1".to_owned(),
        project: PROJECT.to_owned(),
        nodes: BTreeMap::from([
            node("n_user", SourceKind::User),
            node("n_user2", SourceKind::User),
            node("n_model", SourceKind::Assistant),
        ]),
    }
}

/// A new memory of the user's that may be written.
fn new(name: &str) -> Decision {
    Decision {
        action: Action::New,
        memory_id: None,
        category: Some("user".to_owned()),
        name: Some(name.to_owned()),
        summary: "Drinks tea".to_owned(),
        tags: vec!["tea".to_owned()],
        content: "The user drinks tea.".to_owned(),
        source_node_ids: vec!["n_user".to_owned()],
        scope: Scope::User,
    }
}

fn update(id: &MemoryId, content: &str) -> Decision {
    Decision {
        action: Action::Update,
        memory_id: Some(id.to_string()),
        content: content.to_owned(),
        summary: "Another summary".to_owned(),
        ..new("tea")
    }
}

/// A file as core writes it, with this frontmatter behind the usual one.
fn file(id: &str, more: &str) -> String {
    format!(
        "---\nid: {id}\ncategory: user\nsummary: By hand\ncreated_at: 2026-01-02T03:04:05Z\nupdated_at: 2026-01-02T03:04:05Z\n\
         source_session_id: sess_0\nsource_node_ids: [n]\n{more}---\n\nText.\n"
    )
}

/// Everything below a folder: kind, mode and content of each path. Links are not followed.
fn snapshot(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).into_iter().flatten().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let content = match meta.file_type() {
                kind if kind.is_dir() => "folder".to_owned(),
                kind if kind.is_symlink() => format!("link {:?}", fs::read_link(&path).unwrap()),
                kind if kind.is_file() => format!("file {:?}", fs::read(&path).unwrap()),
                kind => format!("{kind:?}"),
            };
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            all.insert(name, format!("{:o} {content}", meta.mode()));
            if meta.is_dir() {
                open.push(path);
            }
        }
    }
    all
}

/// Names the home to a process that a test started to run itself once more.
const CHILD: &str = "MEMORY_TEST_CHILD_HOME";

/// A process that runs one test of this folder, in another one's home and with a umask.
fn child_of(world: &World, test: &str, umask: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask \"$0\" && exec \"$@\"", umask])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("memory::tests::{test}")])
        .env(CHILD, &world.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// In such a process.
fn store_of_the_parent() -> Option<MemoryStore> {
    let home = PathBuf::from(std::env::var_os(CHILD)?);
    Some(MemoryStore::open(&home.join("memory"), &home).unwrap())
}
