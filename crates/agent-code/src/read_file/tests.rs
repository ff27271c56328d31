use std::{fs, sync::Arc};

use agent_policy::TargetKind;
use agent_protocol::ErrorCode;
use agent_tool::FileVersion;
use serde_json::{Value, json};

use super::ReadFile;
use crate::testing::{Tree, block_on, data};

fn read(tree: &Tree, arguments: Value) -> Value {
    tree.ok(ReadFile, arguments)
}

/// The contract's fields, and no others when there is nothing else to say.
#[test]
fn the_contracts_result() {
    let tree = Tree::new("read-result");
    tree.file("src/a.txt", "one\n\ttwo\r\nthree\n");
    assert_eq!(
        read(&tree, json!({"path": "src/../src/a.txt"})),
        json!({
            "path": "src/a.txt", "content": "one\n\ttwo\r\nthree\n", "truncated": false, "next_start_line": null,
            "truncated_lines": [], "binary": false,
        })
    );
}

/// COD-2: 200 lines by default, and the next ones follow on.
#[test]
fn pages_follow_on() {
    let tree = Tree::new("read-pages");
    let text: String = (1..=450).map(|n| format!("line {n}\n")).collect();
    tree.file("a", &text);
    let (mut whole, mut next, mut pages) = (String::new(), json!(1), 0);
    while !next.is_null() {
        let page = read(&tree, json!({"path": "a", "start_line": next}));
        whole.push_str(page["content"].as_str().unwrap());
        assert_eq!(page["truncated"], !page["next_start_line"].is_null());
        next = page["next_start_line"].clone();
        pages += 1;
    }
    assert_eq!((whole, pages), (text, 3));
    let page = read(&tree, json!({"path": "a", "start_line": 3, "max_lines": 2}));
    assert_eq!((&page["content"], &page["next_start_line"]), (&json!("line 3\nline 4\n"), &json!(5)));
}

/// READ-01: of a huge line its beginning is shown, and that there is no more to come.
#[test]
fn huge_lines_are_cut() {
    let tree = Tree::new("read-huge-line");
    tree.file("big.txt", "a".repeat(2_000_000) + "\n");
    let page = read(&tree, json!({"path": "big.txt"}));
    assert_eq!(page["content"], "a".repeat(4096));
    assert_eq!(
        (&page["truncated"], &page["truncated_lines"], &page["next_start_line"]),
        (&json!(true), &json!([1]), &Value::Null)
    );
}

/// READ-02: cuts fall between characters.
#[test]
fn cuts_fall_between_characters() {
    let tree = Tree::new("read-characters");
    tree.file("a", format!("a{}\n{}\nend\n", "é".repeat(3000), "🛡".repeat(1500)));
    let page = read(&tree, json!({"path": "a"}));
    let expected = format!("a{}\n{}\nend\n", "é".repeat(2047), "🛡".repeat(1024));
    assert_eq!((&page["content"], &page["truncated_lines"]), (&json!(expected), &json!([1, 2])));
}

/// READ-04: what aliases of `/proc` lead to is told as what it is, so that the rules see it.
#[cfg(target_os = "linux")]
#[test]
fn proc_aliases_are_seen_through() {
    let tree = Tree::new("read-proc");
    let rules = tree.rules();
    let pid = std::process::id();
    let ssh = tree.root.join("user/.ssh/id_rsa");
    fs::write(&ssh, "key").unwrap();
    for (requested, resolved) in [
        ("/proc/self/environ".to_owned(), format!("/proc/{pid}/environ")),
        ("/proc/self/maps".to_owned(), format!("/proc/{pid}/maps")),
        (format!("/proc/self/root{}", ssh.display()), ssh.display().to_string()),
        (format!("/proc/{pid}/task/{pid}/environ"), format!("/proc/{pid}/task/{pid}/environ")),
    ] {
        let facts = tree.facts(ReadFile, json!({"path": requested}));
        let target = &facts.targets[0];
        assert_eq!(target.resolved.display().to_string(), resolved);
        assert!(rules.sensitive(&target.resolved).is_some(), "{requested}");
    }
    let facts = tree.facts(ReadFile, json!({"path": "/proc/thread-self/environ"}));
    assert!(rules.sensitive(&facts.targets[0].resolved).is_some());
}

