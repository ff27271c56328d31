use std::{fs, os::unix::net::UnixListener, sync::Arc};

use agent_protocol::ErrorCode;
use agent_tool::testing::Shelf;
use serde_json::{Value, json};

use super::*;
use crate::testing::{self, Tree, block_on, data};

fn paths(listed: &Value) -> Vec<&str> {
    listed["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect()
}

/// COD-3: sorted, with kind and size, not recursive, hidden and ignored entries included.
#[test]
fn one_folder() {
    let tree = Tree::new("list-flat");
    tree.file("b.txt", "12345");
    tree.file("a/inner", "");
    tree.file(".hidden", "");
    tree.file(".gitignore", "b.txt");
    tree.link("b.txt", "link");
    tree.pipe("pipe");
    let _socket = UnixListener::bind(tree.project().join("socket")).unwrap();
    assert_eq!(
        tree.ok(ListDir, json!({"path": "."})),
        json!({"path": ".", "truncated": false, "entries": [
            {"path": ".gitignore", "kind": "file", "size": 5},
            {"path": ".hidden", "kind": "file", "size": 0},
            {"path": "a", "kind": "dir"},
            {"path": "b.txt", "kind": "file", "size": 5},
            {"path": "link", "kind": "symlink"},
            {"path": "pipe", "kind": "special"},
            {"path": "socket", "kind": "special"},
        ]})
    );
}

/// COD-3: the first entries by name, and how many there are.
#[test]
fn limits_keep_the_first() {
    let tree = Tree::new("list-limit");
    for n in 0..20 {
        tree.file(&format!("d/{n:02}"), "");
    }
    let listed = tree.ok(ListDir, json!({"path": "d", "limit": 3}));
    assert_eq!(paths(&listed), ["00", "01", "02"]);
    assert_eq!(
        (&listed["truncated"], &listed["note"]),
        (&json!(true), &json!("20 entries in all; a higher limit, up to 10000, lists more"))
    );
    let listed = tree.ok(ListDir, json!({"path": "d", "limit": 20}));
    assert_eq!((paths(&listed).len(), &listed["truncated"]), (20, &json!(false)));
    for (limit, truncated) in [(20, true), (21, false)] {
        let listed = tree.ok(ListDir, json!({"path": ".", "recursive": true, "limit": limit}));
        assert_eq!((paths(&listed).len(), &listed["truncated"]), (limit, &json!(truncated)));
    }
}

/// COD-3: a recursive listing respects ignore files and leaves git's own folder out; a folder that was named is listed.
#[test]
fn recursive_listings_respect_ignore_files() {
    let tree = Tree::new("list-ignore");
    for path in [".git/config", ".github/ci.yml", "src/a.rs", "target/x.o", "build/all.o"] {
        tree.file(path, "");
    }
    tree.file(".gitignore", "target/\nbuild/*\n");
    let listed = tree.ok(ListDir, json!({"path": ".", "recursive": true}));
    assert_eq!(paths(&listed), [".github", ".github/ci.yml", ".gitignore", "build", "src", "src/a.rs"]);
    // FND-23: what is hidden is counted and named, with why and what to do.
    assert_eq!(listed["ignored"], 2);
    assert_eq!(listed["note"], "2 ignored: build/all.o (.gitignore), target (.gitignore); name one to list or read it");
    let listed = tree.ok(ListDir, json!({"path": "build", "recursive": true}));
    assert_eq!(paths(&listed), ["all.o"]);
}

/// READ-07: links are listed, not entered, so that no tree is endless.
#[test]
fn links_are_not_entered() {
    let tree = Tree::new("list-loops");
    tree.file("d/e/f", "");
    tree.link("..", "d/e/up");
    tree.link("self", "d/self");
    tree.link("/nope", "d/dangling");
    let listed = tree.ok(ListDir, json!({"path": ".", "recursive": true}));
    assert_eq!(paths(&listed), ["d", "d/dangling", "d/e", "d/e/f", "d/e/up", "d/self"]);
    for link in [1, 4, 5] {
        assert_eq!(listed["entries"][link]["kind"], "symlink");
    }
}

/// READ-12: a folder that cannot be looked into is told as such, and is no error.
#[cfg(target_os = "linux")]
#[test]
fn unreadable_folders_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("list-locked");
    tree.file("ok/a", "");
    let locked = tree.file("locked/b", "").parent().unwrap().to_owned();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let (workspace, context) = (tree.workspace(), tree.context.clone());
    let pass = crate::testing::without_privileges(|| {
        let Found::Folder(folder) = workspace.find(".").unwrap() else { panic!("a folder") };
        tree::list(&workspace, &folder, 100, &context).unwrap()
    });
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    let found: Vec<_> = pass.entries.iter().map(|entry| (entry.path.as_str(), entry.unreadable)).collect();
    assert_eq!(found, [("locked", true), ("ok", false), ("ok/a", false)]);
}

