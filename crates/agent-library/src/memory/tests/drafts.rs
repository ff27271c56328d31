use std::{ffi::OsStr, os::unix::fs::PermissionsExt};

use super::*;
use crate::memory::draft::{Draft, Put};
use crate::memory::folder::Folder;

fn folder(world: &World) -> Folder {
    Folder::memory(&world.home, &world.home.join("memory"), true).unwrap().unwrap()
}

/// MEM-07: what is not what was said stays.
#[test]
fn compare_before_rename() {
    let world = World::new("memory-compare");
    let folder = folder(&world);
    let put = |before: Option<&str>, text: &str| {
        folder.put(OsStr::new("x.md"), before.map(str::as_bytes), text.as_bytes()).unwrap()
    };
    let there = || fs::read_to_string(world.path("x.md")).ok();
    assert_eq!((put(Some("a"), "b"), there()), (Put::Changed, None));
    assert_eq!((put(None, "one"), there()), (Put::Done, Some("one".into())));
    for wrong in [None, Some(""), Some("on"), Some("ond"), Some("one more")] {
        assert_eq!((put(wrong, "b"), there()), (Put::Changed, Some("one".into())), "{wrong:?}");
    }
    assert_eq!((put(Some("one"), ""), there()), (Put::Done, Some(String::new())));
    assert_eq!((put(Some(""), "two"), there()), (Put::Done, Some("two".into())));
    assert_eq!(world.files(), ["x.md"]);
}

/// The same where files cannot be written without a name.
#[test]
fn drafts_with_a_name() {
    let world = World::new("memory-drafts");
    let folder = folder(&world);
    let take = |text: &str, replaces: bool| {
        let mut draft = Draft::named(folder.fd()).unwrap();
        draft.fill(text.as_bytes()).unwrap();
        assert_eq!(fs::metadata(world.path(".memory-draft.tmp")).unwrap().permissions().mode() & 0o7777, 0o600);
        let put = draft.take_name(OsStr::new("x.md"), replaces).unwrap();
        assert_eq!(world.files(), ["x.md"]);
        (put, world.read("x.md"))
    };
    assert_eq!(take("one", false), (Put::Done, "one".into()));
    assert_eq!(take("two", false), (Put::Changed, "one".into()));
    assert_eq!(take("two", true), (Put::Done, "two".into()));
    drop(Draft::named(folder.fd()).unwrap());
    assert_eq!(world.files(), ["x.md"]);
}
