mod cases;
mod diffs;
mod failures;
mod previews;

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use agent_protocol::ErrorCode;
use agent_redact::KnownSecrets;
use serde_json::{Value, json};

use super::*;
use crate::{
    read_file::ReadFile,
    testing::{Tree, block_on},
};

fn edit(tree: &Tree, path: &str, old: &str, new: &str) -> Value {
    tree.ok(EditFile, json!({"path": path, "edits": [{"old": old, "new": new}]}))
}

/// COD-6, EDIT-01: the contract's result; the size is that of the file.
#[test]
fn the_contracts_result() {
    let tree = Tree::new("edit");
    tree.file("f.txt", "a\r\nb\r\nc\r\n");
    assert_eq!(edit(&tree, "f.txt", "b", "B"), json!({"path": "f.txt", "edits_applied": 1, "bytes_written": 9}));
    assert_eq!(tree.read("f.txt"), b"a\r\nB\r\nc\r\n");
    let arguments = json!({"path": "f.txt", "edits": [{"old": "\r\n", "new": "\n\n", "replace_all": true}]});
    let edited = tree.ok(EditFile, arguments);
    assert_eq!((&edited["edits_applied"], &edited["replacements"]), (&json!(1), &json!(3)));
    assert_eq!(tree.read("f.txt"), b"a\r\n\r\nB\r\n\r\nc\r\n\r\n");
}

/// EDIT-09: what does not apply changes nothing, not even the time of the file.
#[test]
fn failures_change_nothing() {
    let tree = Tree::new("edit-failure");
    let path = tree.file("f.txt", "keep\n");
    let before = fs::metadata(&path).unwrap();
    let edits = json!([{"old": "keep", "new": "K"}, {"old": "nope", "new": "N"}]);
    let error = tree.err(EditFile, json!({"path": "f.txt", "edits": edits}));
    assert_eq!((error.code, &error.details["edit"]), (ErrorCode::TextNotFound, &json!(1)));
    assert!(error.message.contains("edits[1]"), "{error}");
    let after = fs::metadata(&path).unwrap();
    assert_eq!(
        (after.ino(), after.mtime_nsec(), tree.read("f.txt")),
        (before.ino(), before.mtime_nsec(), b"keep\n".to_vec())
    );
}

/// EDIT-02, EDIT-04: the code, the count and the lines.
#[test]
fn ambiguous_edits_name_their_places() {
    let tree = Tree::new("edit-ambiguous");
    tree.file("f.txt", "x=1\ny\nx=1\n");
    let error = tree.err(EditFile, json!({"path": "f.txt", "edits": [{"old": "x=1", "new": "x=2"}]}));
    assert_eq!(error.code, ErrorCode::AmbiguousEdit);
    assert_eq!((&error.details["count"], &error.details["lines"]), (&json!(2), &json!([1, 3])));
    assert!(error.message.contains("in lines 1, 3"), "{error}");
    assert_eq!(tree.read("f.txt"), b"x=1\ny\nx=1\n");
}

/// EDIT-07: an empty `old` is refused in a file that exists, and makes one that does not if that is wanted.
#[test]
fn an_empty_old_makes_a_file_or_nothing() {
    let tree = Tree::new("edit-create");
    tree.file("f.txt", "abc");
    for edits in [json!([{"old": "", "new": "X"}]), json!([{"old": "", "new": "X", "replace_all": true}])] {
        tree.refused(EditFile, json!({"path": "f.txt", "edits": edits}), ErrorCode::ValidationError);
        tree.refused(
            EditFile,
            json!({"path": "f.txt", "edits": edits, "create_if_missing": true}),
            ErrorCode::ValidationError,
        );
    }
    assert_eq!(tree.read("f.txt"), b"abc");
    let arguments = json!({"path": "new/f", "edits": [{"old": "", "new": "X\n"}], "create_if_missing": true});
    let edited = tree.ok(EditFile, arguments);
    assert_eq!(edited, json!({"path": "new/f", "edits_applied": 1, "bytes_written": 2, "created": true}));
    assert_eq!(tree.read("new/f"), b"X\n");
    let arguments = json!({"path": "g", "edits": [{"old": "x", "new": "X"}], "create_if_missing": true});
    tree.refused(EditFile, arguments, ErrorCode::TextNotFound);
    assert!(!tree.project().join("g").exists());
}

