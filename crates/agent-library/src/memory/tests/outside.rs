use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

/// A tree in which much leads out of the memory folder.
fn hostile(world: &World, linked: u8) -> MemoryId {
    let outside = world.root.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), file("mem_20260102030405_x", "")).unwrap();
    fs::write(world.home.join("config.toml"), "x").unwrap();
    let id = world.one("One");
    world.write("MEMORY.md", format!("Mine\n\n{}", world.read("MEMORY.md")));
    world.write("notes.txt", "mine");
    world.write("other/n.md", "mine");
    world.write("user/n.txt", "mine");
    symlink(outside.join("secret.md"), world.path("user/l-mem_20260102030405_x.md")).unwrap();
    symlink(&outside, world.path("user/sub")).unwrap();
    symlink(outside.join("new.md"), world.path("user/a-20261130-mem_20261130094143_r.md")).unwrap();
    fs::hard_link(outside.join("secret.md"), world.path("user/h-mem_20260102030405_x.md")).unwrap();
    symlink(outside.join("draft"), world.path("user/.memory-draft.tmp")).unwrap();
    match linked {
        0 => symlink(&outside, world.path("feedback")).unwrap(),
        1 => fs::write(world.path("feedback"), "a file").unwrap(),
        _ => {}
    }
    id
}

fn decision(id: MemoryId) -> impl Strategy<Value = Decision> {
    let word = || {
        prop_oneof![
            4 => "[a-z]{1,4}",
            1 => prop::sample::select(vec!["", ".", "..", "../x", "/tmp/x", "sub", "sub/x", "a", ".lock", "MEMORY", "MEMORY.md", "con", "x\0", "e\u{301}", "..\\x"])
                .prop_map(str::to_owned),
            1 => any::<String>(),
        ]
    };
    let ids =
        vec![id.to_string(), "mem_20260102030405_x".to_owned(), "../x".to_owned(), "mem_20261130094143_r".to_owned()];
    let category = prop_oneof![
        6 => prop::sample::select(vec!["user", "feedback", "reference"]),
        1 => prop::sample::select(vec!["other", "..", "User", "", "user/sub", "user/../.."]),
    ];
    let action = prop::sample::select(vec![
        Action::New,
        Action::New,
        Action::Update,
        Action::Conflict,
        Action::Duplicate,
        Action::Ignore,
    ]);
    let source = prop::sample::select(vec!["n_user", "n_user", "n_model", "no", "../x"]);
    (action, prop::option::of(prop::sample::select(ids)), category, word(), word(), any::<bool>(), source, word())
        .prop_map(|(action, memory_id, category, name, text, everywhere, source, tag)| Decision {
            action,
            memory_id,
            category: Some(category.to_owned()),
            name: Some(name),
            summary: text.clone(),
            tags: vec![tag],
            content: text,
            source_node_ids: vec![source.to_owned()],
            scope: if everywhere { Scope::User } else { Scope::Project },
        })
}

/// What the writer may make or change.
fn is_ours(path: &str) -> bool {
    let Some(path) = path.strip_prefix("home/memory/") else { return false };
    let stem = ["user/", "feedback/", "reference/"]
        .iter()
        .find_map(|folder| path.strip_prefix(folder))
        .and_then(|name| name.strip_suffix(".md"));
    let is_memory =
        stem.is_some_and(|stem| stem.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c)));
    is_memory || ["MEMORY.md", "user", "feedback", "reference", "user/.memory-draft.tmp"].contains(&path)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// MEM-5, MEM-01: whatever a model says, nothing but memories and the catalog is made or changed, and what is no
    /// memory stays as it is even among them.
    #[test]
    fn nothing_outside_is_touched(
        linked in 0_u8..4,
        decisions in prop::collection::vec(decision(MemoryId::parse("mem_20261130094143_r4nd").unwrap()), 1..8),
    ) {
        let world = World::new("memory-hostile");
        hostile(&world, linked);
        let based = world.store.entries().unwrap().based(PROJECT);
        let before = snapshot(&world.root);
        let done = world.apply_based(&decisions, &based, NOW, "r");
        let after = snapshot(&world.root);
        let changed: Vec<_> = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
        for path in &changed {
            prop_assert!(is_ours(path), "{path} changed: {done:?}");
            let was_link = before.get(*path).is_some_and(|state| state.contains("link "));
            prop_assert!(!was_link || path.ends_with(".tmp"), "{path}");
        }
        if let Ok(applied) = &done {
            // FND-47: one that has no place keeps no other from being applied.
            prop_assert_eq!(applied.is_complete(), applied.misplaced.is_empty() && applied.conflicted.is_empty());
            let written = applied.created.len() + applied.updated.len() + applied.conflict.len();
            let told = applied.ignored.len() + applied.duplicate.len() + applied.conflicted.len() + applied.refused.len();
            prop_assert_eq!(written + told + applied.misplaced.len(), decisions.len());
            for path in &applied.files_changed {
                prop_assert!(changed.contains(&&format!("home/memory/{path}")), "{path}");
            }
            let listing = world.store.entries().unwrap();
            for id in applied.created.iter().chain(&applied.updated).chain(&applied.conflict) {
                prop_assert!(listing.entries.iter().any(|entry| entry.id == *id), "{id}");
            }
        }
        prop_assert!(world.read("MEMORY.md").starts_with("Mine\n\n"));
        fs::remove_dir_all(&world.root).unwrap();
    }
}
