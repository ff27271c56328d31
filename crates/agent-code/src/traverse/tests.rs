use std::{collections::BTreeSet, fs, path::Path};

use ignore::WalkBuilder;
use proptest::prelude::*;

use super::*;
use crate::{place::Found, testing::Tree as Project};

/// All paths a traversal comes to.
fn walked(project: &Project, root: &str, ignore: IgnoreFiles) -> BTreeSet<String> {
    let workspace = project.workspace();
    let Found::Folder(folder) = workspace.find(root).unwrap() else { panic!("a folder") };
    let tree = Tree::new(&folder, ignore, &workspace);
    let mut todo = vec![tree.trunk()];
    let mut all = BTreeSet::new();
    while let Some(branch) = todo.pop() {
        let level = tree.enter(branch).unwrap();
        for node in tree.nodes(&level).unwrap() {
            let node = node.unwrap();
            if node.kind == FileType::Directory {
                todo.push(level.branch(&node));
            }
            all.insert(node.path.display().to_string());
        }
    }
    all
}

#[track_caller]
fn check(project: &Project, root: &str, ignore: IgnoreFiles, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|&path| path.to_owned()).collect();
    assert_eq!(walked(project, root, ignore), expected, "{root} {ignore:?}");
}

/// COD-3, COD-4: rules count from the top of a repository down, not beyond it and not into another one.
#[test]
fn rules_belong_to_a_repository() {
    let project = Project::new("ignores-repository");
    // A home folder under version control, as people keep their dotfiles.
    fs::create_dir(project.root.join(".git")).unwrap();
    fs::write(project.root.join(".gitignore"), "*\n").unwrap();
    fs::create_dir(project.project().join(".git")).unwrap();
    project.file(".gitignore", "*.log\n/top\n");
    for path in ["a.log", "top", "sub/a.log", "sub/top", "sub/a.rs", "other/a.log"] {
        project.file(path, "");
    }
    fs::create_dir(project.project().join("other/.git")).unwrap();
    let all = [".gitignore", "other", "other/a.log", "sub", "sub/a.rs", "sub/top"];
    check(&project, ".", IgnoreFiles::Respected, &all);
    check(&project, "sub", IgnoreFiles::Respected, &["a.rs", "top"]);
    check(&project, "sub", IgnoreFiles::FromHere, &["a.log", "a.rs", "top"]);
    check(&project, "other", IgnoreFiles::Respected, &["a.log"]);
    let none = ["a.log", "top", "sub/a.log"].iter().chain(&all).copied().collect::<Vec<_>>();
    check(&project, ".", IgnoreFiles::None, &none);
}

/// COD-4: `.ignore` wins over `.gitignore`, both over the repository's own list, and the deeper one over the higher.
#[test]
fn rules_have_an_order() {
    let project = Project::new("ignores-order");
    fs::create_dir_all(project.project().join(".git/info")).unwrap();
    fs::write(project.project().join(".git/info/exclude"), "a\nb\nc\n").unwrap();
    project.file(".gitignore", "!b\nd\ne\n");
    project.file(".ignore", "!d\nf\n");
    project.file("sub/.gitignore", "!e\n!f\n");
    for path in ["a", "b", "c", "d", "e", "f", "sub/e", "sub/f"] {
        project.file(path, "");
    }
    let expected = [".gitignore", ".ignore", "b", "d", "sub", "sub/.gitignore", "sub/e"];
    check(&project, ".", IgnoreFiles::Respected, &expected);
}

/// COD-4: a pattern with a byte that is no text passes over the file of that name.
#[cfg(target_os = "linux")]
#[test]
fn patterns_of_any_bytes() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let project = Project::new("ignores-bytes");
    fs::create_dir(project.project().join(".git")).unwrap();
    project.file(".gitignore", b"caf\xe9.log\n/d\xff/\n");
    for name in [&b"caf\xe9.log"[..], b"caf.log", b"caf\xe9.txt"] {
        fs::write(project.project().join(OsStr::from_bytes(name)), "").unwrap();
    }
    fs::create_dir(project.project().join(OsStr::from_bytes(b"d\xff"))).unwrap();
    let found = walked(&project, ".", IgnoreFiles::Respected);
    let names: Vec<_> = found.iter().map(String::as_str).filter(|name| !name.starts_with(".git/")).collect();
    assert_eq!(names, [".gitignore", "caf.log", "caf\u{fffd}.txt"], "{found:?}");
}

/// Lines of ignore files over a few names.
fn rules() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "!?/?(a|b|c|\\*|\\*\\*|[ab]|\\*\\.o)(/(a|b|c|\\*))?/?",
        1 => Just("# a".to_owned()),
        1 => Just("\u{feff}c".to_owned()),
        1 => Just("[".to_owned()),
    ];
    prop::collection::vec(line, 0..4).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(crate::testing::cases(96))]

    /// COD-3, COD-4: within one repository, what is left out is what ripgrep's own walker leaves out.
    #[test]
    fn rules_mean_what_they_mean_to_ripgrep(
        files in prop::collection::btree_set("(a|b|c)(/(a|b|c)){0,2}/(f|x\\.o)", 1..8),
        ignores in prop::collection::btree_map("(|a/|b/|a/b/)\\.(git)?ignore", rules(), 0..4),
        exclude in rules(),
    ) {
        let project = Project::new("ignores-property");
        fs::create_dir_all(project.project().join(".git/info")).unwrap();
        fs::write(project.project().join(".git/info/exclude"), exclude).unwrap();
        for path in &files {
            project.file(path, "");
        }
        for (path, content) in &ignores {
            project.file(path, content);
        }
        let mut theirs = WalkBuilder::new(project.project());
        theirs.standard_filters(false).ignore(true).git_ignore(true).git_exclude(true).require_git(false);
        theirs.filter_entry(|entry| entry.file_name() != ".git");
        let relative = |path: &Path| path.strip_prefix(project.project()).unwrap().display().to_string();
        let theirs: BTreeSet<String> =
            theirs.build().map(|entry| relative(entry.unwrap().path())).filter(|path| !path.is_empty()).collect();
        prop_assert_eq!(walked(&project, ".", IgnoreFiles::Respected), theirs);
        fs::remove_dir_all(&project.root).unwrap();
    }
}
