//! What is no ordinary file: pipes, sockets, devices, files of the system, and things with the names of ignore files.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    time::Duration,
};

use agent_protocol::ErrorCode;
use serde_json::{Value, json};

use crate::{
    edit_file::EditFile,
    list_dir::ListDir,
    place::{Found, OpenFile, Pinned},
    read_file::ReadFile,
    search::Search,
    testing::{Tree, block_on, data},
    tool::CodeTool,
    workspace::Workspace,
    write_file::WriteFile,
};

/// A call that must come to an end by itself.
#[track_caller]
fn in_time<T: CodeTool>(tree: &Tree, tool: fn(Workspace) -> T, arguments: Value) -> Value {
    let output =
        block_on(async { tokio::time::timeout(Duration::from_secs(60), tree.call(tool, arguments.clone())).await });
    data(&output.unwrap_or_else(|_| panic!("{arguments} hangs")))
}

/// COD-2, COD-5: what is no file is refused by every tool, under its own name and through a link, and is not opened.
#[test]
fn special_files_are_refused() {
    let tree = Tree::new("special");
    tree.pipe("pipe");
    let _socket = UnixListener::bind(tree.project().join("socket")).unwrap();
    tree.link("pipe", "link");
    tree.link("/dev/zero", "zero");
    for path in ["pipe", "socket", "link", "zero", "/dev/zero", "/dev/null", "/dev/full", "pipe/", "pipe/."] {
        let refused = |message: String| assert!(message.contains("only regular files"), "{path}: {message}");
        refused(tree.refused(ReadFile, json!({"path": path}), ErrorCode::ValidationError));
        refused(tree.refused(Search, json!({"path": path, "query": "x"}), ErrorCode::ValidationError));
        let arguments = json!({"path": path, "content": "x", "overwrite": true});
        refused(tree.refused(WriteFile, arguments, ErrorCode::ValidationError));
        let arguments = json!({"path": path, "edits": [{"old": "a", "new": "b"}]});
        refused(tree.refused(EditFile, arguments, ErrorCode::ValidationError));
    }
    // Whatever our own input is, it is not read.
    assert!(block_on(tree.call(ReadFile, json!({"path": "/dev/stdin"}))).error.is_some());
}

/// COD-1: what is there when the file is opened is looked at before it is, so that a pipe put in its place neither holds
/// the call nor wakes whoever waits for a reader.
#[test]
fn a_pipe_is_not_opened() {
    let tree = Tree::new("special-pinned");
    tree.file("f", "x");
    let Found::Entry { folder, name, .. } = tree.workspace().find("f").unwrap() else { panic!("a file") };
    let pinned = Pinned::new(&folder, &name).unwrap();
    fs::rename(tree.project().join("f"), tree.project().join("g")).unwrap();
    tree.pipe("f");
    let opened = OpenFile::open(&folder, &name, |_| panic!("it is no file"));
    assert!(opened.unwrap().is_err());
    let writer = rustix::fs::open(
        tree.project().join("f"),
        rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK,
        rustix::fs::Mode::empty(),
    );
    assert_eq!(writer.unwrap_err(), rustix::io::Errno::NXIO, "somebody reads");
    // What was held before is what is read.
    if cfg!(target_os = "linux") {
        assert_eq!(std::io::read_to_string(pinned.open().unwrap()).unwrap(), "x");
    } else {
        assert!(pinned.open().is_err());
    }
}

/// COD-1: what was accepted is what is opened, though its name is another file's by then; so our session database, which is
/// never accepted, cannot slip in (DEC-29).
#[test]
fn what_is_accepted_is_opened() {
    let tree = Tree::new("special-accepted");
    tree.file("f", "accepted");
    tree.file("other", "not accepted");
    let Found::Entry { folder, name, .. } = tree.workspace().find("f").unwrap() else { panic!("a file") };
    let opened = OpenFile::open(&folder, &name, |_| fs::rename(tree.project().join("other"), tree.project().join("f")));
    if cfg!(target_os = "linux") {
        let opened = opened.unwrap().unwrap();
        assert_eq!(std::io::read_to_string(&opened.file).unwrap(), "accepted");
    } else {
        assert!(opened.is_err());
    }
}