/// DEC-11: a recursive listing passes over sensitive entries and counts them.
#[test]
fn sensitive_entries_are_counted() {
    let tree = Tree::new("list-sensitive");
    tree.file("a/.env", "");
    tree.file("a/b.pem", "");
    tree.file("a/c", "");
    let listed = tree.ok(ListDir, json!({"path": ".", "recursive": true}));
    assert_eq!(paths(&listed), ["a", "a/c"]);
    assert_eq!(listed["note"], "2 sensitive entries are not shown");
    // A sensitive folder that is named is a target to decide about, and is listed when that was allowed.
    fs::write(tree.root.join("user/.ssh/id_rsa"), "").unwrap();
    let facts = tree.facts(ListDir, json!({"path": "~/.ssh"}));
    assert_eq!(facts.targets[0].resolved, tree.root.join("user/.ssh"));
    assert_eq!(paths(&tree.ok(ListDir, json!({"path": "~/.ssh", "recursive": true}))), ["id_rsa"]);
}

/// ART-2: of a listing that is too big the head is shown, and the whole is stored.
#[test]
fn big_listings_become_artifacts() {
    let shelf = Arc::new(Shelf::default());
    let mut tree = Tree::new("list-artifact");
    tree.limits.result_bytes = 2000;
    tree.context = testing::context_with(Arc::clone(&shelf));
    for n in 0..100 {
        tree.file(&format!("d/{n:03}"), "");
    }
    let output = block_on(tree.call(ListDir, json!({"path": "d"})));
    let listed = data(&output);
    assert!(listed.to_string().len() <= 2000);
    let shown = paths(&listed);
    assert!(shown.len() > 20 && shown[0] == "000", "{}", shown.len());
    assert_eq!(listed["truncated"], true);
    let artifact = output.artifacts().next().unwrap();
    assert_eq!(listed["artifact_id"], artifact.artifact_id.as_str());
    let (name, whole) = shelf.get(artifact.artifact_id.as_str());
    assert_eq!(name, "entries.json");
    assert_eq!(paths(&serde_json::from_slice(&whole).unwrap()).len(), 100);
}

/// ART-2: of a big folder that is listed without a limit what is not shown is stored, and the note names the limit.
#[test]
fn the_rest_of_a_big_folder_is_stored() {
    for (recursive, count) in [(false, 501), (false, 700), (true, 700)] {
        let shelf = Arc::new(Shelf::default());
        let mut tree = Tree::new("list-default");
        tree.context = testing::context_with(Arc::clone(&shelf));
        for n in 0..count {
            tree.file(&format!("d/{n:03}"), "");
        }
        let output = block_on(tree.call(ListDir, json!({"path": "d", "recursive": recursive})));
        let listed = data(&output);
        assert_eq!((paths(&listed).len(), &listed["truncated"]), (500, &json!(true)));
        let note = format!("{count} entries in all; a higher limit, up to 10000, lists more");
        assert_eq!(listed["note"], note.as_str());
        let artifact = output.artifacts().next().unwrap();
        let (_, whole) = shelf.get(artifact.artifact_id.as_str());
        let whole = String::from_utf8(whole).unwrap();
        assert_eq!(paths(&serde_json::from_str(&whole).unwrap()).len(), count);
        let told = artifact.summary.as_deref().unwrap();
        let line: usize = told.split("\"start_line\":").nth(1).unwrap().trim_end_matches('}').parse().unwrap();
        assert!(whole.lines().nth(line - 1).unwrap().contains("\"500\""), "{told}");
        let output = block_on(tree.call(ListDir, json!({"path": "d", "recursive": recursive, "limit": 10})));
        assert!(output.artifacts().next().is_none());
    }
}

