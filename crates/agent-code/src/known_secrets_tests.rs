//! Known secrets at every place around every cut (STO-10): what a tool gives is masked by whoever stores it, so no piece of a
//! secret may be left that cannot be recognised.

use agent_redact::{KnownSecrets, within};
use serde_json::{Value, json};

use crate::{
    edit_file::EditFile,
    read_file::ReadFile,
    run_command::RunCommand,
    search::Search,
    testing::{Tree, block_on, data},
};

const KEY: &str = "sk-Zq7Jm2Xw9Lp4Vb6Nc8Kd3";

/// A tree that knows the key.
fn tree(name: &str) -> Tree {
    let mut tree = Tree::new(name);
    tree.context.secrets = KnownSecrets::new([("API_KEY", KEY)]).unwrap();
    tree
}

/// No piece of the key of 8 or more characters is in what is shown of a text.
#[track_caller]
fn check(tree: &Tree, mut shown: String, what: &str) {
    within::in_text(&tree.context.secrets, &mut shown);
    for piece in KEY.as_bytes().windows(8) {
        let piece = std::str::from_utf8(piece).unwrap();
        assert!(!shown.contains(piece), "{what}: {piece} is in {shown}");
    }
}

/// Of a result, all its strings.
#[track_caller]
fn check_result(tree: &Tree, result: &Value, what: &str) {
    check(tree, result.to_string(), what);
}

fn line(before: usize, after: usize) -> String {
    format!("{}{KEY}{}", "a".repeat(before), "z".repeat(after))
}

/// STO-10: a line that `read_file` cuts ends before a key or behind it, and what it says shows the rest begins there.
#[test]
fn cut_lines_that_are_read() {
    let tree = tree("secrets-read");
    for before in 4096 - KEY.len() - 2..=4098 {
        tree.file("f", format!("{}\nb\n", line(before, 50)));
        let result = tree.ok(ReadFile, json!({"path": "f"}));
        check_result(&tree, &result, &format!("a key at {before}"));
        let shown = result["content"].as_str().unwrap().lines().next().unwrap().len();
        let whole = before >= 4096 || before + KEY.len() <= 4096;
        assert_eq!(shown, if whole { 4096 } else { before });
        assert!(result["note"].as_str().unwrap().contains(&format!("cut -b {}-", shown + 1)), "{result}");
    }
    for before in 0..2 {
        tree.file("f", format!("{}{}", "\u{e9}".repeat(2040 + before), line(before, 5000)));
        check_result(&tree, &tree.ok(ReadFile, json!({"path": "f"})), "letters of two bytes");
    }
}

/// STO-10: the part of a line that a search shows begins and ends around a key.
#[test]
fn excerpts_of_searches() {
    let tree = tree("secrets-search");
    for between in (60..130).chain(150..310) {
        for (text, side) in [
            (format!("{}needle{}", "x".repeat(400), line(between, 400)), "behind"),
            (format!("{}needle{}", line(400, between), "x".repeat(400)), "before"),
        ] {
            tree.file("f", text);
            let result = tree.ok(Search, json!({"query": "needle", "path": "f"}));
            assert!(result.to_string().contains("needle"), "{result}");
            check_result(&tree, &result, &format!("a key {between} {side}"));
        }
    }
}

/// STO-10: what a failed edit tells of a file: its lines, those that differ in blanks, those that are alike, and what a diff
/// names.
#[test]
fn failed_edits() {
    let tree = tree("secrets-edit");
    for before in 130..=202 {
        let line = line(before, 300);
        tree.file("f", format!("one\n\t{line}\nthree\n"));
        let other = line.replacen('a', "b", 1);
        for arguments in [
            json!({"path": "f", "edits": [{"old": "nothing like it", "new": "x"}]}),
            json!({"path": "f", "edits": [{"old": format!("one\n    {line}"), "new": "x"}]}),
            json!({"path": "f", "edits": [{"old": format!("  {other}"), "new": "x"}]}),
            json!({"path": "f", "edits": [{"old": "", "new": "x"}]}),
            json!({"path": "f", "unified_diff": format!("@@ -1,2 +1,1 @@\n one\n-{other}\n")}),
            json!({"path": "f", "unified_diff": format!("@@ -2,1 +2,1 @@ {line}\n-    {line}\n+x\n")}),
            json!({"path": "f", "unified_diff": format!("--- {line}\n+++ {line}\n@@ -1 +1 @@\n-one\n+x\n")}),
        ] {
            let error = tree.err(EditFile, arguments);
            check(&tree, error.message, &format!("a key at {before}"));
        }
    }
}

/// STO-10: the head and the tail of what a command prints.
#[test]
fn outputs_of_commands() {
    let mut tree = tree("secrets-output");
    tree.limits.stdout_bytes = 600;
    for before in (0..700).step_by(7) {
        tree.file("f", line(before, 1400 - before));
        let output = block_on(tree.call(RunCommand, json!({"argv": ["cat", "f"]})));
        check_result(&tree, &data(&output), &format!("a key at {before}"));
        tree.file("f", line(1400 - before, before));
        let output = block_on(tree.call(RunCommand, json!({"argv": ["cat", "f"]})));
        check_result(&tree, &data(&output), &format!("a key {before} from the end"));
    }
}

/// STO-10: a name that holds a key is masked in what is shown; that it cannot be given back is said where it is shown, and where
/// somebody tries.
#[test]
fn names_that_hold_a_key() {
    let tree = tree("secret-names");
    tree.file(&format!("logs/{KEY}.txt"), "needle");
    let note = |result: &Value| result["note"].as_str().unwrap_or_default().to_owned();
    for result in [
        tree.ok(crate::list_dir::ListDir, json!({"path": "logs"})),
        tree.ok(crate::list_dir::ListDir, json!({"path": ".", "recursive": true})),
        tree.ok(Search, json!({"query": "needle"})),
    ] {
        assert!(note(&result).contains("does not lead there as it is shown"), "{result}");
        check_result(&tree, &result, "names");
    }
    let plain = tree.ok(Search, json!({"query": "nothing"}));
    assert!(!note(&plain).contains("as it is shown"), "{plain}");
    let shown = json!({"path": "logs/[secret API_KEY].txt"});
    for error in [tree.err(ReadFile, shown.clone()), tree.err(Search, json!({"query": "x", "path": shown["path"]}))] {
        assert!(error.message.contains("[secret API_KEY] stands for a value that is not shown"), "{error}");
    }
    let error = tree.err(ReadFile, json!({"path": "logs/other"}));
    assert!(!error.message.contains("stands for"), "{error}");
}
