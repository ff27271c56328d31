use super::*;

/// FND-47, MEM-01: a decision with a bad name is left out, the others are applied, and the cursor stays.
#[test]
fn names_that_are_no_safe_component() {
    let long = "a".repeat(300);
    let bad = [
        "../escape",
        "/etc/x",
        "a/b",
        "..\\x",
        "user/../../x",
        ".",
        "..",
        "",
        "CON",
        "con",
        "nul",
        "com1",
        "lpt0",
        "x\0",
        &long,
        &"a".repeat(49),
        "MEMORY",
        "e\u{301}",
        "\u{e9}",
        "a b",
        "a.md",
        "a\n",
        "A",
        "～",
        "a:b",
        "a%2f",
    ];
    let world = World::new("memory-names");
    let before = snapshot(&world.root);
    for name in bad {
        let decisions = [new("good"), new(name)];
        let applied = world.apply(&decisions).unwrap();
        assert!(matches!(&applied.misplaced[..], [Misplaced { index: 1, why: PlaceError::Name(_) }]), "{name:?}");
        assert!(!applied.is_complete(), "{name:?}: the cursor stays");
        // The good one was written, at first; then it is there already.
        assert_eq!(applied.created.len() + applied.duplicate.len(), 1, "{name:?}: {applied:?}");
        let after = snapshot(&world.root);
        let is_new = |path: &&String| !before.contains_key(*path);
        assert!(after.keys().filter(is_new).all(|path| path.starts_with("home/")), "{name:?}: {:?}", after.keys());
        assert_eq!(world.store.entries().unwrap().entries.len(), 1, "{name:?}");
    }
    let nameless = world.apply(&[Decision { name: None, ..new("") }]).unwrap();
    assert!(matches!(&nameless.misplaced[..], [Misplaced { index: 0, why: PlaceError::Name(_) }]));
    for (n, name) in ["a", "-", "_", "com", "com10", "console", "0", &"a".repeat(48)].iter().enumerate() {
        let decision = Decision { summary: format!("{n}"), ..new(name) };
        let path = &world.apply(&[decision]).unwrap().files_changed[0];
        assert!(
            path.starts_with(&format!("user/{name}-20261130-mem_20261130094143_")) && path.ends_with(".md"),
            "{path}"
        );
    }
}

/// FND-47, MEM-02: a decision with a category outside of the list is left out, also one that would stay where it is; the others are
/// applied.
#[test]
fn categories_that_are_none() {
    let world = World::new("memory-categories");
    let id = world.one("One");
    for category in ["../outside/proof", "project", "User", "", "user/x", "user\0"] {
        // Of one that stays where it is, no word at all is fine.
        for decision in [new("tea"), update(&id, "Other.")].into_iter().take(if category.is_empty() { 1 } else { 2 }) {
            let bad = Decision { category: Some(category.into()), ..decision };
            let applied = world.apply(&[bad, new("good")]).unwrap();
            assert!(
                matches!(&applied.misplaced[..], [Misplaced { index: 0, why: PlaceError::Category(_) }]),
                "{category:?}"
            );
            assert!(!applied.is_complete() && applied.updated.is_empty(), "{category:?}: {applied:?}");
        }
        assert_eq!(world.store.entries().unwrap().entries.len(), 2, "{category:?}: the good one beside what was there");
    }
    let none = world.apply(&[Decision { category: None, ..new("tea") }]).unwrap();
    assert!(matches!(&none.misplaced[..], [Misplaced { index: 0, why: PlaceError::Category(_) }]));
    let wordless = Decision { category: Some(String::new()), name: Some(String::new()), ..update(&id, "Other.") };
    assert_eq!(world.apply(&[wordless]).unwrap().updated, [id]);
}

/// MEM-10: what became of each decision.
#[test]
fn every_outcome_is_told() {
    let world = World::new("memory-outcomes");
    let two = [Decision { summary: "A".into(), ..new("a") }, Decision { summary: "B".into(), ..new("b") }];
    let [a, b] = <[MemoryId; 2]>::try_from(world.apply(&two).unwrap().created).unwrap();
    let decisions = [
        Decision { action: Action::Ignore, ..new("x") },
        Decision { summary: "C".into(), source_node_ids: vec!["n_user2".into(), "n_tool".into()], ..new("c") },
        Decision { action: Action::Duplicate, memory_id: Some(a.to_string()), ..new("x") },
        update(&a, "A, but more."),
        Decision { action: Action::Conflict, ..update(&b, "Not B.") },
        Decision { summary: "A".into(), content: "A, but more.".into(), ..new("x") },
        Decision { summary: "Another summary".into(), content: " A, but more.\n".into(), ..new("x") },
        update(&a, "Once more."),
        update(&MemoryId::parse("mem_20200101000000_x").unwrap(), "Whose?"),
        Decision { memory_id: None, ..update(&a, "Whose?") },
    ];
    let applied = world.apply_at(&decisions, "2026-12-01T00:00:00Z", "r").unwrap();
    let path = |id: &MemoryId| world.entry(id).path;
    assert_eq!(applied.created.len(), 2);
    let (c, again) = (&applied.created[0], &applied.created[1]);
    assert_eq!(
        applied,
        Applied {
            created: vec![c.clone(), again.clone()],
            updated: vec![a.clone()],
            conflict: vec![b.clone()],
            ignored: vec![0],
            duplicate: vec![2, 6],
            conflicted: vec![],
            misplaced: Vec::new(),
            refused: vec![
                Refused { index: 7, why: Refusal::Twice(a.clone()) },
                Refused { index: 8, why: Refusal::UnknownMemory },
                Refused { index: 9, why: Refusal::UnknownMemory },
            ],
            source_node_ids: vec!["n_user2".into(), "n_user".into()],
            files_changed: vec![path(c), path(&a), path(&b), path(again), "MEMORY.md".into()],
        }
    );
    assert!(applied.is_complete());
    assert_eq!(world.entry(c).source_node_ids, ["n_user2"]);
}