#[test]
fn what_is_no_folder() {
    let tree = Tree::new("list-no-folder");
    tree.file("a", "");
    tree.refused(ListDir, json!({"path": "a"}), ErrorCode::ValidationError);
    tree.refused(ListDir, json!({"path": "b"}), ErrorCode::FileNotFound);
}

/// TOL-9: a folder that was moved between the phases is not listed under its old name.
#[cfg(target_os = "linux")]
#[test]
fn a_moved_folder_is_a_conflict() {
    let tree = Tree::new("list-moved");
    tree.file("d/a", "");
    let output = block_on(async {
        let prepared = tree.prepare(ListDir, json!({"path": "d", "recursive": true})).await.unwrap();
        fs::rename(tree.project().join("d"), tree.project().join("e")).unwrap();
        tree.link(tree.root.join("user"), "d");
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::PathConflict);
}

/// FND-23: a folder that was named is listed, whichever rules leave nothing of it; what is left out of one of which
/// something is left is told.
#[test]
fn a_named_folder_is_listed() {
    let tree = Tree::new("list-named");
    fs::create_dir(tree.project().join(".git")).unwrap();
    tree.file(".gitignore", "out/\nlogs/*\n/deep/er/*\n*.o\n");
    tree.file("cache/.gitignore", "*\n");
    for path in ["out/a", "logs/b", "deep/er/c", "cache/d", "mixed/e", "mixed/f.o"] {
        tree.file(path, "");
    }
    for (folder, expected) in
        [("out", &["a"][..]), ("logs", &["b"]), ("deep/er", &["c"]), ("cache", &[".gitignore", "d"])]
    {
        let listed = tree.ok(ListDir, json!({"path": folder, "recursive": true}));
        assert_eq!(paths(&listed), expected, "{folder}");
        assert_eq!(listed["ignored"], Value::Null, "{folder}");
    }
    let listed = tree.ok(ListDir, json!({"path": "mixed", "recursive": true}));
    assert_eq!((paths(&listed), &listed["ignored"]), (vec!["e"], &json!(1)));
    assert!(listed["note"].as_str().unwrap().starts_with("1 ignored: f.o (.gitignore)"), "{listed}");
    let output = block_on(tree.call(ListDir, json!({"path": "mixed", "recursive": true})));
    assert_eq!(output.metadata["summary"], "1 entry, 1 ignored");
    let listed = tree.ok(ListDir, json!({"path": ".", "recursive": true}));
    assert_eq!(listed["ignored"], 6, "{listed}");
}

/// FND-29: names that are no text are told apart, and how to give them is said.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_told_apart() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let tree = Tree::new("list-names");
    for name in [&b"caf\xe9"[..], b"caf\xe8", b"caf\\xE9", b"plain"] {
        fs::write(tree.project().join(OsStr::from_bytes(name)), "").unwrap();
    }
    for recursive in [false, true] {
        let listed = tree.ok(ListDir, json!({"path": ".", "recursive": recursive}));
        assert_eq!(paths(&listed), ["caf\\x5CxE9", "caf\\xE8", "caf\\xE9", "plain"]);
        let note = listed["note"].as_str().unwrap();
        assert!(note.contains("\\xNN") && note.contains("give the path as it is shown"), "{listed}");
    }
}