/// READ-06: beyond the end it says how many lines there are.
#[test]
fn beyond_the_end() {
    let tree = Tree::new("read-beyond");
    tree.file("five", "1\n2\n3\n4\n5\n");
    tree.file("none", "");
    let page = read(&tree, json!({"path": "five", "start_line": 100}));
    assert_eq!(
        (&page["content"], &page["truncated"], &page["note"]),
        (&json!(""), &json!(false), &json!("the file has 5 lines; there is no line 100"))
    );
    assert_eq!(
        read(&tree, json!({"path": "five", "start_line": 6}))["note"],
        "the file has 5 lines; there is no line 6"
    );
    assert_eq!(read(&tree, json!({"path": "none"}))["note"], "the file is empty");
}

/// READ-09: UTF-16 is decoded; other text is shown as far as it can be, with a flag.
#[test]
fn other_encodings() {
    let tree = Tree::new("read-encodings");
    tree.file("n.txt", b"\xff\xfeh\x00i\x00\n\x00");
    tree.file("g.txt", b"\xc4\xe3\xba\xc3\n");
    let page = read(&tree, json!({"path": "n.txt"}));
    assert_eq!(
        (&page["content"], &page["encoding"], &page["binary"]),
        (&json!("hi\n"), &json!("utf-16le"), &json!(false))
    );
    let page = read(&tree, json!({"path": "g.txt"}));
    assert!(page["content"].as_str().unwrap().contains('\u{FFFD}'));
    assert_eq!(page["lossy"], true);
}

/// READ-11: a last line without a line end is a line.
#[test]
fn last_line_without_end() {
    let tree = Tree::new("read-last-line");
    tree.file("f", "a\nb\nc");
    let page = read(&tree, json!({"path": "f", "start_line": 3}));
    assert_eq!((&page["content"], &page["truncated"]), (&json!("c"), &json!(false)));
}

/// READ-14: the byte order mark is not text.
#[test]
fn byte_order_marks_are_not_shown() {
    let tree = Tree::new("read-bom");
    tree.file("f.py", "\u{FEFF}import os\n");
    assert_eq!(read(&tree, json!({"path": "f.py"}))["content"], "import os\n");
    assert_eq!(tree.read("f.py"), "\u{FEFF}import os\n".as_bytes());
}

/// COD-2: binary files are told, not shown, wherever the NUL is.
#[test]
fn binary_files() {
    let tree = Tree::new("read-binary");
    tree.file("a.bin", b"ELF\0\x01");
    tree.file("late.bin", ["x\n".repeat(8000).as_bytes(), b"y\0\n"].concat());
    for arguments in [json!({"path": "a.bin"}), json!({"path": "late.bin", "start_line": 7990})] {
        let page = read(&tree, arguments);
        assert_eq!((&page["content"], &page["binary"]), (&json!(""), &json!(true)));
    }
}

/// COD-2: what is no file is refused at once; a folder points to the right tool; a missing file has near names.
#[test]
fn what_is_no_file() {
    let tree = Tree::new("read-special");
    tree.pipe("pipe");
    tree.file("src/main.rs", "");
    tree.file("keys/.env/secret-one", "");
    let refused = |path: &str, code, part: &str| {
        let message = tree.refused(ReadFile, json!({"path": path}), code);
        assert!(message.contains(part), "{message}");
    };
    refused("pipe", ErrorCode::ValidationError, "named pipe");
    refused("/dev/null", ErrorCode::ValidationError, "device");
    refused("src", ErrorCode::ValidationError, "code.list_dir");
    refused("src/mian.rs", ErrorCode::FileNotFound, "did you mean src/main.rs?");
    refused("scr/main.rs", ErrorCode::FileNotFound, "did you mean src?");
    refused("src/main.rs/x", ErrorCode::FileNotFound, "not a folder");
    // Names in a sensitive folder are not told to whoever guesses.
    let message = tree.refused(ReadFile, json!({"path": "keys/.env/secret-on"}), ErrorCode::FileNotFound);
    assert!(!message.contains("secret-one"), "{message}");
}

