//! Whatever a project looks like and however a path is written (COD-1, COD-8, PRM-2).

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
};

use agent_policy::{Root, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    list_dir::ListDir,
    read_file::ReadFile,
    search::Search,
    testing::{Tree, block_on, cases},
    tool::CodeTool,
    workspace::Workspace,
    write_file::WriteFile,
};

/// What is in every secret.
const SECRET: &str = "SECRET";

/// Something to be put into a project.
#[derive(Debug, Clone)]
enum Thing {
    File,
    Link(String),
    HardLink(&'static str),
}

/// Files that exist in every tree, from its root; those with `true` hold a secret.
const FILES: [(&str, bool); 9] = [
    ("ws/n", false),
    ("ws/a/n", false),
    ("ws/a/b/n", false),
    ("ws/b/n", false),
    ("ws/.env", true),
    ("ws/a/x.pem", true),
    ("outside/n", true),
    ("outside/deep/n", true),
    ("user/.ssh/id_rsa", true),
];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "n", "m", ".env", "x.pem", "l1", "l2", "l3", "new"])
}

fn step() -> impl Strategy<Value = String> {
    prop_oneof![8 => name().prop_map(str::to_owned), 2 => Just("..".to_owned()), 1 => Just(".".to_owned()), 1 => Just(String::new())]
}

/// A path as somebody may write it; `@` stands for the tree's root.
fn written() -> impl Strategy<Value = String> {
    let start =
        prop::sample::select(vec!["", "./", "", "~/", "~/.ssh/", "@/ws/", "@/outside/", "@/", "../", "//", "a/"]);
    let end = prop::sample::select(vec!["", "", "", "/", "/."]);
    (start, prop::collection::vec(step(), 1..4), end)
        .prop_map(|(start, steps, end)| format!("{start}{}{end}", steps.join("/")))
        .prop_filter("not below the system's root", |path| !path.starts_with("//") || path.len() < 3)
}

fn thing() -> impl Strategy<Value = (String, Thing)> {
    let place = prop::sample::select(vec!["", "a/", "a/b/", "b/"]);
    let what = prop_oneof![
        1 => Just(Thing::File),
        4 => written().prop_map(Thing::Link),
        2 => prop::sample::select(FILES.to_vec()).prop_map(|(path, _)| Thing::HardLink(path)),
    ];
    let names = prop::sample::select(vec!["l1", "l2", "l3", "m"]);
    (place, names, what).prop_map(|(place, name, what)| (format!("{place}{name}"), what))
}

fn plant(things: &[(String, Thing)]) -> Tree {
    let tree = Tree::new("paths-property");
    for (path, secret) in FILES {
        let path = tree.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{} of {}\n", if secret { SECRET } else { "nothing" }, path.display())).unwrap();
    }
    for (path, thing) in things {
        let path = tree.project().join(path);
        // Of two things in one place the first stays.
        let _ = match thing {
            Thing::File if !path.exists() => fs::write(&path, "nothing\n"),
            Thing::File => Ok(()),
            Thing::Link(target) => symlink(target.replace('@', tree.root.to_str().unwrap()), &path),
            Thing::HardLink(target) => fs::hard_link(tree.root.join(target), &path),
        };
    }
    tree
}

/// Everything in a tree, links unfollowed.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        if kind.is_dir() {
            all.extend(snapshot(&path));
            all.insert(path, "folder".to_owned());
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            all.insert(path, format!("link to {}", target.display()));
        } else {
            let content = fs::read_to_string(&path).unwrap();
            all.insert(path, content);
        }
    }
    all
}

/// The path as the system would take it.
fn absolute(tree: &Tree, requested: &str) -> PathBuf {
    match requested.strip_prefix("~/") {
        Some(rest) => tree.root.join("user").join(rest.trim_start_matches('/')),
        None => tree.project().join(requested),
    }
}

