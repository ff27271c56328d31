use super::*;

const END: &str = "<!-- memories: end -->";

fn marked(text: &str) -> (String, String) {
    let begin = text.find("<!-- memories: begin").unwrap();
    let end = text.find(END).unwrap() + END.len();
    (text[..begin].to_owned(), text[end..].to_owned())
}

/// MEM-1: one line a memory, newest first, with all that helps to find it.
#[test]
fn lines() {
    let world = World::new("memory-catalog");
    world.one("Older");
    let decision = Decision {
        scope: Scope::Project,
        category: Some("feedback".into()),
        tags: vec!["a".into(), "b c".into()],
        summary: "Newer <!-- x".into(),
        ..new("n")
    };
    world.apply_at(&[decision], "2026-12-01T00:00:00Z", "r").unwrap();
    assert_eq!(
        world.read("MEMORY.md").lines().collect::<Vec<_>>(),
        [
            "# Memories",
            "",
            "<!-- memories: begin. Written anew from the files in user/, feedback/ and reference/: to change a memory, edit its file. -->",
            "- [mem_20261201000000_r](feedback/n-20261201-mem_20261201000000_r.md) feedback: Newer \\<!-- x; tags: a, b c; project: /home/me/project",
            "- [mem_20261130094143_r4nd](user/tea-20261130-mem_20261130094143_r4nd.md) user: Older; tags: tea",
            END,
        ]
    );
}

/// MEM-06: what a person wrote around the list is still there byte for byte, also when it was written after the decisions
/// were made.
#[test]
fn a_persons_text_stays() {
    for (before, after) in [
        ("", ""),
        ("# Mine\r\n\r\n", "\r\nno end of line"),
        ("\u{feff}a\n\n\n", "\n\n\n\nb\n"),
        ("", "\n<!-- memories: end -->\n"),
    ] {
        let world = World::new("memory-hand-text");
        let id = world.one("One");
        let based = world.store.entries().unwrap().based(PROJECT);
        let catalog = world.read("MEMORY.md");
        let generated = catalog
            .strip_prefix(
                "# Memories

",
            )
            .unwrap();
        world.write("MEMORY.md", format!("{before}{}{after}", generated.trim_end()));
        world.apply_based(&[update(&id, "New.")], &based, NOW, "r").unwrap();
        let text = world.read("MEMORY.md");
        assert!(text.contains("Another summary"));
        assert_eq!(marked(&text), (before.to_owned(), after.to_owned()));
    }
}

/// MEM-06: a catalog of a person's own, in any bytes, gets the list behind it, once.
#[test]
fn a_catalog_without_markers() {
    for mine in [
        b"" as &[u8],
        b"x",
        b"x\n",
        b"\xff\xfe\n\0",
        b"text\n<!-- memories: begin -->\nmore\n",
        b"<!-- memories: end -->\ny",
    ] {
        let world = World::new("memory-no-markers");
        world.write("MEMORY.md", mine);
        world.one("One");
        world.one("Two");
        let text = fs::read(world.path("MEMORY.md")).unwrap();
        assert!(text.starts_with(mine), "{:?}", String::from_utf8_lossy(&text));
        let rest = String::from_utf8(text[mine.len()..].to_vec()).unwrap();
        assert_eq!(
            (rest.matches("user: One").count(), rest.matches("user: Two").count(), rest.matches(END).count()),
            (1, 1, 1),
            "{rest}"
        );
    }
}

/// Files are the truth: a line that was removed or edited by hand comes back as the file says.
#[test]
fn the_list_is_made_anew() {
    let world = World::new("memory-anew");
    let id = world.one("One");
    let whole = world.read("MEMORY.md");
    for edited in [
        whole.replace("user: One", "user: Edited"),
        whole.lines().filter(|line| !line.contains("One")).map(|line| format!("{line}\n")).collect(),
    ] {
        world.write("MEMORY.md", edited);
        let decision = [Decision { summary: "One".into(), content: "One.".into(), ..new("same") }];
        let applied = world.apply(&decision).unwrap();
        assert_eq!((applied.duplicate, applied.files_changed), (vec![0], vec!["MEMORY.md".to_owned()]));
        assert_eq!(world.read("MEMORY.md"), whole);
    }
    // What a person changes in the file is in the list after the next write.
    let path = world.entry(&id).path;
    world.write(&path, world.read(&path).replace("summary: \"One\"", "summary: By hand"));
    world.one("Two");
    assert!(world.read("MEMORY.md").contains("user: By hand;"));
}

/// MEM-1: cut at its end when it is too long, with the number of what is missing.
#[test]
fn long_lists_are_cut() {
    let world = World::new("memory-long");
    for n in 0..800 {
        let id = format!("mem_20260102{n:06}_x");
        world.write(&format!("user/n-{id}.md"), file(&id, "").replace("By hand", &format!("{n} {}", "é".repeat(150))));
    }
    world.one("Newest");
    let text = world.read("MEMORY.md");
    let lines: Vec<_> = text.lines().collect();
    let shown = lines.iter().filter(|line| line.starts_with("- [mem_")).count();
    assert!(lines[3].contains("Newest"), "{}", lines[3]);
    assert!(text.len() < 66_000 && shown > 100, "{} {shown}", text.len());
    assert_eq!(lines[lines.len() - 2], format!("- … {} older memories are left out here", 801 - shown));
}

/// MEM-5: what a process that was killed between a memory and the catalog left is put right by the next write.
#[test]
fn the_next_write_repairs() {
    let world = World::new("memory-repair");
    world.one("One");
    let catalog = world.read("MEMORY.md");
    world.one("Two");
    world.write("MEMORY.md", catalog);
    world.write(".memory-draft.tmp", "half");
    world.write("user/.memory-draft.tmp", "half");
    world.one("Three");
    let text = world.read("MEMORY.md");
    assert!(["One", "Two", "Three"].iter().all(|summary| text.contains(&format!("user: {summary};"))), "{text}");
    assert_eq!(world.files().iter().filter(|path| path.ends_with(".tmp")).count(), 0);
}

/// A catalog that cannot be written is found out before a memory is.
#[test]
fn a_bad_catalog_stops_all() {
    type Make = fn(&World);
    let make: [(&str, Make); 3] = [
        ("regular file", |world| fs::create_dir_all(world.path("MEMORY.md")).unwrap()),
        ("larger than", |world| world.write("MEMORY.md", vec![b'a'; 1024 * 1024 + 1])),
        ("is a link", |world| {
            fs::create_dir_all(world.path("")).unwrap();
            fs::write(world.root.join("outside"), "x").unwrap();
            std::os::unix::fs::symlink(world.root.join("outside"), world.path("MEMORY.md")).unwrap();
        }),
    ];
    for (said, make) in make {
        let world = World::new("memory-bad-catalog");
        make(&world);
        let error = world.apply(&[new("tea")]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert!(!world.path("user").exists());
    }
}