/// READ-12: the system's refusal is not taken for ours.
#[cfg(target_os = "linux")]
#[test]
fn the_systems_refusal_is_told_as_such() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("read-locked");
    fs::set_permissions(tree.file("locked", "x"), fs::Permissions::from_mode(0o000)).unwrap();
    let workspace = tree.workspace();
    let error = crate::testing::without_privileges(|| workspace.open_file("locked").unwrap_err());
    assert_eq!((error.code, &error.details["kind"]), (ErrorCode::PermissionDenied, &json!("os_permission")));
    assert!(error.message.contains("by the operating system"), "{error}");
}

/// TOL-9, COD-1: what was decided about is what is read, though the name leads elsewhere by then.
#[test]
fn a_swap_between_the_phases_changes_nothing() {
    let tree = Tree::new("read-swap");
    let file = tree.file("a", "decided\n");
    fs::write(tree.root.join("outside/secret"), "secret\n").unwrap();
    let output = block_on(async {
        let prepared = tree.prepare(ReadFile, json!({"path": "a"})).await.unwrap();
        let target = &prepared.facts.targets[0];
        assert_eq!((&target.resolved, target.kind), (&file, TargetKind::File));
        fs::remove_file(&file).unwrap();
        tree.link(tree.root.join("outside/secret"), "a");
        prepared.call.run().await
    });
    assert_eq!(data(&output)["content"], "decided\n");
}

/// COD-5: what was read is remembered, by content where that is cheap.
#[test]
fn versions_are_recorded() {
    let tree = Tree::new("read-versions");
    let small = tree.file("small", "x");
    let big = tree.file("big", "x\n".repeat(3_000_000));
    read(&tree, json!({"path": "small"}));
    read(&tree, json!({"path": "big"}));
    let versions = Arc::clone(&tree.context.versions);
    assert_eq!(versions.seen(&small), Some(FileVersion::Content(*blake3::hash(b"x").as_bytes())));
    assert!(matches!(versions.seen(&big), Some(FileVersion::Stamp(stamp)) if stamp.size == 6_000_000));
}

/// COD-2, PERF-7: the start of a huge file costs what it shows. The file is sparse: reading it whole would take minutes
/// and memory that is not there.
#[test]
fn the_start_of_a_huge_file() {
    let tree = Tree::new("read-sparse");
    let path = tree.file("huge", "first\n".repeat(4000));
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(1 << 40).unwrap();
    let page = read(&tree, json!({"path": "huge", "max_lines": 1}));
    assert_eq!((&page["content"], &page["next_start_line"]), (&json!("first\n"), &json!(2)));
}

/// COD-2: a file that grows while it is read is read as it was, so that there is an end to looking for a line of it.
#[test]
fn growing_files_have_an_end() {
    let tree = Tree::new("read-growing");
    let path = tree.file("log", "x\n".repeat(3_000_000));
    let output = block_on(async {
        let prepared = tree.prepare(ReadFile, json!({"path": "log", "start_line": 4_000_000})).await.unwrap();
        fs::write(&path, "x\n".repeat(5_000_000)).unwrap();
        prepared.call.run().await
    });
    assert_eq!(data(&output)["note"], "the file has 3000000 lines; there is no line 4000000");
}

