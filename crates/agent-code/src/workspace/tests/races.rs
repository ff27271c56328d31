//! Somebody swaps files, folders and links while tools look and act (COD-1).

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::{
    edit_file::EditFile,
    list_dir::ListDir,
    read_file::ReadFile,
    search::Search,
    testing::{Tree, block_on},
    tool::CodeTool,
    workspace::Workspace,
    write_file::WriteFile,
};

/// Enough for every gap to be hit many times over where there is one.
const ROUNDS: usize = 60;

/// Calls again and again while the two names are swapped for each other, back and forth. Where it ends is the first way
/// round.
fn while_swapping(one: &Path, other: &Path, mut call: impl FnMut()) {
    let over = AtomicBool::new(false);
    let exchange = || renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                exchange();
                exchange();
            }
        });
        // Also when a call panics.
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _over = Over(&over);
        for _ in 0..ROUNDS {
            call();
        }
    });
}

/// A project whose folder `d` is swapped for a link to the folder outside.
fn folder_and_link(name: &str) -> Tree {
    let tree = Tree::new(name);
    tree.file("d/f", "INSIDE\n");
    tree.file("d/only-inside", "INSIDE\n");
    tree.file("d/sub/f", "INSIDE\n");
    fs::create_dir_all(tree.root.join("outside/sub")).unwrap();
    for path in ["f", "only-outside", "sub/f", "sub/only-outside"] {
        fs::write(tree.root.join("outside").join(path), "SECRET\n").unwrap();
    }
    tree.link(tree.root.join("outside"), "l");
    tree
}

/// Runs a call that was prepared, if the facts say that it stays inside. Returns what it shows, whatever comes of it.
fn inside_only<T: CodeTool>(tree: &Tree, tool: fn(Workspace) -> T, arguments: Value) -> String {
    block_on(async {
        // What keeps changing is an error, which may be told.
        let Ok(prepared) = tree.prepare(tool, arguments).await else { return String::new() };
        let target = &prepared.facts.targets[0];
        let outside = target.resolved.starts_with(tree.root.join("outside"));
        assert!(outside || target.resolved.starts_with(tree.project()), "{target:?}");
        if outside { String::new() } else { format!("{:?}", prepared.call.run().await) }
    })
}

/// Everything below a folder, with its content.
fn snapshot(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(snapshot(&path));
        }
        all.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
    }
    all.sort();
    all
}

/// COD-1: reading, listing and searching show nothing from behind a link that they were not said to go through.
#[test]
fn looking_stays_where_the_facts_say() {
    let tree = folder_and_link("race-look");
    let (d, l) = (tree.project().join("d"), tree.project().join("l"));
    while_swapping(&d, &l, || {
        for shown in [
            inside_only(&tree, ReadFile, json!({"path": "d/f"})),
            inside_only(&tree, ReadFile, json!({"path": "d/sub/f"})),
            inside_only(&tree, ListDir, json!({"path": "d"})),
            inside_only(&tree, ListDir, json!({"path": "d", "recursive": true})),
            inside_only(&tree, ListDir, json!({"path": ".", "recursive": true})),
            inside_only(&tree, Search, json!({"path": "d", "query": "SECRET|INSIDE"})),
            inside_only(&tree, Search, json!({"query": "SECRET|INSIDE"})),
        ] {
            assert!(!shown.contains("SECRET") && !shown.contains("only-outside"), "{shown}");
        }
    });
    // Undisturbed they do find something.
    assert!(inside_only(&tree, Search, json!({"query": "SECRET|INSIDE"})).contains("INSIDE"));
}

/// COD-1, COD-8: writes and edits that the facts put inside change nothing outside.
#[test]
fn writing_stays_where_the_facts_say() {
    let tree = folder_and_link("race-write");
    let outside = tree.root.join("outside");
    let before = snapshot(&outside);
    let (d, l) = (tree.project().join("d"), tree.project().join("l"));
    let mut n = 0;
    while_swapping(&d, &l, || {
        n += 1;
        let content = format!("INSIDE {n}\n");
        inside_only(&tree, WriteFile, json!({"path": "d/f", "content": content, "overwrite": true}));
        inside_only(&tree, WriteFile, json!({"path": format!("d/new/{n}/f"), "content": content}));
        inside_only(&tree, WriteFile, json!({"path": format!("d/new-{n}"), "content": content}));
        inside_only(&tree, EditFile, json!({"path": "d/sub/f", "edits": [{"old": "INSIDE", "new": "INSIDE "}]}));
        tree.context.versions.read(&tree.project().join("d/f"), agent_tool::FileVersion::Content([0; 32]));
    });
    assert_eq!(snapshot(&outside), before);
    // No temporary file was left behind either.
    let left: Vec<_> = snapshot(&tree.project()).into_iter().filter(|(path, _)| path.ends_with(".tmp")).collect();
    assert_eq!(left, []);
}

/// COD-1: a file that is swapped for a link to another is read, searched and written as itself or not at all.
#[test]
fn a_file_swapped_for_a_link() {
    let tree = Tree::new("race-file");
    let secret = tree.root.join("outside/secret");
    fs::write(&secret, "SECRET\n").unwrap();
    tree.file("f", "INSIDE\n");
    tree.link(&secret, "l");
    while_swapping(&tree.project().join("f"), &tree.project().join("l"), || {
        for shown in [
            inside_only(&tree, ReadFile, json!({"path": "f"})),
            inside_only(&tree, Search, json!({"path": "f", "query": "SECRET"})),
            inside_only(&tree, Search, json!({"query": "SECRET"})),
        ] {
            assert!(!shown.contains("SECRET"), "{shown}");
        }
        inside_only(&tree, EditFile, json!({"path": "f", "edits": [{"old": "INSIDE", "new": "INSIDE "}]}));
    });
    assert_eq!(fs::read(&secret).unwrap(), b"SECRET\n");
}

/// COD-2, SRCH-06: a file that is swapped for a pipe holds nobody.
#[test]
fn a_file_swapped_for_a_pipe() {
    let tree = Tree::new("race-pipe");
    tree.file("f", "INSIDE\n");
    tree.file(".gitignore", "x\n");
    tree.pipe("p");
    for name in ["f", ".gitignore"] {
        while_swapping(&tree.project().join(name), &tree.project().join("p"), || {
            inside_only(&tree, ReadFile, json!({"path": name}));
            inside_only(&tree, Search, json!({"query": "INSIDE"}));
            inside_only(&tree, ListDir, json!({"path": ".", "recursive": true}));
            inside_only(&tree, EditFile, json!({"path": name, "edits": [{"old": "INSIDE", "new": "INSIDE "}]}));
        });
    }
}
