//! `unified_diff`, down to the bytes on disk.

use agent_tool::Registry;

use super::*;

fn arguments(path: &str, diff: &str) -> Value {
    json!({"path": path, "unified_diff": diff})
}

#[track_caller]
fn check(tree: &Tree, path: &str, diff: &str, expected: &[u8]) {
    let edited = tree.ok(EditFile, arguments(path, diff));
    assert_eq!(edited["bytes_written"], expected.len());
    assert_eq!(tree.read(path), expected);
}

/// COD-6, EDIT-01: the contract's result counts hunks; every byte but the changed ones stays.
#[test]
fn the_contracts_result() {
    let tree = Tree::new("diff");
    tree.file("f.txt", "a\r\nb\r\nc\r\nd\r\n");
    let diff = "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -4 +4 @@\n-d\n+D\n";
    let edited = tree.ok(EditFile, arguments("f.txt", diff));
    assert_eq!(edited, json!({"path": "f.txt", "edits_applied": 2, "bytes_written": 12}));
    assert_eq!(tree.read("f.txt"), b"a\r\nB\r\nc\r\nD\r\n");
}

/// COD-12: exactly one of the two. Null (TOL-7) and an empty one are none.
#[test]
fn exactly_one_of_edits_and_diff() {
    let tree = Tree::new("diff-or-edits");
    let mut registry = Registry::new();
    for tool in crate::code_tools(tree.settings()) {
        registry.add(agent_protocol::ToolOrigin::Builtin, tool).unwrap();
    }
    let tool = registry.get("code.edit_file").unwrap();
    let (edits, diff) = (json!([{"old": "a", "new": "b"}]), json!("@@ -1 +1 @@\n-a\n+b\n"));
    let none = [json!(null), json!([]), json!("")];
    for (edits, diff, succeeds) in [
        (&edits, &none[0], true),
        (&edits, &none[2], true),
        (&none[0], &diff, true),
        (&none[1], &diff, true),
        (&edits, &diff, false),
        (&none[0], &none[0], false),
        (&none[1], &none[2], false),
    ] {
        tree.file("f", "a\n");
        let given = json!({"path": "f", "edits": edits, "unified_diff": diff, "create_if_missing": null});
        let given = tool.check_arguments(crate::testing::object(given), &KnownSecrets::none()).unwrap();
        if succeeds {
            tree.ok(EditFile, Value::Object(given));
            assert_eq!(tree.read("f"), b"b\n");
        } else {
            tree.refused(EditFile, Value::Object(given), ErrorCode::ValidationError);
            assert_eq!(tree.read("f"), b"a\n");
        }
    }
}

/// EDIT-12, COD-12: the codes; nothing changes, not even the time of the file, and nothing else is opened.
#[test]
fn failures_change_nothing() {
    let tree = Tree::new("diff-failure");
    let path = tree.file("f", "l1\nl2\nl3\n");
    tree.pipe("other");
    let before = fs::metadata(&path).unwrap();
    for (diff, code) in [
        ("--- a/f\n+++ b/f\n", ErrorCode::PatchApplyFailed),
        ("Replace l2.", ErrorCode::PatchApplyFailed),
        ("@@ -1 +1 @@\n-l1\n+x\n@@ -2 +2 @@\n-lx\n+x\n", ErrorCode::PatchApplyFailed),
        ("--- a/f\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-l1\n-l2\n-l3\n", ErrorCode::PatchApplyFailed),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", ErrorCode::PatchApplyFailed),
        ("diff --git a/f b/g\nrename from f\nrename to g\n", ErrorCode::PatchApplyFailed),
        ("Binary files a/f and b/f differ\n", ErrorCode::PatchApplyFailed),
        ("--- a/other\n+++ b/other\n@@ -1 +1 @@\n-l1\n+x\n", ErrorCode::PatchPathMismatch),
        ("@@ -1 +1 @@\n-l1\n+x\n--- a/other\n+++ b/other\n@@ -1 +1 @@\n-a\n+x\n", ErrorCode::PatchPathMismatch),
    ] {
        let message = tree.refused(EditFile, arguments("f", diff), code);
        let first = message.lines().next().unwrap();
        assert!(first.starts_with("f: ") && first.ends_with("; nothing was changed"), "{message}");
    }
    let error = tree.err(EditFile, arguments("f", "@@ -1 +1 @@\n-l1\n+x\n@@ -3 +3 @@\n-l4\n+x\n"));
    assert_eq!((&error.details["hunk"], &error.details["path"]), (&json!(2), &json!("f")));
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.ino(), after.mtime_nsec()), (before.ino(), before.mtime_nsec()));
    assert_eq!(tree.read("f"), b"l1\nl2\nl3\n");
}