#[test]
fn a_cancelled_call_reads_nothing() {
    let tree = Tree::new("read-cancel");
    tree.file("big", "x\n".repeat(3_000_000));
    let output = block_on(async {
        let prepared = tree.prepare(ReadFile, json!({"path": "big"})).await.unwrap();
        tree.context.cancel.cancel();
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::Cancelled);
}

/// FND-24: what was cut off a line can be reached, and the result says how.
#[test]
fn the_rest_of_a_long_line_is_named() {
    use crate::run_command::RunCommand;
    let tree = Tree::new("read-long-line");
    tree.file("a b.txt", format!("short\n{}{}\n", "x".repeat(4096), "y".repeat(5000)));
    let page = read(&tree, json!({"path": "a b.txt"}));
    let note = page["note"].as_str().unwrap();
    assert!(note.starts_with("line 2 has 9096 bytes and was cut; code.search finds text in it"), "{note}");
    let start = note.find("[\"sh\"").unwrap();
    let argv: Vec<String> = serde_json::from_str(&note[start..=note.rfind(']').unwrap()]).unwrap();
    let ran = tree.ok(RunCommand, json!({"argv": argv}));
    assert_eq!(ran["stdout"], format!("{}\n", "y".repeat(5000)));
}

/// FND-32: a wrong path brings the names there are, as long as all of them may be read unasked; a folder, the call for it.
#[test]
fn a_wrong_path_brings_the_names_there_are() {
    let tree = Tree::new("read-names");
    for name in ["src/main.rs", "src/lib.rs", "src/.env", "src/key.pem"] {
        tree.file(name, "");
    }
    let message = tree.refused(ReadFile, json!({"path": "src/server.go"}), ErrorCode::FileNotFound);
    assert!(message.ends_with("; src has lib.rs, main.rs"), "{message}");
    let message = tree.refused(ReadFile, json!({"path": "src"}), ErrorCode::ValidationError);
    assert!(message.contains(r#"code.list_dir {"path":"src"}"#), "{message}");
    let mut settings = tree.settings();
    settings.reading_is_free = false;
    let tool = crate::tool::Blocking::new(ReadFile(crate::workspace::Workspace::new(settings)));
    let arguments = crate::testing::object(json!({"path": "src/server.go"}));
    let error = block_on(agent_tool::Tool::prepare(&tool, arguments, tree.context.clone())).unwrap_err();
    assert_eq!(error.message, "src/server.go does not exist");
    // Neither those in it nor those like it.
    let arguments = crate::testing::object(json!({"path": "src/mian.rs"}));
    let error = block_on(agent_tool::Tool::prepare(&tool, arguments, tree.context.clone())).unwrap_err();
    assert_eq!(error.message, "src/mian.rs does not exist");
    for n in 0..2000 {
        tree.file(&format!("many/{n:04}-{}", "long".repeat(10)), "");
    }
    let message = tree.refused(ReadFile, json!({"path": "many/x"}), ErrorCode::FileNotFound);
    assert!(message.contains("… (2000 in all)") && message.len() < 1600, "{}", message.len());
}

/// FND-30: a stream of this process is not said to be missing.
#[cfg(target_os = "linux")]
#[test]
fn streams_are_no_files() {
    use std::os::fd::AsRawFd;
    let tree = Tree::new("read-streams");
    let (end, _other) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", end.as_raw_fd());
    let message = tree.refused(ReadFile, json!({"path": path}), ErrorCode::ValidationError);
    assert!(message.contains("is a named pipe; only regular files can be used"), "{message}");
}

/// COD-2: UTF-32 is said not to be read, and is neither edited nor kept by an overwrite in silence.
#[test]
fn utf_32_is_not_read() {
    use crate::{edit_file::EditFile, write_file::WriteFile};
    for content in [&b"\xff\xfe\0\0a\0\0\0"[..], b"\0\0\xfe\xff\0\0\0a"] {
        let tree = Tree::new("read-utf-32");
        tree.file("f", content);
        let read = tree.ok(ReadFile, json!({"path": "f"}));
        assert_eq!(
            (&read["binary"], &read["encoding"], &read["content"]),
            (&json!(true), &json!("utf-32"), &json!(""))
        );
        assert!(read["note"].as_str().unwrap().contains("UTF-32, which is not read"), "{read}");
        let error = tree.err(EditFile, json!({"path": "f", "edits": [{"old": "a", "new": "b"}]}));
        assert!(error.message.contains("UTF-32"), "{error}");
        let written = tree.ok(WriteFile, json!({"path": "f", "content": "b", "overwrite": true}));
        assert!(written["note"].as_str().unwrap().contains("UTF-32"), "{written}");
    }
}
