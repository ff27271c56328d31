use std::fs;

use agent_policy::{Root, TargetKind};
use agent_protocol::ErrorCode;
use agent_redact::KnownSecrets;
use serde_json::{Value, json};

use super::*;
use crate::{
    read_file::ReadFile,
    testing::{Tree, block_on},
};

fn ok(tree: &Tree, arguments: Value) -> Value {
    tree.ok(WriteFile, arguments)
}

/// COD-5: the contract's result, for a new file and for one that is replaced.
#[test]
fn files_are_made_and_replaced() {
    let tree = Tree::new("write");
    assert_eq!(
        ok(&tree, json!({"path": "a/b.txt", "content": "x"})),
        json!({"path": "a/b.txt", "bytes_written": 1, "created": true, "overwritten": false})
    );
    let message = tree.refused(WriteFile, json!({"path": "a/b.txt", "content": "y"}), ErrorCode::PathConflict);
    assert!(message.contains("overwrite"), "{message}");
    assert_eq!(tree.read("a/b.txt"), b"x");
    assert_eq!(
        ok(&tree, json!({"path": "a/b.txt", "content": "yz", "overwrite": true})),
        json!({"path": "a/b.txt", "bytes_written": 2, "created": false, "overwritten": true})
    );
    assert_eq!(tree.read("a/b.txt"), b"yz");
}

#[test]
fn folders_are_made_only_if_wanted() {
    let tree = Tree::new("write-folders");
    let arguments = json!({"path": "new/f", "content": "", "create_dirs": false});
    tree.refused(WriteFile, arguments, ErrorCode::FileNotFound);
    assert!(!tree.project().join("new").exists());
    ok(&tree, json!({"path": "f", "content": "", "create_dirs": false}));
}

/// COD-5: a file that changed since it was read is not overwritten; the agent's own writes are no change.
#[test]
fn foreign_changes_are_not_lost() {
    // EDIT-17
    let tree = Tree::new("write-conflict");
    let path = tree.file("f.txt", "one\n");
    let overwrite = |content: &str| json!({"path": "f.txt", "content": content, "overwrite": true});
    tree.ok(ReadFile, json!({"path": "f.txt"}));
    ok(&tree, overwrite("two\n"));
    ok(&tree, overwrite("three\n"));
    fs::write(&path, "three\ntheirs\n").unwrap();
    let message = tree.refused(WriteFile, overwrite("old view"), ErrorCode::PathConflict);
    assert!(message.contains("read it again"), "{message}");
    assert_eq!(tree.read("f.txt"), b"three\ntheirs\n");
    tree.ok(ReadFile, json!({"path": "f.txt"}));
    ok(&tree, overwrite("mine"));
    // Touched is not changed.
    fs::write(&path, "mine").unwrap();
    ok(&tree, overwrite("mine again"));
}

