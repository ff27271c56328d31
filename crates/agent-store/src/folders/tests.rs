use super::*;
use agent_testkit::{scratch, without_privileges};
use std::os::unix::fs::{PermissionsExt, symlink};

/// STO-12: everything goes, links too, and what they point at stays.
#[test]
fn links_are_removed_and_never_followed() {
    let root = scratch("folders-links");
    let outside = root.join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("deep/kept"), "kept").unwrap();
    let gone = root.join("gone");
    fs::create_dir_all(gone.join("a/b")).unwrap();
    fs::write(gone.join("a/b/file"), "12345").unwrap();
    fs::write(gone.join("lock"), "").unwrap();
    symlink(&outside, gone.join("a/folder-link")).unwrap();
    symlink(outside.join("deep/kept"), gone.join("file-link")).unwrap();
    symlink("nowhere", gone.join("dangling")).unwrap();
    let removed = remove(&root, &["gone"], Some("lock"));
    assert_eq!((removed.bytes, removed.failures), (5, vec![]));
    assert!(!gone.exists());
    assert_eq!(fs::read(outside.join("deep/kept")).unwrap(), b"kept");

    symlink(&outside, &gone).unwrap();
    // Through a link there is no way; the link itself can go.
    assert_eq!(remove(&root, &["gone", "deep"], None).failures.len(), 1);
    assert_eq!(remove(&root, &["gone"], Some("lock")).failures, []);
    assert!(outside.join("deep/kept").exists() && gone.symlink_metadata().is_err());
    assert_eq!(remove(&root, &["gone"], None).failures, []);
}

/// What cannot be removed is told with its path, and the rest goes.
#[test]
fn failures_are_told() {
    let root = scratch("folders-failures");
    let held = root.join("gone/held");
    fs::create_dir_all(&held).unwrap();
    fs::write(held.join("file"), "x").unwrap();
    fs::write(root.join("gone/other"), "12").unwrap();
    fs::set_permissions(&held, fs::Permissions::from_mode(0o500)).unwrap();
    let removed = without_privileges(|| remove(&root, &["gone"], None));
    fs::set_permissions(&held, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(removed.bytes, 2);
    assert_eq!(removed.failures.len(), 1, "{removed:?}");
    assert_eq!(removed.failures[0].path, held.join("file"));
    assert!(held.join("file").exists() && !root.join("gone/other").exists());
}

/// A tree without end is not followed without end.
#[test]
fn depth_is_bounded() {
    let root = scratch("folders-depth");
    let mut deep = root.join("gone");
    for _ in 0..=MAX_DEPTH {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(remove(&root, &["gone"], None).failures.len(), 1);
    fs::remove_dir_all(root.join("gone")).unwrap();
}
