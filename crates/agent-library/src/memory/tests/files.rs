use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::memory::format;

/// MEM-1, MEM-12: layout and frontmatter of a new memory.
#[test]
fn a_new_file() {
    let world = World::new("memory-file");
    let decision = Decision { scope: Scope::Project, summary: "Says \"tea\": #1".into(), ..new("tea_time-2") };
    let applied = world.apply(&[decision]).unwrap();
    let path = "user/tea_time-2-20261130-mem_20261130094143_r4nd.md";
    assert_eq!(applied.files_changed, [path, "MEMORY.md"]);
    assert_eq!(
        world.read(path),
        "---\nid: \"mem_20261130094143_r4nd\"\ncategory: \"user\"\nsummary: \"Says \\\"tea\\\": #1\"\ntags: [\"tea\"]\n\
         created_at: \"2026-11-30T09:41:43.120Z\"\nupdated_at: \"2026-11-30T09:41:43.120Z\"\nsource_session_id: \"sess_1\"\n\
         source_node_ids: [\"n_user\"]\nproject: \"/home/me/project\"\n---\n\nThe user drinks tea.\n"
    );
    let entry = world.entry(&applied.created[0]);
    assert_eq!((entry.path.as_str(), entry.body.as_str()), (path, "The user drinks tea."));
    assert_eq!(entry.project.as_deref(), Some(PROJECT));
}

/// CFG-12: whatever the umask, only the owner can read; what a person opened up is closed when it is written.
#[test]
fn modes() {
    let write = |store: &MemoryStore, decision: Decision| {
        let based = store.entries().unwrap().based(PROJECT);
        let writer = Writer::new(store, &|_| false);
        writer.apply(&[decision], &sources(), &based, &Moment::parse(NOW).unwrap(), "r").unwrap()
    };
    if let Some(store) = store_of_the_parent() {
        write(&store, new("tea"));
        return;
    }
    for umask in ["000", "777"] {
        let world = World::new("memory-modes");
        assert!(child_of(&world, "files::modes", umask).status().unwrap().success());
        let mode = |path: &str| fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o7777;
        let entry = world.store.entries().unwrap().entries.remove(0);
        assert_eq!([mode(""), mode("user")], [0o700; 2], "{umask}");
        assert_eq!([mode(&entry.path), mode("MEMORY.md"), mode(".lock")], [0o600; 3], "{umask}");
        fs::set_permissions(world.path(&entry.path), fs::Permissions::from_mode(0o644)).unwrap();
        write(&world.store, update(&entry.id, "New text."));
        assert_eq!(mode(&entry.path), 0o600);
    }
}

fn entry(summary: String, tags: Vec<String>, project: Option<String>, body: &str) -> MemoryEntry {
    let now = Moment::parse(NOW).unwrap();
    let id = MemoryId::new(&now, "x").unwrap();
    MemoryEntry {
        path: format!("user/n-20261130-{id}.md"),
        category: MemoryCategory::User,
        source_session_id: summary.clone(),
        source_node_ids: tags.clone(),
        created_at: now.clone(),
        updated_at: now,
        body: body.trim().to_owned(),
        hash: String::new(),
        id,
        summary,
        tags,
        project,
    }
}

