//! Trees of instruction files, and what a scan makes of them.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_testkit::scratch;

use super::{InstructionCatalog, InstructionPlaces, Level, ScanLimits, Stop};

mod generated;
mod near;
mod rendered;

/// A home and a project beside each other.
struct World {
    root: PathBuf,
    places: InstructionPlaces,
}

impl World {
    fn new(name: &str) -> Self {
        let root = scratch(&format!("library-{name}"));
        let (home, project) = (root.join("user/.soong-agent"), root.join("project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project).unwrap();
        let user_home = Some(root.join("user"));
        Self { places: InstructionPlaces { home: Some(home), project: Some(project), user_home }, root }
    }

    fn home(&self) -> &Path {
        self.places.home.as_deref().unwrap()
    }

    fn project(&self) -> &Path {
        self.places.project.as_deref().unwrap()
    }

    /// Files by their paths from the root of this world.
    fn files(self, paths: &[&str]) -> Self {
        for path in paths {
            write(&self.root.join(path), "text\n");
        }
        self
    }

    fn link(&self, from: &str, to: impl AsRef<Path>) {
        let from = self.root.join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(to, from).unwrap();
    }

    fn scan(&self) -> InstructionCatalog {
        self.scan_within(ScanLimits { time: Duration::MAX, ..ScanLimits::default() })
    }

    /// With a clock that stands still.
    fn scan_within(&self, limits: ScanLimits) -> InstructionCatalog {
        InstructionCatalog::scan_with_clock(&self.places, limits, &|| Duration::ZERO)
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn shown(catalog: &InstructionCatalog) -> Vec<&str> {
    catalog.entries().iter().map(|entry| entry.shown.as_str()).collect()
}

/// INS-1: where instruction files are, which wins in a folder, and which folders are not looked into.
#[test]
fn sources() {
    let world = World::new("sources").files(&[
        "user/.soong-agent/CLAUDE.md",
        "user/.soong-agent/AGENTS.md",
        "user/.soong-agent/rules/b.md",
        "user/.soong-agent/rules/a/z.md",
        "user/.soong-agent/rules/.hidden.md",
        "user/.soong-agent/rules/.trash/old.md",
        "user/.soong-agent/rules/notes.txt",
        "user/.soong-agent/sub/AGENTS.md",
        "project/AGENTS.md",
        "project/b/AGENTS.md",
        "project/b/CLAUDE.md",
        "project/b/README.md",
        "project/a/deep/er/CLAUDE.md",
        "project/.github/AGENTS.md",
        "project/claude.md",
        "project/x/AGENTS.md.bak",
        "project/node_modules/m/AGENTS.md",
        "project/a/target/AGENTS.md",
        "project/.venv/CLAUDE.md",
        "project/.soong-agent/plans/AGENTS.md",
    ]);
    let catalog = world.scan();
    assert_eq!(
        shown(&catalog),
        [
            "~/.soong-agent/CLAUDE.md",
            "~/.soong-agent/rules/b.md",
            "~/.soong-agent/rules/a/z.md",
            "AGENTS.md",
            ".github/AGENTS.md",
            "a/deep/er/CLAUDE.md",
            "b/CLAUDE.md",
        ]
    );
    let levels: Vec<_> = catalog.entries().iter().map(|entry| (entry.level, entry.depth)).collect();
    let (user, project) = (Level::User, Level::Project);
    assert_eq!(levels, [(user, 0), (user, 1), (user, 2), (project, 0), (project, 1), (project, 3), (project, 1)]);
    let entry = &catalog.entries()[6];
    assert_eq!(entry.path, world.project().join("b/CLAUDE.md"));
    assert_eq!(entry.shown_absolute, entry.path.to_str().unwrap());
    assert!(!catalog.report().truncated());
    assert_eq!(catalog.entry_of(&entry.path), Some(entry));
    assert_eq!(catalog.entry_of(&world.project().join("b/AGENTS.md")), None);
}

/// INST-06, INS-5: nothing above the project, nothing behind links to folders (so no loop is followed), nothing of repositories inside
/// the project.
#[test]
fn other_peoples_files() {
    let world = World::new("others").files(&[
        "AGENTS.md",
        "other/AGENTS.md",
        "project/.git/HEAD",
        "project/AGENTS.md",
        "project/fork/.git/HEAD",
        "project/fork/AGENTS.md",
        "project/fork/sub/AGENTS.md",
        "project/tree/.git",
        "project/tree/CLAUDE.md",
        "project/mine/AGENTS.md",
    ]);
    world.link("project/lib", world.root.join("other"));
    world.link("project/mine/loop", world.project());
    let catalog = world.scan();
    assert_eq!(shown(&catalog), ["AGENTS.md", "mine/AGENTS.md"]);
    assert_eq!(catalog.report().repositories, 2);
    for path in [
        "AGENTS.md",
        "other/AGENTS.md",
        "project/fork/AGENTS.md",
        "project/fork/sub/AGENTS.md",
        "project/tree/CLAUDE.md",
    ] {
        assert_eq!(catalog.level_of(&world.root.join(path)), None, "{path}");
    }
}

/// INS-4: a link counts if it leads to a regular file in the same root, and only then wins.
#[test]
fn links_to_files() {
    let world = World::new("links").files(&[
        "outside.md",
        "project/docs/guide.md",
        "project/AGENTS.md",
        "project/out/AGENTS.md",
        "project/gone/AGENTS.md",
        "project/in/AGENTS.md",
        "user/.soong-agent/rules/a.md",
    ]);
    world.link("project/CLAUDE.md", "AGENTS.md");
    world.link("project/out/CLAUDE.md", world.root.join("outside.md"));
    world.link("project/gone/CLAUDE.md", "nothing.md");
    world.link("project/in/CLAUDE.md", "../docs/guide.md");
    world.link("project/folder/CLAUDE.md", "../docs");
    world.link("user/.soong-agent/rules/b.md", "a.md");
    world.link("user/.soong-agent/rules/c.md", world.project().join("AGENTS.md"));
    let catalog = world.scan();
    let resolved: Vec<_> = catalog.entries().iter().map(|entry| (entry.shown.as_str(), entry.path.as_path())).collect();
    let (project, rules) = (world.project(), world.home().join("rules"));
    assert_eq!(
        resolved,
        [
            ("~/.soong-agent/rules/a.md", rules.join("a.md").as_path()),
            ("~/.soong-agent/rules/b.md", rules.join("a.md").as_path()),
            ("CLAUDE.md", project.join("AGENTS.md").as_path()),
            ("gone/AGENTS.md", project.join("gone/AGENTS.md").as_path()),
            ("in/CLAUDE.md", project.join("docs/guide.md").as_path()),
            ("out/AGENTS.md", project.join("out/AGENTS.md").as_path()),
        ]
    );
    assert_eq!(catalog.report().links_out, 4, "out, gone, folder, c.md");
    // The file that a link names is one; the one that the link hides is not.
    assert_eq!(catalog.level_of(&project.join("docs/guide.md")), Some(Level::Project));
    assert_eq!(catalog.level_of(&project.join("AGENTS.md")), Some(Level::Project));
    assert_eq!(catalog.level_of(&project.join("in/AGENTS.md")), None);
}

/// INS-1, INS-4: whether a file that was read is one does not depend on what the catalog has room for.
#[test]
fn files_beyond_the_catalog() {
    let world =
        World::new("beyond").files(&["project/a/AGENTS.md", "project/README.md", "user/.soong-agent/rules/r.md"]);
    let catalog = world.scan_within(ScanLimits { entries: 0, ..ScanLimits::default() });
    assert!(catalog.entries().is_empty() && catalog.report().truncated());
    assert_eq!(catalog.report().left_out, 2);
    let world = world.files(&[
        "project/new/CLAUDE.md",
        "project/new/AGENTS.md",
        "project/target/AGENTS.md",
        "user/.soong-agent/AGENTS.md",
        "user/.soong-agent/memory/AGENTS.md",
        "user/.soong-agent/rules/x/.h/y.md",
    ]);
    for (path, level) in [
        ("project/a/AGENTS.md", Some(Level::Project)),
        ("project/new/CLAUDE.md", Some(Level::Project)),
        ("project/new/AGENTS.md", None),
        ("project/README.md", None),
        ("project/target/AGENTS.md", None),
        ("project/none/AGENTS.md", None),
        ("user/.soong-agent/rules/r.md", Some(Level::User)),
        ("user/.soong-agent/AGENTS.md", Some(Level::User)),
        ("user/.soong-agent/memory/AGENTS.md", None),
        ("user/.soong-agent/rules/x/.h/y.md", None),
        ("user/AGENTS.md", None),
    ] {
        assert_eq!(catalog.level_of(&world.root.join(path)), level, "{path}");
    }
}

/// INS-1, INST-07: a scan ends, what is near the root is in it, and it says why it ended.
#[test]
fn limits_of_a_scan() {
    let world = World::new("limits").files(&["project/zz/AGENTS.md", "project/AGENTS.md", "project/zz/deep/AGENTS.md"]);
    for folder in 0..50 {
        write(&world.project().join(format!("aa/{folder:02}/deeper/AGENTS.md")), "text\n");
    }
    // Names come in no order: wherever in the root the limit is reached, the root's own file is there.
    for visited in 0..4 {
        let catalog = world.scan_within(ScanLimits { visited, ..ScanLimits::default() });
        assert_eq!(shown(&catalog), ["AGENTS.md"], "{visited}");
        assert_eq!((catalog.report().stopped, catalog.report().visited), (Some(Stop::Visited), visited.min(3)));
    }
    // Three in the root, fifty in aa, two in zz: everything of the first two levels comes before anything deeper.
    let catalog = world.scan_within(ScanLimits { visited: 55, ..ScanLimits::default() });
    assert_eq!(shown(&catalog), ["AGENTS.md", "zz/AGENTS.md"]);
    assert!(catalog.report().truncated());

    // Entries are left out by the order of paths, but a folder's file stands before what is deeper.
    let catalog = world.scan_within(ScanLimits { entries: 3, ..ScanLimits::default() });
    assert_eq!(shown(&catalog), ["AGENTS.md", "aa/00/deeper/AGENTS.md", "aa/01/deeper/AGENTS.md"]);
    assert_eq!((catalog.report().left_out, catalog.report().stopped), (50, None));

    // Whatever the user's rules cost, the project's own file is found.
    let late = || Duration::from_secs(1);
    let catalog = InstructionCatalog::scan_with_clock(&world.places, ScanLimits::default(), &late);
    assert_eq!((shown(&catalog), catalog.report().stopped), (vec!["AGENTS.md"], Some(Stop::Time)));

    let looks = Cell::new(0);
    let clock = || {
        looks.set(looks.get() + 1);
        Duration::from_millis(200 * looks.get())
    };
    let catalog = InstructionCatalog::scan_with_clock(&world.places, ScanLimits::default(), &clock);
    assert_eq!(catalog.report().stopped, Some(Stop::Time));
    assert_eq!(shown(&catalog), ["AGENTS.md", "zz/AGENTS.md"]);
}

/// INS-1: the agent's home in the project (the project is the user's home) is the user's and listed once.
#[test]
fn home_in_the_project() {
    let mut world = World::new("home").files(&[
        "user/.agent/AGENTS.md",
        "user/.agent/rules/a.md",
        "user/AGENTS.md",
        "user/.agent/x/AGENTS.md",
    ]);
    world.places.home = Some(world.root.join("user/.agent"));
    world.places.project = Some(world.root.join("user"));
    let catalog = world.scan();
    assert_eq!(shown(&catalog), ["~/.agent/AGENTS.md", "~/.agent/rules/a.md", "AGENTS.md"]);
    assert_eq!(catalog.level_of(&world.root.join("user/.agent/x/AGENTS.md")), None);
    assert_eq!(catalog.level_of(&world.root.join("user/AGENTS.md")), Some(Level::Project));

    world.places.project = world.places.home.clone();
    let catalog = world.scan();
    assert_eq!(shown(&catalog), ["~/.agent/AGENTS.md", "~/.agent/rules/a.md", "x/AGENTS.md"]);
}

/// Folders that cannot be read or do not exist, and special files, do no harm.
#[test]
fn what_cannot_be_read() {
    let mut world = World::new("unreadable").files(&["project/AGENTS.md", "project/b/AGENTS.md"]);
    let pipe = world.project().join("p/AGENTS.md");
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    fs::create_dir_all(world.project().join("d/CLAUDE.md")).unwrap();
    let catalog = world.scan();
    assert_eq!(shown(&catalog), ["AGENTS.md", "b/AGENTS.md"]);

    // A file where a folder is expected: nobody may list it, not even root.
    world.places.project = Some(world.project().join("AGENTS.md"));
    let catalog = world.scan();
    assert!(catalog.entries().is_empty());
    assert_eq!(
        (catalog.report().unreadable, catalog.report().first_unreadable.clone()),
        (1, world.places.project.clone())
    );

    world.places = InstructionPlaces { project: Some(world.root.join("none")), ..InstructionPlaces::default() };
    let catalog = world.scan();
    assert!(catalog.entries().is_empty());
    assert_eq!(catalog.report(), &super::ScanReport::default());
}
