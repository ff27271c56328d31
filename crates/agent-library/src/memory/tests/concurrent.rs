use std::{sync::Barrier, thread, time::Duration};

use super::*;
use crate::memory::folder::Folder;
use crate::memory::lock;

const ROUNDS: usize = 50;
/// What one of several writers does: new memories, each based on what was there before, and an update of its own one.
fn extract(store: &MemoryStore, who: &str) {
    let own = format!("Own of {who}");
    for round in 0..ROUNDS {
        let listing = store.entries().unwrap();
        let mut decisions =
            vec![Decision { summary: format!("{who} {round}"), content: format!("{who} {round}"), ..new(who) }];
        match listing.entries.iter().find(|entry| entry.summary.starts_with(&own)) {
            Some(entry) => {
                decisions.push(Decision { summary: format!("{own} {round}"), ..update(&entry.id, &format!("{round}")) })
            }
            None => {
                decisions.push(Decision { summary: format!("{own} {round}"), content: format!("{round}"), ..new(who) })
            }
        }
        // All write within one second, with one random part.
        let applied = Writer::new(store, &|_| false)
            .apply(&decisions, &sources(), &listing.based(PROJECT), &Moment::parse(NOW).unwrap(), &format!("{round}"))
            .unwrap();
        assert_eq!((applied.created.len() + applied.updated.len(), applied.is_complete()), (2, true), "{applied:?}");
    }
}

fn check(world: &World, writers: &[&str]) {
    let listing = world.store.entries().unwrap();
    assert_eq!(listing.problems, []);
    assert_eq!(listing.entries.len(), writers.len() * (ROUNDS + 1));
    let catalog = world.read("MEMORY.md");
    for who in writers {
        for round in 0..ROUNDS {
            assert!(listing.entries.iter().any(|entry| entry.body == format!("{who} {round}")), "{who} {round}");
        }
        let own: Vec<_> =
            listing.entries.iter().filter(|entry| entry.summary.starts_with(&format!("Own of {who}"))).collect();
        assert_eq!(own.len(), 1);
        assert_eq!(own[0].body, format!("{}", ROUNDS - 1));
    }
    for entry in &listing.entries {
        assert_eq!(catalog.matches(&format!("[{}]", entry.id)).count(), 1, "{}", entry.id);
    }
}

/// MEM-07: two that extract at once, 50 times, lose nothing.
#[test]
fn two_threads() {
    let world = World::new("memory-threads");
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for who in ["a", "b"] {
            let (start, home) = (&start, &world.home);
            scope.spawn(move || {
                let store = MemoryStore::open(&home.join("memory"), home).unwrap();
                start.wait();
                extract(&store, who);
            });
        }
    });
    check(&world, &["a", "b"]);
}

/// MEM-07: the same with a second process.
#[test]
fn two_processes() {
    if let Some(store) = store_of_the_parent() {
        return extract(&store, "child");
    }
    let world = World::new("memory-processes");
    let mut child = child_of(&world, "concurrent::two_processes", "077").spawn().unwrap();
    extract(&world.store, "parent");
    assert!(child.wait().unwrap().success());
    check(&world, &["child", "parent"]);
}

/// MEM-07: who waits too long is told whom for; readers do not wait.
#[test]
fn a_lock_that_is_held() {
    let world = World::new("memory-locked");
    let id = world.one("One");
    let memory = Folder::memory(&world.home, &world.home.join("memory"), false).unwrap().unwrap();
    let held = lock::take(&memory, Duration::ZERO).unwrap();
    let store = world.store.clone().with_lock_wait(Duration::from_millis(30));
    let error = store.forget(id.as_str()).unwrap_err();
    assert!(matches!(error, MemoryError::Busy { waited_ms: 30, .. }), "{error}");
    assert!(error.to_string().contains("memory/.lock was locked by another process"), "{error}");
    assert_eq!(store.entries().unwrap().entries.len(), 1);
    drop(held);
    store.forget(id.as_str()).unwrap();
}

/// A lock on a file that somebody removed keeps nobody out, so it is not taken for one.
#[test]
fn a_lock_that_was_removed() {
    let world = World::new("memory-lock-removed");
    let memory = Folder::memory(&world.home, &world.home.join("memory"), true).unwrap().unwrap();
    let held = lock::take(&memory, Duration::ZERO).unwrap();
    fs::remove_file(world.path(".lock")).unwrap();
    let second = lock::take(&memory, Duration::ZERO).unwrap();
    drop(held);
    assert!(matches!(lock::take(&memory, Duration::ZERO), Err(MemoryError::Busy { .. })));
    drop(second);
}
