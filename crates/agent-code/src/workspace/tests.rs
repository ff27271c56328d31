mod cases;
#[cfg(target_os = "linux")]
mod names;
mod properties;
mod races;
mod special;

use super::*;
use crate::{place::Found, second_names::SecondNames, testing::Tree};
use std::fs;

fn found(tree: &Tree, requested: &str) -> Result<PathBuf, ErrorPayload> {
    Ok(match tree.workspace().find(requested)? {
        Found::Folder(folder) => folder.path().to_owned(),
        Found::Entry { folder, name, .. } => folder.path().join(name),
        Found::Missing { folder, missing } => {
            missing.iter().fold(folder.path().to_owned(), |path, name| path.join(name))
        }
    })
}

/// PATH-12: odd spellings are what they are; only `~` is expanded.
#[test]
fn odd_spellings() {
    let tree = Tree::new("spellings");
    tree.file(".env", "x");
    let check =
        |requested: &str, expected: PathBuf| assert_eq!(found(&tree, requested).unwrap(), expected, "{requested}");
    let project = tree.project();
    check("~", tree.root.join("user"));
    check("~/.ssh/id_rsa", tree.root.join("user/.ssh/id_rsa"));
    check("~root/x", project.join("~root/x"));
    check("./~/x", project.join("~/x"));
    check("$HOME/.ssh/id_rsa", project.join("$HOME/.ssh/id_rsa"));
    check("%2e%2e/x", project.join("%2e%2e/x"));
    check("a\\..\\..\\x", project.join("a\\..\\..\\x"));
    check(" .env", project.join(" .env"));
    check(".env/", project.join(".env"));
    check(".env/.", project.join(".env"));
    for requested in ["", "x\0.txt"] {
        assert_eq!(found(&tree, requested).unwrap_err().code, ErrorCode::ValidationError);
    }
}

/// FND-71: a project that is gone is what is missing, whatever path in it is asked for, and nothing makes it again; what lies
/// elsewhere is where it was.
#[test]
fn a_project_that_is_gone_is_said() {
    use crate::{
        edit_file::EditFile, list_dir::ListDir, read_file::ReadFile, run_command::RunCommand, write_file::WriteFile,
    };
    use serde_json::json;
    let moves: [&dyn Fn(&Tree); 2] = [&|tree| fs::remove_dir_all(tree.project()).unwrap(), &|tree| {
        fs::rename(tree.project(), tree.root.join("elsewhere")).unwrap()
    }];
    for change in moves {
        let tree = Tree::new("gone");
        tree.file("f", "x\n");
        fs::write(tree.root.join("outside/f"), "theirs\n").unwrap();
        change(&tree);
        let absolute = tree.project().join("f").display().to_string();
        let edit = |path: &str| json!({"path": path, "edits": [{"old": "x", "new": "y"}], "create_if_missing": true});
        let write = |path: &str| json!({"path": path, "content": "x"});
        let code = ErrorCode::FileNotFound;
        let mut said = vec![
            tree.refused(ReadFile, json!({"path": "f"}), code),
            tree.refused(ListDir, json!({"path": "."}), code),
            tree.refused(EditFile, edit("f"), code),
            tree.refused(RunCommand, json!({"argv": ["true"]}), code),
        ];
        said.extend(["f", "new/f", "a/b/c", &absolute].map(|path| tree.refused(WriteFile, write(path), code)));
        for message in said {
            assert!(message.contains("project folder") && message.contains("is gone"), "{message}");
        }
        assert!(!tree.project().exists());
        let outside = tree.root.join("outside/f").display().to_string();
        assert_eq!(tree.ok(ReadFile, json!({"path": outside}))["content"], "theirs\n");
    }
}

/// FND-71: a project that goes while somebody is asked is not made again by what they allow.
#[test]
fn an_allowed_write_does_not_make_the_project_again() {
    use crate::{testing::block_on, write_file::WriteFile};
    use serde_json::json;
    for path in ["f", "kept", "new/deep/f"] {
        let tree = Tree::new("gone-meanwhile");
        tree.file("kept", "x\n");
        let arguments = json!({"path": path, "content": "y\n", "overwrite": true});
        let output = block_on(async {
            let prepared = tree.prepare(WriteFile, arguments).await.unwrap();
            fs::remove_dir_all(tree.project()).unwrap();
            prepared.call.run().await
        });
        let error = output.error.unwrap();
        assert_eq!(error.code, ErrorCode::PathConflict, "{error}");
        assert!(error.message.contains("moved or removed"), "{error}");
        assert!(!tree.project().exists());
    }
}

/// FND-30: what is open in a process is said to be what it is, by whatever path; it is not opened.
#[cfg(target_os = "linux")]
#[test]
fn paths_to_what_is_open_are_named() {
    use std::os::fd::AsRawFd;
    let tree = Tree::new("open-things");
    let (reader, _writer) = std::io::pipe().unwrap();
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    for (descriptor, kind) in [(reader.as_raw_fd(), "named pipe"), (socket.as_raw_fd(), "socket")] {
        for path in [format!("/proc/self/fd/{descriptor}"), format!("/dev/fd/{descriptor}")] {
            let error = found(&tree, &path).unwrap_err();
            assert_eq!(error.code, ErrorCode::ValidationError, "{error}");
            assert!(error.message.contains(kind) && error.message.contains("only regular files"), "{error}");
        }
    }
    assert_eq!(found(&tree, "/dev/stdin-and-nothing").unwrap(), PathBuf::from("/dev/stdin-and-nothing"));
}

/// PATH-11: another name of a sensitive file is known, by what the file is and not by its letters.
#[test]
fn second_names_of_sensitive_files_are_found() {
    let tree = Tree::new("aliases");
    let key = tree.root.join("user/.ssh/id_rsa");
    fs::write(&key, "secret").unwrap();
    fs::hard_link(&key, tree.project().join("k.txt")).unwrap();
    let file = tree.workspace().open_file("k.txt").unwrap();
    let target = SecondNames::new(&tree.workspace()).target("k.txt", file.path(), Access::Read, &file.stat);
    assert_eq!((target.links, target.aliases), (2, vec![key]));
}

/// PATH-14: an ordinary hard link is an ordinary file.
#[test]
fn hard_links_are_fine() {
    let tree = Tree::new("hard-links");
    fs::hard_link(tree.file("AGENTS.md", "x"), tree.project().join("copy.md")).unwrap();
    let file = tree.workspace().open_file("copy.md").unwrap();
    let target = SecondNames::new(&tree.workspace()).target("copy.md", file.path(), Access::Read, &file.stat);
    assert_eq!((target.kind, target.links, target.aliases), (TargetKind::File, 2, vec![]));
}

/// STO-1: our own session database is not opened a second time, under whatever name, since closing that descriptor would
/// drop SQLite's locks on it.
#[test]
fn the_session_database_is_not_opened() {
    let tree = Tree::new("session-database");
    for (file, alias) in [("sessions.sqlite", "a.txt"), ("sessions.sqlite-wal", "b.txt")] {
        let database = tree.root.join("home").join(file);
        fs::write(&database, "SQLite format 3").unwrap();
        fs::hard_link(&database, tree.project().join(alias)).unwrap();
        tree.link(&database, &format!("link-{alias}"));
        for requested in [database.to_str().unwrap(), alias, &format!("link-{alias}")] {
            let error = tree.workspace().open_file(requested).unwrap_err();
            assert!(error.message.contains("session database"), "{requested}: {}", error.message);
        }
    }
}
