use super::*;
use proptest::prelude::*;
use std::{fs, os::unix::fs::symlink};

/// What a walk comes to, as a path and a word.
fn walked(path: &Path) -> (PathBuf, &'static str) {
    match walk(path) {
        Ok(Found::Folder(folder)) => (folder.path().to_owned(), "folder"),
        Ok(Found::Entry { folder, name, .. }) => (folder.path().join(name), "entry"),
        Ok(Found::Missing { folder, missing }) => {
            (missing.iter().fold(folder.path().to_owned(), |path, name| path.join(name)), "missing")
        }
        Err(WalkError::NotAFolder(path)) => (path, "not a folder"),
        Err(WalkError::Links(_)) => (PathBuf::new(), "links"),
        Err(WalkError::Os { path, .. }) => (path, "os"),
    }
}

/// COD-1: paths are normalised and links resolved, the missing part by its letters.
#[test]
fn paths_lead_to_the_real_place() {
    let root = agent_testkit::scratch("walk");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/f"), "").unwrap();
    symlink("../a", root.join("a/self")).unwrap();
    symlink(root.join("a/b"), root.join("abs")).unwrap();
    symlink("nowhere/x", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let check = |path: &str, expected: &str, kind: &str| {
        assert_eq!(walked(&root.join(path)), (root.join(expected), kind), "{path}");
    };
    check("a/./b//", "a/b", "folder");
    check("a/b/../f", "a/f", "entry");
    check("a/f/", "a/f", "entry");
    check("a/f/.", "a/f", "entry");
    check("a/self/self/f", "a/f", "entry");
    check("abs/..", "a", "folder");
    check("abs/../f", "a/f", "entry");
    check("dangling", "nowhere/x", "missing");
    check("new/deep/../x", "new/x", "missing");
    check("new/../a/f", "a/f", "entry");
    let above = root.parent().unwrap().join("no-such-name");
    assert_eq!(walked(&root.join("new/../../no-such-name")), (above, "missing"));
    check("a/f/x", "a/f", "not a folder");
    check("a/f/..", "a/f", "not a folder");
    assert_eq!(walked(&root.join("loop")).1, "links");
    assert_eq!(walked(Path::new("/../..")), (PathBuf::from("/"), "folder"));
}

/// Names in a small tree, and links between them.
fn component() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just(".."), Just("."), Just("l"), Just("m"), Just("n")]
}

proptest! {
    #![proptest_config(crate::testing::cases(192))]

    /// COD-1, COD-8: whatever links a tree has, a path that exists leads where the system says it leads; so it lies
    /// outside a folder if and only if it really does. One that does not exist leads below an existing real folder.
    #[test]
    fn a_walk_agrees_with_the_system(
        links in proptest::collection::vec((0usize..3, proptest::collection::vec(component(), 1..4), any::<bool>()), 3),
        path in proptest::collection::vec(component(), 1..6),
    ) {
        let root = agent_testkit::scratch("walk-property");
        for folder in ["a/b/c", "b", "c/a"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("n"), "").unwrap();
        }
        for (name, (place, target, absolute)) in ["l", "m", "l"].iter().zip(&links) {
            let place = root.join(["a", "b", "."][*place]);
            let target: PathBuf = target.iter().collect();
            let target = if *absolute { root.join(target) } else { target };
            // The same place twice: the first stays.
            let _ = symlink(target, place.join(name));
        }
        let path = root.join(path.iter().collect::<PathBuf>());
        // The system wants a folder before a slash, a walk does not.
        let (found, kind) = walked(&path);
        match fs::canonicalize(&path) {
            Ok(real) => {
                prop_assert_eq!(&found, &real);
                prop_assert_eq!(kind, if real.is_dir() { "folder" } else { "entry" });
            }
            Err(_) if kind == "missing" => {
                let existing = found.ancestors().find(|folder| folder.exists()).unwrap();
                prop_assert_eq!(existing, fs::canonicalize(existing).unwrap());
                prop_assert!(!found.components().any(|part| part == Component::ParentDir));
            }
            Err(_) => {}
        }
        fs::remove_dir_all(root).unwrap();
    }
}
