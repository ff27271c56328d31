//! The named cases about paths, from the arguments to what is decided and what is left on disk.

use std::{fs, path::Path, sync::Arc};

use agent_policy::{PathRules, Places, Question, Root, Verdict};
use agent_protocol::ErrorCode;
use serde_json::{Value, json};

use crate::{
    edit_file::EditFile,
    list_dir::ListDir,
    read_file::ReadFile,
    search::Search,
    settings::CodeToolSettings,
    testing::{Tree, code_unasked, question},
    write_file::WriteFile,
};

fn write(path: impl AsRef<Path>) -> Value {
    json!({"path": path.as_ref(), "content": "x", "overwrite": true})
}

fn edit(path: &str) -> Value {
    json!({"path": path, "edits": [{"old": "old", "new": "new"}]})
}

/// Rules for other places than the usual ones of a tree.
fn settings(tree: &Tree, change: impl FnOnce(&mut Places)) -> CodeToolSettings {
    let mut places = tree.rules().places().clone();
    change(&mut places);
    let sensitive = ["~/.ssh", "*.pem", ".env", ".env.*"].map(str::to_owned);
    CodeToolSettings { rules: Arc::new(PathRules::new(places, &sensitive).unwrap()), ..tree.settings() }
}

/// A write that is asked about as one outside, and refused where nobody can be asked.
#[track_caller]
fn outside(verdict: Verdict, place: &Path) {
    let reasons = question(verdict.clone()).reasons.join("; ");
    assert!(reasons.contains(&format!("{} lies outside", place.display())), "{reasons}");
    assert_eq!(code_unasked(verdict), ErrorCode::WriteOutsideAllowedRoots, "{reasons}");
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// PATH-01: a sibling with the same prefix is outside, however it is spelled, and however the project is.
#[test]
fn siblings_with_the_same_prefix() {
    let tree = Tree::new("case-path-01");
    let sibling = tree.root.join("ws2");
    fs::create_dir(&sibling).unwrap();
    let slashed = || {
        settings(&tree, |places| {
            places.project.as_mut_os_string().push("/");
            assert!(places.project.as_os_str().to_str().unwrap().ends_with("ws/"));
        })
    };
    let absolute = sibling.join("x").display().to_string();
    for path in ["../ws2/x", &absolute, "a/../../ws2/x", "./././../ws2/x"] {
        outside(tree.verdict(WriteFile, write(path)), &sibling.join("x"));
        outside(tree.verdict_in(slashed(), WriteFile, write(path)), &sibling.join("x"));
    }
    assert_eq!(names(&sibling), [""; 0]);
    // In the root folder as the project, nothing is a sibling.
    let everywhere = settings(&tree, |places| places.project = "/".into());
    let asked = question(tree.verdict_in(everywhere, WriteFile, write(&absolute)));
    assert!(!asked.reasons.join("; ").contains("outside"), "{:?}", asked.reasons);
}

/// PATH-02: links that lead out are outside, for a write, a new folder and an edit; links that stay in are not, nor is a
/// project that is reached through a link.
#[test]
fn links_out_and_in() {
    let tree = Tree::new("case-path-02");
    let out = tree.root.join("outside");
    fs::write(out.join("old"), "old").unwrap();
    tree.link(&out, "out");
    outside(tree.verdict(WriteFile, write("out/x")), &out.join("x"));
    outside(tree.verdict(WriteFile, write("out/new/deep/x")), &out.join("new/deep/x"));
    outside(tree.verdict(EditFile, edit("out/old")), &out.join("old"));
    assert_eq!((names(&out), fs::read(out.join("old")).unwrap()), (vec!["old".to_owned()], b"old".to_vec()));
    tree.file("real/old", "old");
    tree.link("real", "in");
    std::os::unix::fs::symlink(tree.project(), tree.root.join("way-in")).unwrap();
    let through = tree.root.join("way-in/real/x").display().to_string();
    for path in ["in/x", &through] {
        let facts = tree.facts(WriteFile, write(path));
        assert_eq!(facts.targets[0].resolved, tree.project().join("real/x"));
        assert_eq!(code_unasked(tree.verdict(WriteFile, write(path))), ErrorCode::PermissionDenied);
    }
    tree.ok(EditFile, edit("in/old"));
    assert_eq!(tree.read("real/old"), b"new");
}

/// PATH-04: a link to nothing is where its target would be.
#[test]
fn links_to_nothing() {
    let tree = Tree::new("case-path-04");
    let out = tree.root.join("outside");
    tree.link(out.join("new"), "draft.txt");
    tree.link(&out, "dirlink");
    outside(tree.verdict(WriteFile, write("draft.txt")), &out.join("new"));
    outside(tree.verdict(WriteFile, write("dirlink/missing/x")), &out.join("missing/x"));
    assert_eq!(names(&out), [""; 0]);
}

/// PATH-06: whatever is in a `.git` is dangerous to write and asked for file by file.
#[test]
fn gits_own_files() {
    let tree = Tree::new("case-path-06");
    tree.file(".git/config", "old");
    let dangerous = |asked: Question, path: &str| {
        let reasons = asked.reasons.join("; ");
        assert!(asked.dangerous && reasons.contains("control file"), "{path}: {reasons}");
        asked
    };
    for path in [".git/hooks/pre-commit", ".git/config", ".GIT/config", "sub/.git/hooks/x"] {
        dangerous(question(tree.verdict(WriteFile, write(path))), path);
    }
    let one = dangerous(question(tree.verdict(EditFile, edit(".git/config"))), "an edit").grant.unwrap();
    tree.file(".git/other", "old");
    assert_ne!(one, question(tree.verdict(EditFile, edit(".git/other"))).grant.unwrap(), "one grant for a folder");
    assert!(!question(tree.verdict(WriteFile, write(".gitignore"))).dangerous);
    assert_eq!(tree.read(".git/config"), b"old");
}

/// PATH-07: every one of these is asked for.
#[test]
fn files_with_secrets() {
    let tree = Tree::new("case-path-07");
    for path in [
        ".env",
        ".env.local",
        ".envrc",
        ".dev.vars",
        "prod.env",
        ".npmrc",
        ".netrc",
        ".pypirc",
        ".git-credentials",
        ".kube/config",
        ".docker/config.json",
        "id_rsa",
        "id_ed25519",
    ] {
        tree.file(path, "secret");
        for asked in [
            tree.verdict(ReadFile, json!({"path": path})),
            tree.verdict(Search, json!({"path": path, "query": "secret"})),
            tree.verdict(WriteFile, write(path)),
        ] {
            assert_eq!(code_unasked(asked), ErrorCode::PermissionDenied, "{path}");
        }
    }
    for ordinary in ["env", "id_rsa.pub", "config.json"] {
        tree.file(ordinary, "x");
        let verdict = tree.verdict(ReadFile, json!({"path": ordinary}));
        assert!(matches!(verdict, Verdict::Allow { .. }), "{ordinary}: {verdict:?}");
    }
}

/// PATH-09: our home is never written, even in a project around it or within; nor the task journal of any project. Plans are.
#[test]
fn our_own_files() {
    let tree = Tree::new("case-path-09");
    let user = tree.root.join("user");
    let around = settings(&tree, |places| {
        places.home = user.join(".soong-agent");
        places.wal_dir = user.join(".soong-agent/tasks");
        places.plans_dir = user.join(".soong-agent/plans");
        places.project = user.clone();
    });
    let inside = settings(&tree, |places| places.home = places.project.join("h"));
    let usual = settings(&tree, |places| places.wal_dir = places.project.join(".soong-agent/tasks"));
    for (settings, path) in [
        (&around, ".soong-agent/hooks.json"),
        (&around, ".soong-agent/config.toml"),
        (&around, ".soong-agent/mcp.json"),
        (&around, ".Soong-Agent/hooks.json"),
        (&inside, "h/hooks.json"),
        (&inside, "h/config.toml"),
        (&inside, "h/mcp.json"),
        (&usual, ".soong-agent/tasks/s/t.wal.jsonl"),
    ] {
        match tree.verdict_in(settings.clone(), WriteFile, write(path)) {
            Verdict::Deny { code, .. } => assert_eq!(code, ErrorCode::WriteOutsideAllowedRoots, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert!(question(tree.verdict_in(around.clone(), WriteFile, write(".bashrc"))).dangerous);
    for (settings, path) in [(around, ".soong-agent/plans/p.md"), (usual, ".soong-agent/plans/p.md")] {
        assert!(!question(tree.verdict_in(settings, WriteFile, write(path))).dangerous, "{path}");
    }
}

/// PATH-11: a second name of a secret is that secret, and a write through a second name leaves the other file as it was.
#[test]
fn hard_links_are_seen_through() {
    let tree = Tree::new("case-path-11");
    let key = tree.root.join("user/.ssh/id_rsa");
    fs::write(&key, "secret").unwrap();
    fs::hard_link(&key, tree.project().join("k.txt")).unwrap();
    let verdict = tree.verdict(ReadFile, json!({"path": "k.txt"}));
    assert_eq!(code_unasked(verdict.clone()), ErrorCode::PermissionDenied);
    let reasons = question(verdict).reasons.join("; ");
    assert!(reasons.contains(&format!("the same file as {}", key.display())), "{reasons}");

    let config = tree.file(".git/config", "theirs");
    fs::hard_link(&config, tree.project().join("CLAUDE.md")).unwrap();
    assert!(question(tree.verdict(WriteFile, write("CLAUDE.md"))).dangerous);
    tree.ok(WriteFile, write("CLAUDE.md"));
    assert_eq!((fs::read(&config).unwrap(), tree.read("CLAUDE.md")), (b"theirs".to_vec(), b"x".to_vec()));
}

/// PATH-12: what is decided about is what is opened, however it is spelled; the home of another user and variables are not
/// expanded.
#[test]
fn spellings_of_one_file() {
    let tree = Tree::new("case-path-12");
    tree.file(".env", "secret");
    fs::write(tree.root.join("user/.ssh/id_rsa"), "secret").unwrap();
    for path in [".env", ".env/", ".env/.", "./.env", "a/../.env", "~/.ssh/id_rsa", "~//.ssh/./id_rsa"] {
        assert_eq!(code_unasked(tree.verdict(ReadFile, json!({"path": path}))), ErrorCode::PermissionDenied, "{path}");
    }
    for path in ["~root/x", "$HOME/.ssh/id_rsa", "./~/x", "%2e%2e/x", "a\\..\\..\\x", " .env"] {
        tree.refused(ReadFile, json!({"path": path}), ErrorCode::FileNotFound);
        let facts = tree.facts(WriteFile, write(path));
        assert_eq!(facts.targets[0].resolved, tree.project().join(path.trim_start_matches("./")), "{path}");
        assert_eq!(tree.rules().root_of(&facts.targets[0].resolved), Root::Project);
    }
    for path in ["", "x\0.txt"] {
        tree.refused(ReadFile, json!({"path": path}), ErrorCode::ValidationError);
        tree.refused(WriteFile, write(path), ErrorCode::ValidationError);
    }
}

/// PATH-14: an ordinary hard link asks nobody.
#[test]
fn ordinary_hard_links() {
    let tree = Tree::new("case-path-14");
    let file = tree.file("AGENTS.md", "x");
    fs::create_dir(tree.project().join("sub")).unwrap();
    fs::hard_link(file, tree.project().join("sub/AGENTS.md")).unwrap();
    let verdict = tree.verdict(ReadFile, json!({"path": "sub/AGENTS.md"}));
    assert!(matches!(verdict, Verdict::Allow { .. }), "{verdict:?}");
    assert_eq!(tree.ok(ReadFile, json!({"path": "sub/AGENTS.md"}))["content"], "x");
}

/// READ-04: what a process knows is asked for, under each of its names; so is what its links lead to.
#[cfg(target_os = "linux")]
#[test]
fn aliases_in_proc() {
    use std::os::fd::AsRawFd;
    let tree = Tree::new("case-read-04");
    let pid = std::process::id();
    let key = tree.root.join("user/.ssh/id_rsa");
    fs::write(&key, "secret").unwrap();
    let env = fs::File::open(tree.file(".env", "secret")).unwrap();
    let plain = fs::File::open(tree.file("plain", "x")).unwrap();
    let fd = |file: &fs::File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let root = tree.project().display().to_string();
    for path in [
        "/proc/self/environ".to_owned(),
        "/proc/thread-self/environ".to_owned(),
        format!("/proc/{pid}/environ"),
        format!("/proc/{pid}/task/{pid}/environ"),
        format!("/proc/self/root{}", key.display()),
        format!("/proc/self/root{root}/.env"),
        "/proc/self/mem".to_owned(),
        "/proc/self/maps".to_owned(),
        "/proc/self/smaps".to_owned(),
        fd(&env),
        // Harmless where it leads; which file that is when it is read, nobody knows.
        fd(&plain),
        format!("/dev/fd/{}", env.as_raw_fd()),
    ] {
        let verdict = tree.verdict(ReadFile, json!({"path": path}));
        assert_eq!(code_unasked(verdict), ErrorCode::PermissionDenied, "{path}");
    }
    let here = tree.facts(ReadFile, json!({"path": "/proc/self/cwd/Cargo.toml"}));
    assert_eq!(here.targets[0].resolved, std::env::current_dir().unwrap().join("Cargo.toml"));
    let folder = json!({"path": "/proc/self/fd"});
    assert_eq!(code_unasked(tree.verdict(ListDir, folder)), ErrorCode::PermissionDenied);
    let folder = json!({"path": "/proc/self/fd", "query": "x"});
    assert_eq!(code_unasked(tree.verdict(Search, folder)), ErrorCode::PermissionDenied);
}