/// What a call shows, if nobody has to be asked for it.
fn unasked<T: CodeTool>(tree: &Tree, tool: fn(Workspace) -> T, arguments: Value) -> Option<(PathBuf, String)> {
    let prepared = block_on(tree.prepare(tool, arguments.clone())).ok()?;
    let resolved = prepared.facts.targets[0].resolved.clone();
    if !resolved.starts_with(&tree.root) {
        return None;
    }
    let allowed = matches!(tree.verdict(tool, arguments), Verdict::Allow { .. });
    allowed.then(|| (resolved, format!("{:?}", block_on(prepared.call.run()))))
}

proptest! {
    #![proptest_config(cases(96))]

    /// The facts name what the system says the path leads to, and the project is what is really in it.
    #[test]
    fn facts_agree_with_the_system(things in prop::collection::vec(thing(), 0..6), path in written()) {
        let tree = plant(&things);
        let requested = path.replace('@', tree.root.to_str().unwrap());
        let real = fs::canonicalize(absolute(&tree, &requested));
        for prepared in [
            block_on(tree.prepare(ReadFile, json!({"path": requested}))),
            block_on(tree.prepare(ListDir, json!({"path": requested}))),
            block_on(tree.prepare(Search, json!({"path": requested, "query": "x"}))),
            block_on(tree.prepare(WriteFile, json!({"path": requested, "content": "", "overwrite": true}))),
        ] {
            let Ok(prepared) = prepared else { continue };
            let resolved = &prepared.facts.targets[0].resolved;
            if let Ok(real) = &real {
                prop_assert_eq!(resolved, real);
            }
            let existing = resolved.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap();
            prop_assert_eq!(existing, fs::canonicalize(existing).unwrap());
            prop_assert!(!resolved.components().any(|part| part == Component::ParentDir));
            let inside = resolved.strip_prefix(tree.project()).is_ok();
            prop_assert_eq!(tree.rules().root_of(resolved) == Root::Project, inside);
        }
        fs::remove_dir_all(&tree.root).unwrap();
    }

    /// What is shown without a question holds no secret, but for what lies openly outside, where the facts say it does.
    #[test]
    fn nothing_secret_is_shown_unasked(things in prop::collection::vec(thing(), 0..6), path in written()) {
        let tree = plant(&things);
        let requested = path.replace('@', tree.root.to_str().unwrap());
        // Whatever is in both is also a file of the project: to be found under that name by anybody.
        let public = things.iter().any(|(_, thing)| matches!(thing, Thing::HardLink(from) if from.starts_with("outside")));
        let shown = [
            unasked(&tree, ReadFile, json!({"path": requested})),
            unasked(&tree, Search, json!({"path": requested, "query": "SECRET"})),
            unasked(&tree, Search, json!({"query": "SECRET"})),
        ];
        for (resolved, shown) in shown.into_iter().flatten() {
            for (file, secret) in FILES.iter().filter(|(_, secret)| *secret) {
                let text = format!("{SECRET} of {}", tree.root.join(file).display());
                let openly = file.starts_with("outside") && (public || tree.root.join(file).starts_with(&resolved));
                prop_assert!(!secret || openly || !shown.contains(&text), "{} {:?}", requested, shown);
            }
        }
        fs::remove_dir_all(&tree.root).unwrap();
    }

    /// A write lands where the facts say, and nothing else changes but the folders that are made for it.
    #[test]
    fn writes_land_where_the_facts_say(things in prop::collection::vec(thing(), 0..6), path in written()) {
        let tree = plant(&things);
        let requested = path.replace('@', tree.root.to_str().unwrap());
        let arguments = json!({"path": requested, "content": "written", "overwrite": true});
        let mut expected = snapshot(&tree.root);
        if let Ok(prepared) = block_on(tree.prepare(WriteFile, arguments)) {
            let resolved = prepared.facts.targets[0].resolved.clone();
            // Nothing is written beyond what is compared.
            let here = resolved.starts_with(&tree.root);
            if here && block_on(prepared.call.run()).error.is_none() {
                for folder in resolved.ancestors().skip(1).take_while(|folder| *folder != tree.root) {
                    expected.insert(folder.to_owned(), "folder".to_owned());
                }
                expected.insert(resolved, "written".to_owned());
            }
        }
        prop_assert_eq!(snapshot(&tree.root), expected);
        fs::remove_dir_all(&tree.root).unwrap();
    }
}
