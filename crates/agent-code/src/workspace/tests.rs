mod cases;
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
