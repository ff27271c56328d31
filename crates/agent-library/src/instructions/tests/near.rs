//! Files that are nearly instruction files.

use super::*;

fn misses(world: &World) -> Vec<String> {
    let catalog = InstructionCatalog::scan(&world.places, ScanLimits::default());
    catalog.near_misses().iter().map(ToString::to_string).collect()
}

/// FND-70: each file whose name is one of the two but for its case is named once, wherever instruction files are looked for.
#[test]
fn names_in_other_letters() {
    for name in ["AGENTS.MD", "agents.md", "Agents.md", "CLAUDE.MD", "claude.md", "Claude.md"] {
        for folder in ["project", "project/a/b", "user/.soong-agent"] {
            let misses = misses(&World::new("near-names").files(&[&format!("{folder}/{name}")]));
            let [miss] = misses.as_slice() else { panic!("{folder}/{name}: {misses:?}") };
            let meant = name.to_uppercase().replace(".MD", ".md");
            let shown = format!("{folder}/{name}").replace("project/", "").replace("user/", "~/");
            assert!(miss.starts_with(&format!("{shown}: is not read")) && miss.contains(&meant), "{miss}");
        }
    }
    let rule = misses(&World::new("near-rule").files(&["user/.soong-agent/rules/a.MD"]));
    assert!(rule.len() == 1 && rule[0].contains("rules/a.MD") && rule[0].contains(".md"), "{rule:?}");
    let right = [
        "project/AGENTS.md",
        "project/a/CLAUDE.md",
        "project/README.MD",
        "project/AGENT.md",
        "user/.soong-agent/rules/a.md",
    ];
    assert_eq!(misses(&World::new("near-none").files(&right)), Vec::<String>::new());
}

/// FND-70: of a tree full of wrong names a few are named.
#[test]
fn many_of_them() {
    let paths: Vec<String> = (0..60).map(|n| format!("project/{n}/agents.md")).collect();
    let world = World::new("near-many").files(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(misses(&world).len(), 20);
}

/// FND-70: a file that only names the one beside it hides that one; one with something to say, a link, or one alone does not.
#[test]
fn one_that_hides_the_other() {
    let pointing = ["@AGENTS.md", "See AGENTS.md.\n", "---\ntitle: x\n---\n\nRead [AGENTS.md](AGENTS.md) first.\n"];
    for (text, other, hides) in pointing.iter().map(|text| (*text, true, true)).chain([
        ("See AGENTS.md.", false, false),
        ("Use tabs.", true, false),
        (&*format!("AGENTS.md has more. {}", "Use tabs. ".repeat(40)), true, false),
    ]) {
        let world = World::new("near-hides");
        write(&world.project().join("CLAUDE.md"), text);
        if other {
            write(&world.project().join("AGENTS.md"), "Be kind.\n");
        }
        let misses = misses(&world);
        assert_eq!(misses.len(), usize::from(hides), "{text:?}: {misses:?}");
        assert!(misses.iter().all(|miss| miss.starts_with("CLAUDE.md: only names AGENTS.md")), "{misses:?}");
    }
    let world = World::new("near-link").files(&["project/AGENTS.md"]);
    world.link("project/CLAUDE.md", "AGENTS.md");
    write(&world.project().join("AGENTS.md"), "See AGENTS.md");
    assert_eq!(misses(&world), Vec::<String>::new());
}

/// FND-70: a file of which only the beginning is read is named with its size.
#[test]
fn a_long_one() {
    let world = World::new("near-long");
    write(&world.project().join("AGENTS.md"), &"x".repeat(2_000_000));
    write(&world.project().join("a/AGENTS.md"), &"x".repeat(256 * 1024));
    let misses = misses(&world);
    assert!(misses.len() == 1 && misses[0].starts_with("AGENTS.md: has 2000000 bytes"), "{misses:?}");
}

/// FND-70, INS-1: what has the name of an instruction file, or of a rule, and is none is told once, opened never, and hides nothing: a
/// folder, a pipe, a link to nothing, out of its root, to a folder or to a pipe.
#[test]
fn what_is_no_file_is_told() {
    type Make = fn(&World, &str);
    let kinds: [(&str, Make); 6] = [
        ("folder", |world, at| std::fs::create_dir_all(world.root.join(at)).unwrap()),
        ("pipe", |world, at| pipe(&world.root.join(at))),
        ("link to nothing", |world, at| world.link(at, "gone.md")),
        ("link out", |world, at| world.link(at, "/etc/hostname")),
        ("link to a folder", |world, at| world.link(at, ".")),
        ("link to a pipe", |world, at| {
            pipe(&world.root.join("user/pipe"));
            world.link(at, world.root.join("user/pipe").to_str().unwrap());
        }),
    ];
    for place in
        ["project/AGENTS.md", "project/a/CLAUDE.md", "user/.soong-agent/AGENTS.md", "user/.soong-agent/rules/a.md"]
    {
        for (kind, make) in kinds {
            let world = World::new("near-no-file").files(&["project/a/x", "user/.soong-agent/rules/b.md"]);
            make(&world, place);
            let catalog = InstructionCatalog::scan(&world.places, ScanLimits::default());
            let told: Vec<_> =
                catalog.problems().filter(|line| line.contains(place.rsplit('/').next().unwrap())).collect();
            assert_eq!(told.len(), 1, "{place} as {kind}: {told:?}");
            assert_eq!(catalog.entries().len(), 1, "{place} as {kind}");
        }
    }
    let world = World::new("near-linked-rules");
    std::fs::create_dir_all(world.root.join("user/elsewhere")).unwrap();
    world.link("user/.soong-agent/rules", world.root.join("user/elsewhere").to_str().unwrap());
    let misses = misses(&world);
    assert!(misses.len() == 1 && misses[0].contains("rules: is not read: it is a link"), "{misses:?}");
}

fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