proptest! {
    /// MEM-1: a reader gets back exactly what was put in, and readers of YAML 1.1 take it as well.
    #[test]
    fn what_is_written_is_read(
        summary in any::<String>(), tags in prop::collection::vec("\\PC*|[\\p{C}\u{85}\u{2028}\u{feff}\\\\\"']{0,4}", 0..4),
        project in prop::option::of(any::<String>()), body in "(\\PC|\n|---\n){0,60}",
    ) {
        let entry = entry(summary, tags, project, &body);
        let text = format::new_text(&entry);
        let read = MemoryEntry::read(entry.category, entry.path.clone(), text.as_bytes());
        prop_assert_eq!(read.map(|read| MemoryEntry { hash: String::new(), ..read }), Ok(entry));
        let head = text.split("\n---\n").next().unwrap();
        prop_assert_eq!(head.lines().count(), 10);
        let is_printable = |c: char| matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        let is_taken = |c| c == '\n' || (is_printable(c) && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'));
        prop_assert_eq!(head.chars().find(|c| !is_taken(*c)), None);
    }
}

/// What a person added stays as they wrote it.
#[test]
fn unknown_keys_stay() {
    for (more, kept) in [
        ("mine: 1\n", "mine: 1\n"),
        (
            "# Why: asked\nmine:\n  - a\n  - {b: 'c'}\n\nyours: |\n  id: x\n  two\n",
            "# Why: asked\nmine:\n  - a\n  - {b: 'c'}\n\nyours: |\n  id: x\n  two\n",
        ),
        ("tags:\n- a\n- b\nmine: \"x\"\n", "mine: \"x\"\n"),
        ("project: >\n  folded\n\n  more\n'mine' : y # z\n", "'mine' : y # z\n"),
        ("mine: x\r\n", "mine: x\r\n"),
        ("", ""),
    ] {
        let world = World::new("memory-unknown-keys");
        let id = MemoryId::parse("mem_20260102030405_x").unwrap();
        let path = format!("user/by-hand-{id}.md");
        // A project of another name would hide it.
        let text = file(id.as_str(), more);
        world.write(&path, &text);
        let based =
            Based(world.store.entries().unwrap().entries.iter().map(|e| (e.id.clone(), e.hash.clone())).collect());
        let before = world.entry(&id);
        if before.project.is_some() {
            // Not visible here, so it is not changed; how its file would be written is what counts.
            let after = MemoryEntry { summary: "New".into(), ..before };
            assert!(format::updated_text(&text, &after).unwrap().contains(&format!("\n{kept}---\n")), "{more}");
            continue;
        }
        let decision = Decision {
            action: Action::Conflict,
            source_node_ids: vec!["n_user2".into(), "n_user2".into(), "no".into()],
            ..update(&id, "Other.")
        };
        let applied = world.apply_based(&[decision], &based, NOW, "r").unwrap();
        assert_eq!(applied.conflict, std::slice::from_ref(&id), "{more}: {applied:?}");
        assert_eq!(applied.source_node_ids, ["n_user2"]);
        let text = world.read(&path);
        assert!(text.contains(&format!("project: null\n{kept}---\n\nOther.\n")), "{text}");
        let after = world.entry(&id);
        // MEM-5: id, path and time of creation stay, content and sources are replaced.
        assert_eq!((&after.path, &after.created_at), (&before.path, &before.created_at));
        assert_eq!((after.body.as_str(), after.summary.as_str()), ("Other.", "Another summary"));
        assert_eq!((after.source_node_ids, after.source_session_id.as_str()), (vec!["n_user2".to_owned()], "sess_1"));
        assert_eq!(after.updated_at.as_str(), NOW);
    }
}

/// Frontmatter that cannot be changed without risk is left alone.
#[test]
fn odd_frontmatter_is_left_alone() {
    let world = World::new("memory-odd");
    let id = MemoryId::parse("mem_20260102030405_x").unwrap();
    let path = format!("user/n-{id}.md");
    for text in [
        file(id.as_str(), "mine: *a\n").replace("By hand", "&a By hand"),
        "---\n{id: mem_20260102030405_x, category: user, summary: s, created_at: 2026-01-02T03:04:05Z, updated_at: 2026-01-02T03:04:05Z, \
         source_session_id: s, source_node_ids: [n], mine: 1}\n---\nx\n".to_owned(),
    ] {
        world.write(&path, &text);
        let applied = world.apply(&[update(&id, "Other.")]).unwrap();
        assert_eq!(applied.refused, [Refused { index: 0, why: Refusal::Unwritable(id.clone()) }]);
        assert_eq!(world.read(&path), text);
    }
}

/// What is broken or foreign is listed with its place, and keeps nobody from reading the rest.
#[test]
fn broken_files_are_listed() {
    let world = World::new("memory-broken");
    let good = world.one("Good");
    let id = "mem_20260102030405_x";
    let outside = world.root.join("outside.md");
    fs::write(&outside, file(id, "")).unwrap();
    world.write("user/a-mem_20260102030405_x.md", "no frontmatter");
    world.write("user/b-mem_20260102030405_x.md", "---\nid: x\n");
    world.write("user/c-mem_20260102030405_x.md", "---\nid: mem_20260102030405_x\ncategory: User\n---\n");
    world.write("user/d-mem_20260102030405_x.md", "---\nid: mem_20260102030405_x\nsummary: a: b\n---\n");
    world.write("user/e-other.md", file(id, ""));
    world.write("feedback/f-mem_20260102030405_x.md", file(id, ""));
    world.write("user/g-mem_20260102030405_x.md", b"---\nid: \xff\n---\n");
    world.write("user/h-mem_20260102030405_x.md", vec![b'a'; 64 * 1024 + 1]);
    world.write("user/notes.txt", "x");
    world.write("user/Upper.md", "x");
    fs::create_dir(world.path("user/folder.md")).unwrap();
    symlink(&outside, world.path("user/link-mem_20260102030405_x.md")).unwrap();
    mknodat(CWD, world.path("user/pipe.md"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    world.write("user/.hidden.md", "x");
    world.write("user/backup.md~", "x");
    world.write("user/copy-of.md", "---\nid: x\n---\n");
    let copy = format!("user/zz-{good}.md");
    world.write(&copy, world.read(&world.entry(&good).path));

    let listing = world.store.entries().unwrap();
    assert_eq!(listing.entries.iter().map(|entry| &entry.id).collect::<Vec<_>>(), [&good]);
    let problems: Vec<_> = listing.problems.iter().map(ToString::to_string).collect();
    for (path, said) in [
        ("user/a-mem_20260102030405_x.md:1:1", "no frontmatter"),
        ("user/b-mem_20260102030405_x.md:1:1", "closes"),
        ("user/c-mem_20260102030405_x.md:3:11", "\"feedback\""),
        ("user/d-mem_20260102030405_x.md:3:", ""),
        ("user/e-other.md", "-mem_20260102030405_x.md"),
        ("feedback/f-mem_20260102030405_x.md", "lies in feedback/"),
        ("user/g-mem_20260102030405_x.md:2", "UTF-8"),
        ("user/h-mem_20260102030405_x.md", "larger than 65536 bytes"),
        ("user/notes.txt", "named"),
        ("user/Upper.md", "named"),
        ("user/folder.md", "regular file"),
        ("user/link-mem_20260102030405_x.md", "link"),
        ("user/pipe.md", "regular file"),
        ("user/copy-of.md:2:5", "must look like"),
        (copy.as_str(), "same id"),
    ] {
        let found = problems.iter().filter(|problem| problem.starts_with(path) && problem.contains(said)).count();
        assert_eq!(found, 1, "{path} {said}: {problems:#?}");
    }
    assert_eq!(problems.len(), 15, "{problems:#?}");
}

/// Newest created first, whatever folder, name or update.
#[test]
fn order() {
    let world = World::new("memory-order");
    let at = |day: &str, category: &str| {
        let decision = Decision { category: Some(category.into()), summary: day.into(), ..new("n") };
        world.apply_at(&[decision], &format!("2026-11-{day}T00:00:00Z"), "r").unwrap().created[0].clone()
    };
    let (two, three, one) = (at("02", "feedback"), at("03", "user"), at("01", "reference"));
    world.apply_at(&[update(&one, "New.")], "2026-12-01T00:00:00Z", "r").unwrap();
    let ids: Vec<_> = world.store.entries().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [three, two, one]);
}

/// More files than are read: the listing says so, and no more are made.
#[test]
fn too_many_files() {
    let world = World::new("memory-many");
    for n in 0..5_001 {
        world.write(&format!("user/n-mem_20260102030405_x{n}.md"), "");
    }
    let listing = world.store.entries().unwrap();
    assert!(listing.is_cut);
    assert_eq!(listing.problems.len(), 5_001);
    let applied = world.apply(&[new("one-more")]).unwrap();
    assert_eq!(applied.refused, [Refused { index: 0, why: Refusal::Full(5_000) }]);
    fs::remove_dir_all(world.path("user")).unwrap();
}

/// Forgetting removes the file, then the line.
#[test]
fn forgetting() {
    let world = World::new("memory-forget");
    let (gone, kept) = (world.one("Gone"), world.one("Kept"));
    world.write("MEMORY.md", format!("Mine.\n{}", world.read("MEMORY.md")));
    let forgotten = world.store.forget(gone.as_str()).unwrap();
    assert_eq!((&forgotten.id, forgotten.summary.as_str()), (&gone, "Gone"));
    assert!(!world.path(&forgotten.path).exists());
    let catalog = world.read("MEMORY.md");
    assert!(catalog.starts_with("Mine.\n") && catalog.contains("Kept") && !catalog.contains("Gone"), "{catalog}");
    assert!(matches!(world.store.forget(gone.as_str()), Err(MemoryError::NotFound { near, .. }) if near == [kept]));
}

/// A copy does not come back as what was forgotten.
#[test]
fn copies_are_forgotten_too() {
    let world = World::new("memory-forget-copies");
    let id = world.one("Gone");
    let text = world.read(&world.entry(&id).path);
    world.write(&format!("user/aa-{id}.md"), &text);
    world.write(&format!("user/zz-{id}.md"), &text);
    world.store.forget(id.as_str()).unwrap();
    assert_eq!(world.store.entries().unwrap(), MemoryListing::default());
    assert!(!world.read("MEMORY.md").contains("Gone"));
}

/// A question makes nothing.
#[test]
fn nothing_is_made_by_reading() {
    let world = World::new("memory-reading");
    assert_eq!(world.store.entries().unwrap(), MemoryListing::default());
    assert!(matches!(world.store.forget("mem_20261130"), Err(MemoryError::NotFound { .. })));
    let idle = [Decision { action: Action::Ignore, ..new("../x") }, Decision { action: Action::Duplicate, ..new("") }];
    let applied = world.apply(&idle).unwrap();
    assert_eq!((applied.ignored, applied.duplicate), (vec![0], vec![1]));
    assert!(!world.home.join("memory").exists());
}