/// DEC-29: a search opens our session database under no name either.
#[test]
fn the_session_database_is_not_searched() {
    let tree = Tree::new("special-database");
    let database = tree.root.join("home/sessions.sqlite");
    fs::write(&database, "needle").unwrap();
    fs::hard_link(&database, tree.project().join("a.txt")).unwrap();
    tree.file("b.txt", "needle");
    let found = tree.ok(Search, json!({"query": "needle"}));
    assert_eq!((&found["matches"][0]["path"], &found["matches"][1]), (&json!("b.txt"), &Value::Null));
    assert_eq!(found["note"], "not searched: 1 unreadable: a.txt");
}

/// COD-2: files of the system say that they are empty, and are not.
#[cfg(target_os = "linux")]
#[test]
fn files_without_a_size() {
    let tree = Tree::new("special-proc");
    let page = in_time(&tree, ReadFile, json!({"path": "/proc/self/status"}));
    assert!(page["content"].as_str().unwrap().contains("Name:"), "{page}");
    let found = in_time(&tree, Search, json!({"path": "/proc/self/status", "query": "^Pid:"}));
    assert_eq!(found["matches"].as_array().unwrap().len(), 1, "{found}");
    // These have more content than fits anywhere, or none until something happens.
    for path in ["/proc/self/pagemap", "/proc/kallsyms"] {
        in_time_or_refused(&tree, path);
    }
}

#[cfg(target_os = "linux")]
fn in_time_or_refused(tree: &Tree, path: &str) {
    let call = tree.call(ReadFile, json!({"path": path, "start_line": 1_000_000_000_000u64}));
    let output = block_on(async { tokio::time::timeout(Duration::from_secs(60), call).await });
    assert!(output.is_ok(), "{path} hangs");
}

/// COD-3, COD-4, SRCH-06: nothing that has an ignore file's name holds a listing or a search, or fills the memory.
#[test]
fn ignore_files_that_are_none() {
    let tree = Tree::new("special-ignore-files");
    tree.file("d/a", "needle");
    tree.file("e/a", "needle");
    tree.file("f/a", "needle");
    tree.pipe(".gitignore");
    tree.link("/dev/zero", ".ignore");
    tree.link("/dev/zero", "d/.gitignore");
    tree.file("e/.ignore/x", "needle");
    fs::create_dir_all(tree.project().join(".git/info")).unwrap();
    tree.pipe(".git/info/exclude");
    tree.file("outside-rules", "a\n");
    tree.link("../outside-rules", "f/.gitignore");
    let listed = in_time(&tree, ListDir, json!({"path": ".", "recursive": true}));
    let paths: Vec<&str> = listed["entries"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert!(["d/a", "e/a", "e/.ignore/x", "f/a"].iter().all(|path| paths.contains(path)), "{paths:?}");
    let found = in_time(&tree, Search, json!({"query": "needle"}));
    assert_eq!(found["matches"].as_array().unwrap().len(), 4, "{found}");
    // The same where they count from above.
    let found = in_time(&tree, Search, json!({"query": "needle", "path": "d"}));
    assert_eq!(found["matches"].as_array().unwrap().len(), 1, "{found}");
}

/// COD-1: no link is followed on the way to a folder, neither by the system's own means nor step by step.
#[test]
fn folders_below_are_reached_without_links() {
    let tree = Tree::new("special-below");
    tree.file("d/e/f", "x");
    symlink(tree.root.join("outside"), tree.project().join("d/out")).unwrap();
    symlink("e", tree.project().join("d/in")).unwrap();
    fs::create_dir(tree.root.join("outside/deep")).unwrap();
    let Found::Folder(folder) = tree.workspace().find(".").unwrap() else { panic!("a folder") };
    for (path, reached) in [
        ("", true),
        ("d", true),
        ("d/e", true),
        ("d/out", false),
        ("d/out/deep", false),
        ("d/in", false),
        ("..", false),
        ("d/../../outside", false),
        ("d/e/f", false),
        ("nowhere", false),
        ("/", false),
    ] {
        let path = std::path::Path::new(path);
        assert_eq!(folder.child_below(path).is_ok(), reached, "{path:?}");
        assert_eq!(folder.child_step_by_step(path).is_ok(), reached, "{path:?}");
    }
    let inside = folder.child_below("d/e".as_ref()).unwrap();
    symlink("f", tree.project().join("d/e/link")).unwrap();
    assert!(inside.open_file("f".as_ref()).is_ok() && inside.open_file("link".as_ref()).is_err());
}
