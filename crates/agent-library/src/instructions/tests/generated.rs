//! Trees that are made up by chance, against the rules said over again in the plainest way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agent_testkit::scratch;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{InstructionCatalog, InstructionPlaces, ScanLimits};
use std::time::Duration;

const NAMES: [&str; 10] =
    ["a", "b", "target", "AGENTS.md", "CLAUDE.md", ".git", "node_modules", "x.md", ".soong-agent", "link"];

#[derive(Debug, Clone)]
enum Thing {
    File,
    /// To a path from the project, or out of it.
    Link(Vec<usize>, bool),
}

fn things() -> impl Strategy<Value = Vec<(Vec<usize>, Thing)>> {
    let path = || vec(0..NAMES.len(), 1..6);
    let thing =
        prop_oneof![3 => Just(Thing::File), 1 => (path(), any::<bool>()).prop_map(|(to, out)| Thing::Link(to, out))];
    vec((path(), thing), 0..30)
}

fn path(names: &[usize]) -> String {
    names.iter().map(|name| NAMES[*name]).collect::<Vec<_>>().join("/")
}

fn grow(root: &Path, things: &[(Vec<usize>, Thing)]) {
    for (at, thing) in things {
        let at = root.join("project").join(path(at));
        // What is in the way already stays; nothing is made through a link.
        let folder = at.parent().unwrap();
        if folder.ancestors().take_while(|above| *above != root).any(Path::is_symlink) {
            continue;
        }
        if fs::create_dir_all(folder).is_err() || at.symlink_metadata().is_ok() {
            continue;
        }
        match thing {
            Thing::File => fs::write(at, "text").unwrap(),
            Thing::Link(to, out) => {
                let from = root.join(if *out { "other" } else { "project" });
                symlink(from.join(path(to)), at).unwrap();
            }
        }
    }
}

/// What must be found below a folder of the project.
fn expected(project: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    if folder != project && folder.join(".git").symlink_metadata().is_ok() {
        return;
    }
    let counts = |name: &str| {
        let real = folder.join(name).canonicalize().ok()?;
        (real.is_file() && real.starts_with(project)).then_some(folder.join(name))
    };
    found.extend(counts("CLAUDE.md").or_else(|| counts("AGENTS.md")).map(|path| path.display().to_string()));
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let skipped = ["target", ".git", "node_modules", ".soong-agent"].iter().any(|name| entry.file_name() == *name);
        if entry.file_type().unwrap().is_dir() && !skipped {
            expected(project, &entry.path(), found);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// INS-1, INS-4, INST-06: links, loops, repositories in repositories, skipped folders at any depth. And what the
    /// catalog says of a file is what is said of it without the catalog.
    #[test]
    fn any_tree(things in things()) {
        let root = scratch("library-generated").canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        fs::write(root.join("other/x.md"), "text").unwrap();
        grow(&root, &things);
        let places = InstructionPlaces { project: Some(project.clone()), ..InstructionPlaces::default() };
        let limits = ScanLimits { time: Duration::MAX, ..ScanLimits::default() };
        let catalog = InstructionCatalog::scan(&places, limits);
        let mut wanted = BTreeSet::new();
        expected(&project, &project, &mut wanted);
        let found: Vec<_> = catalog.entries().iter().map(|entry| entry.named.display().to_string()).collect();
        let ordered: BTreeSet<_> = found.iter().cloned().collect();
        prop_assert_eq!(ordered.len(), found.len());
        prop_assert_eq!(ordered, wanted);
        let again = InstructionCatalog::scan(&places, limits);
        prop_assert_eq!(again.entries(), catalog.entries());
        // With no room in the catalog, the places alone say the same of every file that was not reached through a link.
        let empty = InstructionCatalog::scan(&places, ScanLimits { entries: 0, ..limits });
        for entry in catalog.entries().iter().filter(|entry| entry.named == entry.path) {
            prop_assert_eq!(empty.level_of(&entry.path), Some(entry.level));
        }
        for at in things.iter().map(|(at, _)| project.join(path(at))).filter(|at| !at.is_symlink() && at.is_file()) {
            let Ok(at) = at.canonicalize() else { continue };
            let in_catalog = catalog.entry_of(&at).is_some_and(|entry| entry.named == at || at.ends_with("AGENTS.md"));
            prop_assert!(in_catalog || empty.level_of(&at).is_none(), "{at:?}");
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