/// EDIT-27: what a diff may call the file, as the call does, from the project or from the root; through links, too.
#[test]
fn names_of_the_file() {
    let tree = Tree::new("diff-names");
    tree.file("a/x.txt", "1\n");
    tree.file("src/x.rs", "1\n");
    tree.link("src", "s");
    let (project, outside) = (tree.project().display().to_string(), tree.root.join("outside/x.rs"));
    fs::write(&outside, "1\n").unwrap();
    let outside = outside.display().to_string();
    let absolute = format!("{project}/src/x.rs");
    let prefixed = format!("a/{absolute}");
    for (path, old, new, applies) in [
        ("src/x.rs", "a/src/x.rs", "b/src/x.rs", true),
        ("src/x.rs", "src/x.rs", "src/x.rs", true),
        ("src/x.rs", &*prefixed, &*prefixed, true),
        ("src/x.rs", "a/src/x.rs", "b/src/y.rs", false),
        ("a/x.txt", "a/a/x.txt", "b/a/x.txt", true),
        ("a/x.txt", "a/x.txt", "b/x.txt", false),
        (&absolute, "a/src/x.rs", "b/src/x.rs", true),
        ("s/x.rs", "a/s/x.rs", "b/src/x.rs", true),
        ("./src/../src/x.rs", "a/src/x.rs", "b/src/x.rs", true),
        ("../outside/x.rs", &*outside, "b/../outside/x.rs", true),
        ("src/x.rs", "a/x.rs", "b/x.rs", false),
    ] {
        for file in ["a/x.txt", "src/x.rs", "../outside/x.rs"] {
            tree.file(file, "1\n");
        }
        let given = arguments(path, &format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-1\n+2\n"));
        if applies {
            tree.ok(EditFile, given);
            assert_eq!(tree.read(path), b"2\n");
        } else {
            tree.refused(EditFile, given, ErrorCode::PatchPathMismatch);
            assert_eq!(tree.read(path), b"1\n");
        }
    }
}

/// COD-12: a missing file is made if that is wanted and the diff only adds; as edits are told, so are diffs.
#[test]
fn missing_files() {
    let tree = Tree::new("diff-create");
    tree.file("main.rs", "");
    let diff = "--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,2 @@\n+x\n+y\n";
    tree.refused(EditFile, arguments("new/f", diff), ErrorCode::FileNotFound);
    let message = tree.refused(EditFile, arguments("mian.rs", "@@\n+x\n"), ErrorCode::FileNotFound);
    assert!(message.contains("did you mean main.rs?"), "{message}");
    let create = |path: &str, diff: &str| json!({"path": path, "unified_diff": diff, "create_if_missing": true});
    tree.refused(EditFile, create("new/f", "@@ -1 +1 @@\n-x\n+y\n"), ErrorCode::PatchApplyFailed);
    tree.refused(EditFile, create("new/g", diff), ErrorCode::PatchPathMismatch);
    assert!(!tree.project().join("new").exists());
    let facts = tree.facts(EditFile, create("new/f", diff));
    assert_eq!(facts.preview, "+2 −0\n--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,2 @@\n+x\n+y\n");
    let edited = tree.ok(EditFile, create("new/f", diff));
    assert_eq!(edited, json!({"path": "new/f", "edits_applied": 1, "bytes_written": 4, "created": true}));
    assert_eq!(tree.read("new/f"), b"x\ny\n");
    // Once there it is changed like any other.
    tree.ok(EditFile, create("new/f", "@@ -1 +1 @@\n-x\n+X\n"));
    assert_eq!(tree.read("new/f"), b"X\ny\n");
}

/// EDIT-22: a byte order mark neither gets in the way nor gets lost nor comes twice.
#[test]
fn byte_order_marks_stay() {
    let tree = Tree::new("diff-bom");
    tree.file("f", b"\xef\xbb\xbfusing A;\nB\n");
    check(&tree, "f", "@@ -1,2 +1,2 @@\n-using A;\n+using Z;\n B\n", b"\xef\xbb\xbfusing Z;\nB\n");
    check(&tree, "f", "@@ -2 +2 @@\n-B\n+C\n", b"\xef\xbb\xbfusing Z;\nC\n");
    tree.refused(EditFile, arguments("f", "@@ -0,0 +1 @@\n+\u{FEFF}x\n"), ErrorCode::ValidationError);
    let edits = json!({"path": "f", "edits": [{"old": "using Z", "new": "\u{FEFF}x"}]});
    tree.refused(EditFile, edits, ErrorCode::ValidationError);
    assert_eq!(tree.read("f"), b"\xef\xbb\xbfusing Z;\nC\n");
}

/// READ-09: UTF-16 stays UTF-16, and bytes that are no text stay as they are.
#[test]
fn other_encodings_survive() {
    let tree = Tree::new("diff-encodings");
    tree.file("g", b"\xc4\xe3\xba\xc3\nplain\n\xff");
    check(&tree, "g", "@@ -2 +2 @@\n-plain\n+simple\n", b"\xc4\xe3\xba\xc3\nsimple\n\xff");
    tree.file("n", b"\xff\xfeh\x00\r\x00\n\x00");
    check(&tree, "n", "@@ -1 +1 @@\n-h\n+\u{e9}\n", b"\xff\xfe\xe9\x00\r\x00\n\x00");
}

/// EDIT-29: rights are kept, and a diff through a link changes the file and leaves the link.
#[test]
fn rights_and_links_are_kept() {
    let tree = Tree::new("diff-rights");
    let path = tree.file("r.sh", "#!/bin/sh\necho 1\n");
    tree.link("r.sh", "l");
    for (mode, through, old) in [(0o755, "r.sh", 1), (0o600, "r.sh", 2), (0o755, "l", 3)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let diff = format!("--- a/{through}\n+++ b/{through}\n@@ -2 +2 @@\n-echo {old}\n+echo {}\n", old + 1);
        assert_eq!(tree.ok(EditFile, arguments(through, &diff))["path"], "r.sh");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    assert!(tree.project().join("l").is_symlink());
    assert_eq!(tree.read("r.sh"), b"#!/bin/sh\necho 4\n");
}

/// PRM-6: the prompt shows what will change, not what the model wrote of it.
#[test]
fn the_preview_is_ours() {
    let tree = Tree::new("diff-preview");
    tree.file("f", "0\n1\n2\n3\n4\n");
    let facts = tree.facts(EditFile, arguments("f", "@@ -99 +77 @@ nothing to see here\n-3\n+three\n"));
    assert_eq!(facts.preview, "+1 −1\n--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n 0\n 1\n 2\n-3\n+three\n 4\n");
}

/// Of a sensitive file it is not told before anybody was asked why a diff does not apply.
#[test]
fn sensitive_files_are_not_probed() {
    let tree = Tree::new("diff-sensitive");
    tree.file(".env", "TOKEN=abcdef123\n");
    tree.file("plain", "TOKEN=abcdef123\n");
    let diff = "@@ -1 +1 @@\n-TOKEN=abcdef12x\n+y\n";
    let output = block_on(async {
        let prepared = tree.prepare(EditFile, arguments(".env", diff)).await.unwrap();
        assert!(prepared.facts.preview.contains("does not apply"));
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::PatchApplyFailed);
    let error = block_on(tree.prepare(EditFile, arguments("plain", diff))).unwrap_err();
    assert!(error.message.contains("abcdef123"), "{error}");
}

/// COD-5: a diff is exact, so it is applied to what others wrote, and the result says that they did; but line numbers of
/// what was read before choose no place then.
#[test]
fn foreign_changes_are_told() {
    let tree = Tree::new("diff-foreign");
    let path = tree.file("f", "one\n");
    tree.ok(ReadFile, json!({"path": "f"}));
    fs::write(&path, "zero\none\n").unwrap();
    let edited = tree.ok(EditFile, arguments("f", "@@ -1 +1 @@\n-one\n+two\n"));
    assert!(edited["note"].as_str().unwrap().contains("had changed"), "{edited}");
    assert_eq!(tree.read("f"), b"zero\ntwo\n");
    let (diff, changed) = ("@@ -1,0 +2 @@\n+X\n", "the file had changed since you last read it");
    fs::write(&path, "one\ntwo\n").unwrap();
    let message = tree.refused(EditFile, arguments("f", diff), ErrorCode::PatchApplyFailed);
    assert!(message.lines().next().unwrap().ends_with(changed), "{message}");
    assert_eq!(tree.read("f"), b"one\ntwo\n");
    tree.ok(ReadFile, json!({"path": "f"}));
    check(&tree, "f", diff, b"one\nX\ntwo\n");
}