/// MEM-12: what is somebody else's is neither changed nor taken for the same, and nothing gets wider by an update.
#[test]
fn projects_are_kept_apart() {
    let world = World::new("memory-projects");
    let mine = world.apply(&[Decision { scope: Scope::Project, ..new("mine") }]).unwrap().created[0].clone();
    let everywhere = world.apply(&[Decision { summary: "E".into(), ..new("all") }]).unwrap().created[0].clone();
    let listing = world.store.entries().unwrap();
    let elsewhere = Sources { project: "/other".into(), ..sources() };
    let writer = Writer::new(&world.store, &|_| false);
    let now = Moment::parse(NOW).unwrap();
    let decisions = [
        update(&mine, "Theirs."),
        Decision { scope: Scope::Project, ..update(&everywhere, "Theirs.") },
        Decision { scope: Scope::Project, ..new("mine") },
    ];
    // Even if a caller shows them.
    for based in [listing.based("/other"), listing.based(PROJECT)] {
        let applied = writer.apply(&decisions[..2], &elsewhere, &based, &now, "x").unwrap();
        let refused: Vec<_> = applied.refused.into_iter().map(|refused| refused.why).collect();
        assert_eq!(refused, [Refusal::UnknownMemory, Refusal::Wider(everywhere.clone())]);
    }
    let applied = writer.apply(&decisions[2..], &elsewhere, &Based::default(), &now, "x").unwrap();
    assert_eq!(world.entry(&applied.created[0]).project.as_deref(), Some("/other"));
    // An update that claims to hold everywhere does not make it so.
    world.apply(&[update(&mine, "More.")]).unwrap();
    assert_eq!(world.entry(&mine).project.as_deref(), Some(PROJECT));
}

/// MEM-07: who changed or removed a memory meanwhile keeps what they wrote.
#[test]
fn changed_meanwhile() {
    let world = World::new("memory-meanwhile");
    let (edited, removed) = (world.one("Edited"), world.one("Removed"));
    let based = world.store.entries().unwrap().based(PROJECT);
    let path = world.entry(&edited).path;
    let text = world.read(&path).replace("Edited.", "By hand.");
    world.write(&path, &text);
    fs::remove_file(world.path(&world.entry(&removed).path)).unwrap();
    let decisions =
        [update(&edited, "Other."), update(&removed, "Other."), Decision { summary: "N".into(), ..new("n") }];
    let applied = world.apply_based(&decisions, &based, NOW, "r").unwrap();
    assert_eq!(applied.conflicted, [Conflicted { index: 0, id: edited }, Conflicted { index: 1, id: removed }]);
    assert_eq!((applied.updated.len(), applied.created.len(), applied.is_complete()), (0, 1, false));
    assert_eq!(world.read(&path), text);
}

/// What a model answers is read as it writes it.
#[test]
fn decisions_as_models_write_them() {
    let text = r#"{"source_node_ids":["n"],"content":"c","category":"user","scope":"user","action":"new","memory_id":null,"name":"a","summary":"s","tags":["t"],"more":1}"#;
    let decision: Decision = serde_json::from_str(text).unwrap();
    assert_eq!((decision.action, decision.scope, decision.memory_id), (Action::New, Scope::User, None));
    let short = r#"{"action":"ignore","name":null,"tags":null,"summary":null,"scope":null}"#;
    let decision: Decision = serde_json::from_str(short).unwrap();
    assert_eq!((decision.action, decision.scope, decision.tags.len()), (Action::Ignore, Scope::Project, 0));
    for bad in [r#"{"action":"delete"}"#, r#"{"action":"New"}"#, r#"{}"#, r#"{"action":"new","scope":"all"}"#] {
        assert!(serde_json::from_str::<Decision>(bad).is_err(), "{bad}");
    }
}

#[test]
fn bounds_of_a_batch() {
    let world = World::new("memory-bounds");
    let many: Vec<_> = (0..65).map(|n| Decision { summary: format!("{n}"), ..new("n") }).collect();
    assert!(matches!(world.apply(&many), Err(WriteError::TooMany { found: 65, limit: 64 })));
    for bad in ["", "A", "../x", &"a".repeat(31)] {
        assert!(matches!(world.apply_at(&many[..1], NOW, bad), Err(WriteError::Rand { .. })), "{bad}");
    }
    let created = world.apply_at(&many[..64], NOW, &"a".repeat(30)).unwrap().created;
    assert_eq!(created.len(), 64);
    assert_eq!(world.store.entries().unwrap().entries.len(), 64);
}
