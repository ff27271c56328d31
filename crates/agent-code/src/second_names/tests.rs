use std::{fs, path::Path};

use agent_policy::Verdict;
use agent_protocol::ErrorCode;
use serde_json::json;

use super::*;
use crate::{
    edit_file::EditFile,
    place::OpenFile,
    read_file::ReadFile,
    search::Search,
    testing::{Tree, code_unasked, question},
};

/// Gives a file a second name.
fn second_name(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::hard_link(from, to).unwrap();
}

fn open(tree: &Tree, path: &str) -> OpenFile {
    tree.workspace().open_file(path).unwrap()
}

/// PATH-11: a file that is sensitive by the pattern of a name is so under any name, wherever in the project either is.
#[test]
fn names_that_match_a_pattern() {
    let tree = Tree::new("second-pattern");
    for (n, path) in [".env", "deep/er/.env.local", "certs/server.pem", ".env.d/plain", "deep/id_rsa", "prod.env"]
        .into_iter()
        .enumerate()
    {
        let secret = tree.file(path, format!("SECRET {n}"));
        let other = format!("src/notes/{n}.txt");
        second_name(&secret, &tree.project().join(&other));
        let verdict = tree.verdict(ReadFile, json!({"path": other}));
        assert_eq!(code_unasked(verdict.clone()), ErrorCode::PermissionDenied);
        let reasons = question(verdict).reasons.join("; ");
        assert!(reasons.contains(&format!("the same file as {path}, which may hold secrets")), "{path}: {reasons}");
        question(tree.verdict(Search, json!({"path": other, "query": "SECRET"})));
        let edit = json!({"path": other, "edits": [{"old": "SECRET", "new": "x"}]});
        assert!(question(tree.verdict(EditFile, edit)).reasons.join("; ").contains("may hold secrets"));
    }
}

/// PATH-11, SRCH-07: a search shows no hit in such a file, and counts it.
#[test]
fn searches_pass_over_second_names() {
    let tree = Tree::new("second-search");
    let secret = tree.file("deep/.env", "STRIPE=sk_live_x\n");
    second_name(&secret, &tree.project().join("notes.txt"));
    second_name(&tree.file("a.rs", "STRIPE\n"), &tree.project().join("b.rs"));
    let found = tree.ok(Search, json!({"query": "STRIPE"}));
    let paths: Vec<&str> =
        found["matches"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
    assert_eq!((paths, &found["note"]), (vec!["a.rs", "b.rs"], &json!("not searched: 2 sensitive")));
    // Nothing is told of it when there is no other hit either.
    let found = tree.ok(Search, json!({"query": "sk_live"}));
    assert!(!found.to_string().contains("notes.txt"), "{found}");
    assert!(found["note"].as_str().unwrap().contains("not searched: 2 sensitive"), "{found}");
    // A sensitive folder that was asked for by its name is searched whole.
    let key = tree.root.join("user/.ssh/id_rsa");
    fs::write(&key, "STRIPE\n").unwrap();
    second_name(&key, &tree.root.join("user/.ssh/copy"));
    let found = tree.ok(Search, json!({"query": "STRIPE", "path": "~/.ssh"}));
    assert_eq!(found["matches"].as_array().unwrap().len(), 2, "{found}");
}

/// PATH-11: the usual places in the user's home count, and so does what is deep in a sensitive folder.
#[test]
fn names_in_the_users_home() {
    let tree = Tree::new("second-home");
    let user = tree.root.join("user");
    for (n, path) in [".netrc", ".kube/config", ".ssh/keys/deep/key"].into_iter().enumerate() {
        let secret = user.join(path);
        fs::create_dir_all(secret.parent().unwrap()).unwrap();
        fs::write(&secret, "SECRET").unwrap();
        second_name(&secret, &tree.project().join(format!("{n}.txt")));
        let file = open(&tree, &format!("{n}.txt"));
        let names = SecondNames::new(&tree.workspace());
        assert_eq!(names.of(&file.stat, &file.path), [secret]);
        assert_eq!(names.note(), None);
    }
}

/// PATH-11: away from the project, what is beside the file, below and right above it is looked at.
#[test]
fn names_outside_the_project() {
    let tree = Tree::new("second-outside");
    let other = tree.root.join("outside/repo");
    for (n, path) in [".env", "src/.env", "src/deep/x.pem"].into_iter().enumerate() {
        let secret = other.join(path);
        fs::create_dir_all(secret.parent().unwrap()).unwrap();
        fs::write(&secret, "SECRET").unwrap();
        let twin = other.join(format!("src/{n}.txt"));
        second_name(&secret, &twin);
        question(tree.verdict(ReadFile, json!({"path": twin})));
    }
    assert_eq!(tree.ok(Search, json!({"query": "SECRET", "path": other}))["matches"], json!([]));
    // The same in a folder that is passed over otherwise.
    let secret = tree.file("node_modules/x/.env", "SECRET");
    second_name(&secret, &tree.project().join("node_modules/x/index.js"));
    question(tree.verdict(ReadFile, json!({"path": "node_modules/x/index.js"})));
}

/// PATH-14: what package managers link is ordinary, and where nothing is linked nothing is looked for.
#[test]
fn ordinary_links_ask_nobody() {
    let tree = Tree::new("second-ordinary");
    tree.file(".env", "SECRET");
    let stored = tree.root.join("outside/store/index.js");
    fs::create_dir_all(stored.parent().unwrap()).unwrap();
    fs::write(&stored, "needle").unwrap();
    second_name(&stored, &tree.project().join("node_modules/a/index.js"));
    let verdict = tree.verdict(ReadFile, json!({"path": "node_modules/a/index.js"}));
    assert!(matches!(verdict, Verdict::Allow { .. }), "{verdict:?}");
    assert_eq!(tree.ok(Search, json!({"query": "needle"}))["matches"].as_array().unwrap().len(), 1);
    let plain = open(&tree, ".env");
    let names = SecondNames::new(&tree.workspace());
    assert_eq!(names.of(&plain.stat, &plain.path), [""; 0].map(PathBuf::from));
    assert!(names.known.get().is_none(), "nothing has more than one name");
}

/// A tree that is too big is looked through in part, from the top, and that is told.
#[test]
fn too_many_files_are_told() {
    let tree = Tree::new("second-many");
    let secret = tree.file(".env", "SECRET");
    second_name(&secret, &tree.project().join("k.txt"));
    for n in 0..40 {
        tree.file(&format!("d/{n}"), "");
    }
    let workspace = tree.workspace();
    let mut search = super::Search { workspace: &workspace, known: Known::default(), left: 10 };
    let Ok(Found::Folder(root)) = walk(&tree.project()) else { panic!("a folder") };
    search.below(&root, false);
    assert!(search.known.cut);
    let file = open(&tree, "k.txt");
    assert_eq!(search.known.names[&identity(&file.stat)], [secret]);
    let known = OnceLock::from(search.known);
    let names = SecondNames { workspace, near: None, known };
    assert!(names.note().is_some());
}
