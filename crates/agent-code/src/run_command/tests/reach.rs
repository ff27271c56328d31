//! Files that a command reaches without naming them as they are.

use super::{session::Session, *};

/// The call passes until the file changes, and again when it has been allowed; then until the file is gone.
#[track_caller]
fn check(session: &mut Session, file: &str, argv: &[&str]) {
    session.tree.file(file, "fine");
    let reasons = session.allow(argv);
    assert!(reasons.contains("code of this project"), "{argv:?}: {reasons}");
    // Of another length, as two writes can fall into one tick of the clock.
    session.tree.file(file, "evil code");
    session.asks(argv);
    session.allow(argv);
    fs::remove_file(session.tree.project().join(file)).unwrap();
    session.asks(argv);
}

/// PRM-4: a path among the signs of whatever language.
#[test]
fn paths_in_code_are_tied() {
    let mut session = Session::new("reach-code");
    check(&mut session, "x.sh", &["git", "-c", "alias.x=!./x.sh", "x"]);
    check(&mut session, "x.sh", &["sed", "e./x.sh", "a"]);
    check(&mut session, "x.pl", &["perl", "-e", "do q#./x.pl#"]);
    check(&mut session, "x.pl", &["perl", "-e", "do q^./x.pl^"]);
}

/// PRM-4: below a folder that another word names, however deep.
#[test]
fn files_below_named_folders_are_tied() {
    let mut session = Session::new("reach-below");
    check(&mut session, "sub/deep/x.sh", &["env", "-C", "sub", "sh", "deep/x.sh"]);
    check(&mut session, "sub/deep/x.sh", &["sh", "-c", "cd sub && sh deep/x.sh"]);
    check(&mut session, "sub/deep/more/x.sh", &["sh", "-c", "cd sub && cd deep && sh more/x.sh"]);
    check(&mut session, "other/x/y.sh", &["sh", "-c", "cd sub/deep && cd ../.. && cd other && sh x/y.sh"]);
}

/// PRM-4: modules, which are named without their extension or folder.
#[test]
fn modules_are_tied() {
    let mut session = Session::new("reach-modules");
    check(&mut session, "tool.py", &["python3", "-m", "tool"]);
    check(&mut session, "pkg/tool.py", &["python3", "-m", "pkg.tool"]);
    check(&mut session, "pkg/cli/__main__.py", &["python3", "-m", "pkg.cli"]);
    check(&mut session, "pkg/__init__.py", &["python3", "-m", "pkg.tool"]);
    check(&mut session, "tests/a.py", &["python3", "-m", "unittest", "tests.a.Case.test"]);
    check(&mut session, "app.js", &["node", "app"]);
    check(&mut session, "app/index.js", &["node", "app"]);
    check(&mut session, "lib/a/X.pm", &["perl", "-Ilib", "-Ma::X", "-e1"]);
    // What is named like the module does not hide it.
    session.tree.file("tool", "");
    session.tree.file("pkg.tool", "");
    check(&mut session, "tool.py", &["python3", "-m", "tool"]);
    check(&mut session, "pkg/tool.py", &["python3", "-m", "pkg.tool"]);
}

/// PRM-4: what a shell makes of patterns, quotes and a variable.
#[test]
fn what_a_shell_expands_is_tied() {
    let mut session = Session::new("reach-shell");
    for script in [
        "sh *.sh",
        "sh x.s?",
        "sh x.[st]h",
        "sh {x,y}.sh",
        "\"$PWD\"/x.sh",
        "sh ${PWD}/x.*",
        "sh 'x'.sh",
        "sh ~+/x.sh",
        "sh [[:alpha:]].sh",
    ] {
        check(&mut session, "x.sh", &["sh", "-c", script]);
    }
    for script in ["sh x\\ y.sh", "sh 'x y.sh'", "sh x' 'y.sh"] {
        check(&mut session, "x y.sh", &["sh", "-c", script]);
    }
    check(&mut session, "my folder/deep/x.sh", &["sh", "-c", "sh 'my folder/deep/x.sh'"]);
    check(&mut session, "d/one", &["sh", "-c", "for f in d/*; do sh $f; done"]);
    check(&mut session, "d/deep/x.sh", &["sh", "-c", "cd d; sh */*.sh"]);
    check(&mut session, "a/b/c/x.rs", &["rg", "-g", "a/**/*.rs", "main"]);
}

/// PRM-4: a file that fits a pattern only later makes it another command.
#[test]
fn files_that_come_to_fit_are_asked_for() {
    let mut session = Session::new("reach-later");
    for (file, argv) in [
        ("a.sh", &["sh", "-c", "sh *.sh"][..]),
        ("tool.py", &["python3", "-m", "tool"]),
        ("sub/x.sh", &["env", "-C", "sub", "sh", "x.sh"]),
    ] {
        session.allow(argv);
        session.tree.file(file, "evil");
        session.asks(argv);
    }
}

/// PRM-4: what a shell only puts together as it runs could be any file.
#[test]
fn names_put_together_count_once() {
    let session = Session::new("reach-once");
    for script in ["sh $a$b", "a=x; sh $a.sh", "sh $(ls)", "sh `ls`", "sh $'x.sh'", "sh ${a#b}", "sh sub/$a/x.sh"] {
        session.counts_once(&["sh", "-c", script], "put together only as it runs");
    }
    for number in 0..300 {
        session.tree.file(&format!("many/{number}.sh"), "");
    }
    session.counts_once(&["sh", "-c", "cat many/*.sh"], "more files than can be looked at");
}

/// PRM-4: ordinary commands can be allowed for the session, and stay so while something else is written.
#[test]
fn ordinary_commands_stay_granted() {
    let mut session = Session::new("reach-ordinary");
    session.tree.file("src/lib.rs", "");
    session.tree.file("notes.md", "");
    let argvs = [
        &["grep", "-r", "fn main", "src"][..],
        &["git", "commit", "-m", "it's done"],
        &["git", "commit", "-m", "say \"it\"; costs 5$"],
        &["sh", "-c", "make && ls"],
        &["sh", "-c", "for n in 1 2; do echo $n; done"],
        &["awk", "{print $1, $2}", "notes.md"],
        &["cargo", "test", "--", "a::b"],
        &["rg", "a.*b"],
        &["rg", r"\bfn \w+\($", "src"],
    ];
    for argv in argvs {
        session.allow(argv);
    }
    session.tree.file("docs/other.txt", "");
    for argv in argvs {
        session.passes(argv);
    }
}