/// An empty file has no line to put text beside: the call that is told writes it.
#[test]
fn an_empty_file_is_written() {
    let tree = Tree::new("edit-empty-file");
    tree.file("f", "");
    let arguments = json!({"path": "f", "edits": [{"old": "", "new": "X\n"}]});
    let message = tree.refused(EditFile, arguments, ErrorCode::ValidationError);
    let (_, example) = message.split_once("code.write_file ").expect(&message);
    let example = serde_json::Deserializer::from_str(example).into_iter::<Value>().next().unwrap().unwrap();
    assert!(!message.contains("a line that is there"), "{message}");
    tree.ok(crate::write_file::WriteFile, example);
    assert_eq!(tree.read("f"), b"X\n");
}

/// No line that a model is shown without its secret is told as the line to give.
#[test]
fn no_secret_is_to_be_given() {
    let mut tree = Tree::new("edit-secret");
    tree.context.secrets = KnownSecrets::new([("KEY", "sk-123456789abcdef")]).unwrap();
    for last in ["key = sk-123456789abcdef", "key = [secret KEY]"] {
        tree.file("f", format!("a\n{last}\n"));
        let arguments = json!({"path": "f", "edits": [{"old": "", "new": "X"}]});
        let message = tree.refused(EditFile, arguments, ErrorCode::ValidationError);
        assert!(message.contains(r#""old":"a line that is there""#), "{message}");
    }
}

/// COD-12: a missing file is an error unless it may be made; so is having nothing to do.
#[test]
fn missing_files_and_missing_edits() {
    let tree = Tree::new("edit-missing");
    tree.file("src/main.rs", "");
    let arguments = json!({"path": "src/mian.rs", "edits": [{"old": "", "new": "X"}]});
    let message = tree.refused(EditFile, arguments, ErrorCode::FileNotFound);
    assert!(message.contains("did you mean src/main.rs?"), "{message}");
    assert!(message.contains("create_if_missing: true"), "{message}");
    let diff = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+X\n";
    let message = tree.refused(EditFile, json!({"path": "new", "unified_diff": diff}), ErrorCode::FileNotFound);
    assert!(message.contains("create_if_missing: true"), "{message}");
    let arguments = json!({"path": "new", "edits": [{"old": "x", "new": "X"}]});
    let message = tree.refused(EditFile, arguments, ErrorCode::FileNotFound);
    assert!(!message.contains("create_if_missing"), "{message}");
    tree.refused(EditFile, json!({"path": "src/main.rs", "edits": []}), ErrorCode::ValidationError);
    tree.refused(EditFile, json!({"path": "src", "edits": [{"old": "a", "new": "b"}]}), ErrorCode::PathConflict);
}

/// EDIT-21: a tab is a tab, when reading and when editing.
#[test]
fn tabs_are_tabs() {
    let tree = Tree::new("edit-tabs");
    tree.file("Makefile", "all:\n\tcc x.c\n");
    assert_eq!(tree.ok(ReadFile, json!({"path": "Makefile"}))["content"], "all:\n\tcc x.c\n");
    let arguments = json!({"path": "Makefile", "edits": [{"old": "    cc x.c", "new": "    cc -O2 x.c"}]});
    let message = tree.refused(EditFile, arguments, ErrorCode::TextNotFound);
    assert!(message.contains("differs from it only in whitespace"), "{message}");
    edit(&tree, "Makefile", "\tcc x.c", "\tcc -O2 x.c");
    assert_eq!(tree.read("Makefile"), b"all:\n\tcc -O2 x.c\n");
}

/// EDIT-22, READ-14: a byte order mark neither gets in the way nor gets lost.
#[test]
fn byte_order_marks_stay() {
    let tree = Tree::new("edit-bom");
    tree.file("f.cs", b"\xef\xbb\xbfusing A;\nB\n");
    edit(&tree, "f.cs", "using A;", "using Z;");
    edit(&tree, "f.cs", "B", "C");
    assert_eq!(tree.read("f.cs"), b"\xef\xbb\xbfusing Z;\nC\n");
}

/// READ-09: the rest of a file in another encoding survives an edit byte for byte.
#[test]
fn other_encodings_survive() {
    let tree = Tree::new("edit-encodings");
    tree.file("g.txt", b"\xc4\xe3\xba\xc3\nplain\n");
    edit(&tree, "g.txt", "plain", "simple");
    assert_eq!(tree.read("g.txt"), b"\xc4\xe3\xba\xc3\nsimple\n");
    let lossy = json!({"path": "g.txt", "edits": [{"old": "\u{FFFD}\u{FFFD}", "new": "x"}]});
    tree.refused(EditFile, lossy, ErrorCode::TextNotFound);
    tree.file("n.txt", b"\xff\xfeh\x00i\x00\r\x00\n\x00");
    edit(&tree, "n.txt", "hi\n", "hé\n");
    assert_eq!(tree.read("n.txt"), b"\xff\xfeh\x00\xe9\x00\r\x00\n\x00");
    tree.file("broken.txt", b"\xff\xfeh\x00\x00\xd8");
    let arguments = json!({"path": "broken.txt", "edits": [{"old": "h", "new": "x"}]});
    tree.refused(EditFile, arguments, ErrorCode::ValidationError);
}

/// EDIT-29: rights are kept, and an edit through a link changes the file and leaves the link.
#[test]
fn rights_and_links_are_kept() {
    let tree = Tree::new("edit-rights");
    let path = tree.file("r.sh", "#!/bin/sh\necho 1\n");
    tree.link("r.sh", "l");
    for (mode, through, old, new) in [(0o755, "r.sh", "1", "2"), (0o600, "r.sh", "2", "3"), (0o755, "l", "3", "4")] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(edit(&tree, through, old, new)["path"], "r.sh");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    assert!(tree.project().join("l").is_symlink());
    assert_eq!(tree.read("r.sh"), b"#!/bin/sh\necho 4\n");
}

/// PATH-02: an edit through a folder link is an edit of what is there.
#[test]
fn edits_lead_where_links_lead() {
    let tree = Tree::new("edit-links");
    fs::write(tree.root.join("outside/old"), "a").unwrap();
    tree.link(tree.root.join("outside"), "out");
    let facts = tree.facts(EditFile, json!({"path": "out/old", "edits": [{"old": "a", "new": "b"}]}));
    assert_eq!(facts.targets[0].resolved, tree.root.join("outside/old"));
    assert_eq!(fs::read(tree.root.join("outside/old")).unwrap(), b"a");
}

/// TOL-9: a file that changes between the decision and the deed is left alone, and a link put in its place, too.
#[test]
fn a_swap_between_the_phases_changes_nothing() {
    let tree = Tree::new("edit-swap");
    let path = tree.file("f", "one\n");
    let outside = tree.root.join("outside/f");
    fs::write(&outside, "one\n").unwrap();
    let output = block_on(async {
        let arguments = json!({"path": "f", "edits": [{"old": "one", "new": "two"}]});
        let prepared = tree.prepare(EditFile, arguments).await.unwrap();
        fs::remove_file(&path).unwrap();
        tree.link(&outside, "f");
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::PathConflict);
    assert_eq!(fs::read(&outside).unwrap(), b"one\n");
}

/// PRM-6: the prompt shows a diff of the text.
#[test]
fn the_preview_is_a_diff() {
    let tree = Tree::new("edit-preview");
    tree.file("n.txt", b"\xff\xfea\x00\n\x00");
    let facts = tree.facts(EditFile, json!({"path": "n.txt", "edits": [{"old": "a", "new": "b"}]}));
    assert_eq!(facts.preview, "+1 −1\n--- a/n.txt\n+++ b/n.txt\n@@ -1 +1 @@\n-a\n+b\n");
}

/// An edit that does not apply tells what is in the file; of a sensitive one not before anybody was asked, whether the
/// name or what it leads to is sensitive.
#[test]
fn sensitive_files_are_not_probed() {
    let tree = Tree::new("edit-sensitive");
    tree.file(".env", "TOKEN=abcdef123\n");
    tree.file("plain", "TOKEN=abcdef123\n");
    tree.link(".env", "to-env");
    tree.link("plain", ".env.link");
    let edits = json!([{"old": "TOKEN=abcdef12x", "new": "y"}]);
    for path in [".env", "to-env", ".env.link"] {
        let output = block_on(async {
            let prepared = tree.prepare(EditFile, json!({"path": path, "edits": edits})).await.unwrap();
            assert!(prepared.facts.preview.contains("does not apply"), "{path}");
            prepared.call.run().await
        });
        let error = output.error.unwrap();
        assert_eq!(error.code, ErrorCode::TextNotFound);
        assert!(!error.message.contains("abcdef123"), "FND-32: {error}");
    }
    let error = block_on(tree.prepare(EditFile, json!({"path": "plain", "edits": edits}))).unwrap_err();
    assert!(error.message.contains("abcdef123"), "{error}");
}

/// COD-5: an edit is exact, so it is applied to what others wrote; the result says that they did.
#[test]
fn foreign_changes_are_told() {
    let tree = Tree::new("edit-foreign");
    let path = tree.file("f", "one\n");
    tree.ok(ReadFile, json!({"path": "f"}));
    fs::write(&path, "zero\none\n").unwrap();
    let edited = edit(&tree, "f", "one", "two");
    assert!(edited["note"].as_str().unwrap().contains("had changed"), "{edited}");
    assert_eq!(edit(&tree, "f", "two", "three").get("note"), None);
}

/// FND-26: text in UTF-8 among bytes of another encoding is said, to whoever is asked and in the result; ASCII is the same in both.
#[test]
fn text_in_another_encoding_is_said() {
    let tree = Tree::new("edit-latin");
    tree.file("f", b"caf\xe9\nx\n");
    let into = |new: &str| json!({"path": "f", "edits": [{"old": "x", "new": new}]});
    let facts = tree.facts(EditFile, into("na\u{ef}ve"));
    assert!(facts.dangers[0].contains("written as UTF-8"), "{facts:?}");
    let edited = tree.ok(EditFile, into("na\u{ef}ve"));
    assert!(edited["note"].as_str().unwrap().contains("not UTF-8"), "{edited}");
    assert_eq!(tree.read("f"), b"caf\xe9\nna\xc3\xafve\n");
    let diff = json!({"path": "f", "unified_diff": "@@ -2 +2 @@\n-na\u{ef}ve\n+\u{e9}\n"});
    assert_eq!(tree.facts(EditFile, diff).dangers.len(), 1);
    tree.file("f", b"caf\xe9\nx\n");
    assert_eq!(tree.facts(EditFile, into("plain")).dangers, Vec::<String>::new());
    tree.file("f", "caf\u{e9}\nx\n");
    assert_eq!(tree.facts(EditFile, into("na\u{ef}ve")).dangers, Vec::<String>::new());
}

/// FND-30: a hard link that an edit splits is said in the result.
#[test]
fn split_hard_links_are_said() {
    let tree = Tree::new("edit-hard-link");
    for (others, said) in [(0, None), (1, Some("another name")), (3, Some("3 other names"))] {
        let path = tree.file("f", "one\n");
        for other in 0..others {
            let other = tree.root.join(format!("outside/{others}-{other}"));
            fs::hard_link(&path, &other).unwrap();
        }
        let edited = edit(&tree, "f", "one", "two");
        assert_eq!(
            edited["note"].as_str().is_some_and(|note| note.contains(said.unwrap_or("no"))),
            said.is_some(),
            "{edited}"
        );
        let overwritten =
            tree.ok(crate::write_file::WriteFile, json!({"path": "f", "content": "x\n", "overwrite": true}));
        assert_eq!(overwritten.get("note"), None, "it has one name now: {overwritten}");
        fs::remove_file(&path).unwrap();
    }
}