/// TOL-9: so is one that changes between the decision and the deed.
#[test]
fn changes_after_the_decision_are_not_lost() {
    let tree = Tree::new("write-meanwhile");
    let path = tree.file("f.txt", "one\n");
    let output = block_on(async {
        let arguments = json!({"path": "f.txt", "content": "x", "overwrite": true});
        let prepared = tree.prepare(WriteFile, arguments).await.unwrap();
        fs::write(&path, "two\n").unwrap();
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::PathConflict);
    assert_eq!(tree.read("f.txt"), b"two\n");
}

/// The facts say where a write lands, before it does.
#[track_caller]
fn lands(tree: &Tree, path: &str, resolved: &str, root: Root) {
    let facts = tree.facts(WriteFile, json!({"path": path, "content": "x"}));
    let target = &facts.targets[0];
    assert_eq!(target.resolved, tree.root.join(resolved), "{path}");
    assert_eq!(tree.rules().root_of(&target.resolved), root, "{path}");
}

/// PATH-01: a sibling with the same prefix is outside, however it is spelled.
#[test]
fn siblings_are_outside() {
    let tree = Tree::new("write-sibling");
    fs::create_dir(tree.root.join("ws2")).unwrap();
    let absolute = tree.root.join("ws2/x").display().to_string();
    for path in ["../ws2/x", "a/../../ws2/x", "./././../ws2/x", &absolute] {
        lands(&tree, path, "ws2/x", Root::Outside);
    }
    lands(&tree, "a/../x", "ws/x", Root::Project);
    assert!(!tree.root.join("ws2/x").exists());
}

/// PATH-02: a link in the project that leads out leads out; one that stays in is fine.
#[test]
fn links_lead_where_they_lead() {
    let tree = Tree::new("write-links");
    tree.link(tree.root.join("outside"), "out");
    tree.link("real", "in");
    fs::create_dir(tree.project().join("real")).unwrap();
    lands(&tree, "out/x", "outside/x", Root::Outside);
    lands(&tree, "out/new/deep/x", "outside/new/deep/x", Root::Outside);
    lands(&tree, "in/x", "ws/real/x", Root::Project);
    assert_eq!(fs::read_dir(tree.root.join("outside")).unwrap().count(), 0);
    ok(&tree, json!({"path": "in/x", "content": "x"}));
    assert_eq!(tree.read("real/x"), b"x");
}

/// PATH-04: a link to nothing leads to where the file would be made.
#[test]
fn dangling_links_lead_out() {
    let tree = Tree::new("write-dangling");
    tree.link(tree.root.join("outside/new"), "draft.txt");
    tree.link(tree.root.join("outside"), "dirlink");
    lands(&tree, "draft.txt", "outside/new", Root::Outside);
    lands(&tree, "dirlink/missing/x", "outside/missing/x", Root::Outside);
    let facts = tree.facts(WriteFile, json!({"path": "draft.txt", "content": "x"}));
    assert_eq!((facts.targets[0].kind, facts.targets[0].links), (TargetKind::Missing, 0));
    assert!(!tree.root.join("outside/new").exists());
    // Once allowed, the link stays one.
    ok(&tree, json!({"path": "draft.txt", "content": "x"}));
    assert_eq!(fs::read(tree.root.join("outside/new")).unwrap(), b"x");
    assert!(tree.project().join("draft.txt").is_symlink());
}

/// PATH-06, PATH-09: control files and our own home are told by the rules from the resolved target, whatever was
/// written.
#[test]
fn control_files_are_recognised() {
    let tree = Tree::new("write-control");
    fs::create_dir(tree.project().join(".git")).unwrap();
    tree.link(".git", "g");
    let resolved = |path: &str| {
        let facts = tree.facts(WriteFile, json!({"path": path, "content": "x"}));
        facts.targets[0].resolved.clone()
    };
    for path in [".git/hooks/pre-commit", ".git/config", ".GIT/config", "sub/.git/hooks/x", "g/config"] {
        assert!(tree.rules().control(&resolved(path)).is_some(), "{path}");
    }
    assert!(tree.rules().control(&resolved(".gitignore")).is_none());
    tree.link(tree.root.join("home"), "h");
    assert!(tree.rules().forbidden_write(&resolved("h/hooks.json")).is_some());
}

/// PATH-11: a write gives a file of many names its own content and leaves the other names theirs.
#[test]
fn other_names_keep_their_content() {
    let tree = Tree::new("write-hard-link");
    let other = tree.root.join("outside/config");
    fs::write(&other, "theirs").unwrap();
    fs::hard_link(&other, tree.project().join("f")).unwrap();
    let facts = tree.facts(WriteFile, json!({"path": "f", "content": "x", "overwrite": true}));
    assert_eq!(facts.targets[0].links, 2);
    ok(&tree, json!({"path": "f", "content": "x", "overwrite": true}));
    assert_eq!((fs::read(&other).unwrap(), tree.read("f")), (b"theirs".to_vec(), b"x".to_vec()));
}

/// COD-5: what is no file is not replaced by one.
#[test]
fn what_is_no_file_is_refused() {
    let tree = Tree::new("write-special");
    tree.pipe("pipe");
    fs::create_dir(tree.project().join("d")).unwrap();
    let refused = |path: &str, code| {
        tree.refused(WriteFile, json!({"path": path, "content": "x", "overwrite": true}), code);
    };
    refused("pipe", ErrorCode::ValidationError);
    refused("/dev/null", ErrorCode::ValidationError);
    refused("d", ErrorCode::PathConflict);
    refused("new/", ErrorCode::ValidationError);
    refused("pipe/x", ErrorCode::FileNotFound);
}

/// A file that is protected from writing is not replaced either, though the system would let us.
#[cfg(target_os = "linux")]
#[test]
fn protected_files_are_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("write-protected");
    fs::set_permissions(tree.file("f", "x"), fs::Permissions::from_mode(0o444)).unwrap();
    let workspace = tree.workspace();
    let found = crate::testing::without_privileges(|| Destination::find(&workspace, "f").map(|_| ()));
    let error = found.unwrap_err();
    assert_eq!((error.code, &error.details["kind"]), (ErrorCode::PermissionDenied, &json!("os_permission")));
}

