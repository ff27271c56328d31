use std::os::unix::fs::symlink;

use super::*;

/// CFG-10: the folder lies inside home, in words and on disk.
#[test]
fn outside_of_home() {
    let world = World::new("memory-outside-home");
    let (home, outside) = (&world.home, world.root.join("outside"));
    fs::create_dir(&outside).unwrap();
    symlink(&outside, home.join("away")).unwrap();
    symlink(home, home.join("self")).unwrap();
    symlink(outside.join("not-yet"), home.join("dangling")).unwrap();
    fs::write(home.join("file"), "").unwrap();
    for (dir, said) in [
        (outside.clone(), "does not lie inside"),
        (home.clone(), "does not lie inside"),
        (home.join("a/../../outside"), "does not lie inside"),
        (home.join("away"), "does not lie inside"),
        (home.join("away/deeper"), "does not lie inside"),
        (home.join("self"), "does not lie inside"),
        (home.join("dangling"), "is a link"),
        (home.join("dangling/x"), "is a link"),
        (home.join("file"), "is not a folder"),
    ] {
        let error = MemoryStore::open(&dir, home).unwrap_err().to_string();
        assert!(error.contains(said), "{}: {error}", dir.display());
    }
    assert_eq!(snapshot(&outside), BTreeMap::new());
}

/// MEM-5: links are resolved: home may be one, and so may the folder as long as it stays inside.
#[test]
fn links_that_stay_inside() {
    let world = World::new("memory-inside-home");
    let home = world.root.join("linked-home");
    symlink(&world.home, &home).unwrap();
    fs::create_dir(world.home.join("real")).unwrap();
    symlink("real", home.join("memory")).unwrap();
    let store = MemoryStore::open(&home.join("memory/deep/er"), &home).unwrap();
    let writer = Writer::new(&store, &|_| false);
    let applied =
        writer.apply(&[new("tea")], &sources(), &Based::default(), &Moment::parse(NOW).unwrap(), "r").unwrap();
    assert!(world.home.join("real/deep/er").join(&applied.files_changed[0]).is_file());
}

/// MEM-5: a link put there after the store was opened is seen at the next call.
#[test]
fn a_link_put_there_later() {
    let world = World::new("memory-later-link");
    let id = world.one("One");
    let outside = world.root.join("outside");
    fs::rename(world.home.join("memory"), &outside).unwrap();
    symlink(&outside, world.home.join("memory")).unwrap();
    let before = snapshot(&outside);
    assert!(matches!(world.store.entries(), Err(MemoryError::NotInHome { .. })));
    assert!(matches!(world.store.forget(id.as_str()), Err(MemoryError::NotInHome { .. })));
    let error = world.apply_based(&[new("tea")], &Based::default(), NOW, "r").unwrap_err();
    assert!(matches!(error, WriteError::Store(MemoryError::NotInHome { .. })), "{error}");
    assert_eq!(snapshot(&outside), before);
}

/// MEM-5: a category that is a link is a problem to readers, and stops writers before they write anything.
#[test]
fn a_category_that_is_a_link() {
    for inside in [true, false] {
        let world = World::new("memory-category-link");
        world.one("One");
        let target = if inside { world.home.join("elsewhere") } else { world.root.join("elsewhere") };
        fs::create_dir(&target).unwrap();
        symlink(&target, world.path("feedback")).unwrap();
        let before = snapshot(&world.root);
        for category in ["feedback", "user"] {
            let decision = Decision { category: Some(category.into()), ..new("tea") };
            let error = world.apply(&[decision]).unwrap_err().to_string();
            assert!(error.contains("feedback is a link"), "{error}");
        }
        assert_eq!(snapshot(&world.root), before);
        let listing = world.store.entries().unwrap();
        assert_eq!((listing.entries.len(), listing.problems.len()), (1, 1));
        assert!(listing.problems[0].to_string().starts_with("feedback: "), "{}", listing.problems[0]);
    }
}

/// MEM-5: a memory that became a link is not written through, and a second name of a file outside keeps its content.
#[test]
fn a_target_that_is_a_link() {
    let world = World::new("memory-target-link");
    let id = world.one("One");
    let based = world.store.entries().unwrap().based(PROJECT);
    let path = world.path(&world.entry(&id).path);
    let outside = world.root.join("outside.md");
    fs::rename(&path, &outside).unwrap();
    symlink(&outside, &path).unwrap();
    let before = snapshot(&world.root);
    let applied = world.apply_based(&[update(&id, "Other.")], &based, NOW, "r").unwrap();
    assert_eq!(applied.conflicted, [Conflicted { index: 0, id: id.clone() }]);
    assert!(!applied.is_complete());
    let mut after = snapshot(&world.root);
    // The list says what can be read.
    after.insert("home/memory/MEMORY.md".to_owned(), before["home/memory/MEMORY.md"].clone());
    assert_eq!(after, before);

    fs::remove_file(&path).unwrap();
    fs::hard_link(&outside, &path).unwrap();
    let applied = world.apply_based(&[update(&id, "Other.")], &based, NOW, "r").unwrap();
    assert_eq!(applied.updated, [id]);
    assert!(fs::read_to_string(&outside).unwrap().ends_with("\n\nOne.\n"));
}
