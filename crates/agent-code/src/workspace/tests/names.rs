//! Names of any bytes: shown, and given back (COD-1, COD-10).

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use agent_policy::Verdict;
use agent_protocol::{path_from_shown, shown_path};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    edit_file::EditFile,
    list_dir::ListDir,
    read_file::ReadFile,
    run_command::RunCommand,
    search::Search,
    testing::{Tree, cases, question},
    write_file::WriteFile,
};

/// Names of bytes that are no text, of what stands for them, and of what is hard to see.
fn names() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 14] = [
        b"a",
        b"b",
        b"\\",
        b"x",
        b"E9",
        b"5C",
        b"0A",
        b"\xe9",
        b"\xff",
        b"\xe2\x80",
        b" ",
        b"\n",
        "\u{e9}\u{202e}".as_bytes(),
        b"\x1b",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 1..7).prop_map(|pieces| pieces.concat())
}

fn below(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(name))
}

fn entries(tree: &Tree, arguments: Value) -> Vec<String> {
    let listed = tree.ok(ListDir, arguments);
    listed["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

proptest! {
    #![proptest_config(cases(24))]

    /// FND-29, COD-1: whatever bytes a folder and a file are called by, how they are shown leads every tool to them: listing, reading,
    /// searching, editing, writing and the folder of a command.
    #[test]
    fn what_is_shown_leads_back(folder in names(), file in names(), other in names()) {
        let tree = Tree::new("names-back");
        let real = below(&tree.project(), &folder);
        let path = below(&real, &file);
        fs::create_dir(&real).unwrap();
        fs::write(&path, "needle\n").unwrap();

        let shown = entries(&tree, json!({"path": ".", "recursive": true}));
        prop_assert_eq!(shown.len(), 2);
        prop_assert_eq!(&entries(&tree, json!({"path": shown[0]})), &[shown_path(OsStr::from_bytes(&file)).into_owned()]);
        let (folder_shown, file_shown) = (&shown[0], &shown[1]);

        prop_assert_eq!(&tree.ok(ReadFile, json!({"path": file_shown}))["content"], "needle\n");
        for among in [".", folder_shown, file_shown] {
            let found = tree.ok(Search, json!({"query": "needle", "path": among}));
            prop_assert_eq!(&found["matches"][0]["path"], file_shown.as_str(), "in {}", among);
        }
        let target = tree.facts(ReadFile, json!({"path": file_shown})).targets.remove(0);
        let written = tree.rules().as_written(path_from_shown(&target.requested), &tree.project());
        prop_assert_eq!((&target.resolved, &written), (&path, &path));

        tree.ok(EditFile, json!({"path": file_shown, "edits": [{"old": "needle", "new": "thread"}]}));
        prop_assert_eq!(fs::read(&path).unwrap(), b"thread\n");
        let diff = format!("--- a/{file_shown}\n+++ b/{file_shown}\n@@ -1 +1 @@\n-thread\n+yarn\n");
        if !file_shown.contains(['\n', '\x1b']) {
            tree.ok(EditFile, json!({"path": file_shown, "unified_diff": diff}));
            prop_assert_eq!(fs::read(&path).unwrap(), b"yarn\n");
        }
        tree.ok(WriteFile, json!({"path": file_shown, "content": "cloth\n", "overwrite": true}));
        prop_assert_eq!(fs::read(&path).unwrap(), b"cloth\n");

        let made = below(&real, &[&other[..], b"-new"].concat());
        let new = format!("{folder_shown}/{}", shown_path(made.file_name().unwrap()));
        let result = tree.ok(WriteFile, json!({"path": new, "content": "new"}));
        prop_assert_eq!(&result["path"], new.as_str());
        prop_assert_eq!(fs::read(&made).unwrap(), b"new");

        tree.ok(RunCommand, json!({"argv": ["sh", "-c", "echo here > made"], "cwd": folder_shown}));
        prop_assert_eq!(fs::read(real.join("made")).unwrap(), b"here\n");
        prop_assert_eq!(fs::read_dir(tree.project()).unwrap().count(), 1, "nothing was made beside it");
    }
}

/// FND-29: the file of the byte and the one that is called like its escape are two, for every tool; neither NUL nor a slash comes out
/// of a name.
#[test]
fn an_escape_leads_to_the_byte() {
    let tree = Tree::new("names-two");
    for (name, content) in [(&b"caf\xe9"[..], "byte"), (b"caf\\xE9", "text")] {
        fs::write(below(&tree.project(), name), content).unwrap();
    }
    fs::create_dir(tree.project().join("d")).unwrap();
    fs::write(tree.project().join("d/f"), "below").unwrap();
    for (path, content) in [("caf\\xE9", "byte"), ("caf\\xe9", "byte"), ("caf\\x5CxE9", "text")] {
        assert_eq!(tree.ok(ReadFile, json!({"path": path}))["content"], content, "{path}");
    }
    for path in ["d\\x2Ff", "d\\x2ff", "caf\\x00"] {
        let error = tree.err(ReadFile, json!({"path": path}));
        assert!(error.message.contains("does not exist"), "{error}");
    }
    let error = tree.err(ReadFile, json!({"path": "caf\\xEA"}));
    assert!(error.message.contains("caf\\xE9"), "{error}");
}

/// FND-29, PRM-6: a question shows such a name in the same form, and what is decided about is the file itself.
#[test]
fn questions_show_the_same_form() {
    let tree = Tree::new("names-question");
    for name in [&b"caf\xe9.pem"[..], b"caf\x99.pem"] {
        let shown = shown_path(OsStr::from_bytes(name)).into_owned();
        fs::write(below(&tree.project(), name), "x").unwrap();
        let reasons = question(tree.verdict(ReadFile, json!({"path": shown}))).reasons;
        assert_eq!(reasons, [format!("{shown} may hold secrets (*.pem)")], "{reasons:?}");
    }
    // Two projects whose names differ in a byte are two.
    fs::write(below(&tree.project(), b"caf\xe9"), "x").unwrap();
    assert!(matches!(tree.verdict(ReadFile, json!({"path": "caf\\xE9"})), Verdict::Allow { .. }));
}

/// COD-4: a glob has no form for such a byte, and says what it has.
#[test]
fn globs_have_no_bytes() {
    let tree = Tree::new("names-glob");
    fs::write(below(&tree.project(), b"caf\xe9.txt"), "needle").unwrap();
    let error = tree.err(Search, json!({"query": "needle", "glob": "caf\\xE9.txt"}));
    assert!(error.message.contains("write ?"), "{error}");
    let found = tree.ok(Search, json!({"query": "needle", "glob": "caf?.txt"}));
    assert_eq!(found["matches"][0]["path"], "caf\\xE9.txt", "{found}");
    assert!(found["note"].as_str().unwrap().contains("give the path as it is shown"), "{found}");
}