/// PRM-6: the prompt shows a diff.
#[test]
fn the_preview_is_a_diff() {
    let tree = Tree::new("write-preview");
    tree.file("f", "a\nb\n");
    let facts = tree.facts(WriteFile, json!({"path": "f", "content": "a\nc\n", "overwrite": true}));
    assert_eq!(facts.preview, "+1 −1\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
}

/// RUN-12: a call that is late, or cancelled, writes nothing.
#[test]
fn late_and_cancelled_calls_write_nothing() {
    let tree = Tree::new("write-late");
    let late: [fn(&CallContext); 2] = [
        |context| {
            context.fence.close();
        },
        |context| context.cancel.cancel(),
    ];
    for end in late {
        let output = block_on(async {
            let prepared = tree.prepare(WriteFile, json!({"path": "new/f", "content": "x"})).await.unwrap();
            end(&tree.context);
            prepared.call.run().await
        });
        assert_eq!(output.error.unwrap().code, ErrorCode::Cancelled);
        assert!(!tree.project().join("new").exists());
    }
}

/// FND-32: a file that exists is changed by the call that is told, made of the words of this one.
#[test]
fn a_call_that_would_do_is_told() {
    let tree = Tree::new("write-exists");
    let refused = |content: &str| {
        let message = tree.refused(WriteFile, json!({"path": "f", "content": content}), ErrorCode::PathConflict);
        assert!(message.len() <= 1600, "{} bytes: {message}", message.len());
        message
    };
    tree.file("f", "a\r\nb\r\nc\r\n");
    let message = refused("a\nB\nc\n");
    let start = message.find('{').unwrap();
    let example = serde_json::Deserializer::from_str(&message[start..]).into_iter::<Value>().next().unwrap().unwrap();
    assert_eq!(example, json!({"path": "f", "edits": [{"old": "b\n", "new": "B\n"}]}));
    tree.ok(crate::edit_file::EditFile, example);
    assert_eq!(tree.read("f"), b"a\r\nB\r\nc\r\n");
    assert!(refused(&"other\n".repeat(2000)).contains("repeat this call with overwrite: true"));
    tree.file("f", "same\n");
    assert!(refused("same\n").contains("nothing to do"));
    // Nothing of a file whose reading would ask.
    tree.file(".env", "TOKEN=abc\n");
    let message = tree.refused(WriteFile, json!({"path": ".env", "content": "TOKEN=abd\n"}), ErrorCode::PathConflict);
    assert!(!message.contains("abc"), "{message}");
    let same = tree.refused(WriteFile, json!({"path": ".env", "content": "TOKEN=abc\n"}), ErrorCode::PathConflict);
    assert_eq!(same, message, "nor whether it has this content");
}

/// A call that holds what stands for a secret is refused, so none is told.
#[test]
fn no_call_with_a_placeholder_is_told() {
    let mut tree = Tree::new("write-secret");
    tree.context.secrets = KnownSecrets::new([("KEY", "sk-123456789abcdef")]).unwrap();
    for (line, is_told) in [("key = sk-123456789abcdef", false), ("key = [secret KEY]", false), ("key = other", true)] {
        tree.file("f", format!("a\n{line}\nb\n"));
        let arguments = json!({"path": "f", "content": "a\nkey = new\nb\n"});
        let message = tree.refused(WriteFile, arguments, ErrorCode::PathConflict);
        assert_eq!(message.contains(r#""edits""#), is_told, "{message}");
        assert!(message.contains("repeat this call with overwrite: true"), "{message}");
    }
}

/// FND-26: an overwrite keeps mark, encoding and line ends of the file, and says so; the size is that of the file.
#[test]
fn an_overwrite_keeps_the_form_of_the_file() {
    let tree = Tree::new("write-form");
    for (name, (before, after, said)) in ["f", "g", "h"].into_iter().zip([
        (&b"\xef\xbb\xbfa\r\n"[..], &b"\xef\xbb\xbfb\r\n"[..], "its byte order mark and its line ends (CRLF)"),
        (b"\xfe\xff\0a\0\n", b"\xfe\xff\0b\0\n", "its encoding (utf-16be)"),
        (b"caf\xe9\n", b"b\n", "not UTF-8"),
    ]) {
        tree.file(name, before);
        let arguments = json!({"path": name, "content": "b\n", "overwrite": true});
        let facts = tree.facts(WriteFile, arguments.clone());
        assert!(facts.preview.contains(said) || facts.dangers[0].contains(said), "{facts:?}");
        let written = ok(&tree, arguments);
        assert!(written["note"].as_str().unwrap().contains(said), "{written}");
        assert_eq!((tree.read(name), &written["bytes_written"]), (after.to_vec(), &json!(after.len())));
    }
}

/// FND-27: a new name of the same letters in another form is a conflict; one that only looks alike is said; another case is another
/// name.
#[test]
fn names_that_look_the_same() {
    let tree = Tree::new("write-looks");
    tree.file("re\u{301}sume\u{301}.md", "x");
    tree.file("config.rs", "x");
    tree.file("e\u{301}t/f", "x");
    let new = |path: &str| json!({"path": path, "content": "y"});
    for path in ["r\u{e9}sum\u{e9}.md", "re\u{301}sum\u{e9}.md", "\u{e9}t/new"] {
        let message = tree.refused(WriteFile, new(path), ErrorCode::PathConflict);
        assert!(message.contains("in another form") && message.contains("U+0301"), "{message}");
        let edits = json!({"path": path, "edits": [{"old": "", "new": "y"}], "create_if_missing": true});
        tree.refused(crate::edit_file::EditFile, edits, ErrorCode::PathConflict);
        let message = tree.refused(ReadFile, json!({"path": path}), ErrorCode::FileNotFound);
        assert!(message.contains("did you mean") && message.contains("U+0301"), "{message}");
    }
    let facts = tree.facts(WriteFile, new("\u{441}onfig.rs"));
    assert!(facts.dangers[0].contains("looks like that of config.rs"), "{facts:?}");
    for path in ["Config.rs", "confis.rs", "r\u{e9}sume.md"] {
        assert_eq!(tree.facts(WriteFile, new(path)).dangers, Vec::<String>::new(), "{path}");
        ok(&tree, new(path));
    }
}
