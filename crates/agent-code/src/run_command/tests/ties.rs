//! What a grant is tied to, and what cannot be tied.

use std::path::PathBuf;

use agent_protocol::DecisionKind;

use super::{
    session::{Session, executable},
    *,
};
#[cfg(target_os = "linux")]
use crate::testing::without_privileges;

/// PRM-4: a command without files stays granted, whatever is written; that is what granting it means.
#[test]
fn commands_without_files_stay_granted() {
    let mut session = Session::new("grant-plain");
    session.allow(&["cargo", "test"]);
    session.allow(&["npm", "run", "build"]);
    session.tree.file("src/main.rs", "fn main() {}");
    session.passes(&["cargo", "test"]);
    session.passes(&["npm", "run", "build"]);
}

/// PRM-4: an argument that names a file of the project in any way is tied to its content.
#[test]
fn every_way_to_name_a_file_is_tied() {
    let mut session = Session::new("grant-names");
    let many: Vec<String> = (0..300).map(|number| format!("x{number}")).collect();
    let mut late: Vec<&str> = std::iter::once("sh").chain(many.iter().map(String::as_str)).collect();
    late.push("code");
    for argv in [
        &["sh", "code"][..],
        &["sh", "./code"],
        &["sh", "../ws/code"],
        &["pytest", "code::t"],
        &["make", "-fcode"],
        &["make", "-sfcode"],
        &["awk", "-fcode"],
        &["java", "@code"],
        &["java", "-Dx=@code"],
        &["cargo", "--config=code"],
        &["env", "BASH_ENV=./code", "sh", "-c", "true"],
        &["sh", "-c", "./code"],
        &["sh", "-c", "cd . && . ./code; true"],
        &["python3", "-c", "exec(open('code').read())"],
        &late,
    ] {
        session.tree.file("code", "fine");
        let reasons = session.allow(argv);
        assert!(reasons.contains("code of this project: code"), "{argv:?}: {reasons}");
        session.tree.file("code", "evil");
        session.asks(argv);
        fs::remove_file(session.tree.project().join("code")).unwrap();
        session.asks(argv);
    }
}

/// PRM-4: files elsewhere are not the model's to write unasked, but others may: a changed one makes another command.
#[test]
fn files_outside_are_tied() {
    let mut session = Session::new("grant-outside");
    let script = session.tree.root.join("outside/x.sh");
    let sourced = format!(". {}", script.display());
    for argv in [&["sh", script.to_str().unwrap()][..], &["sh", "-c", &sourced], &["sh", "../outside/x.sh"]] {
        fs::write(&script, "fine").unwrap();
        session.allow(argv);
        fs::write(&script, "evil, and longer").unwrap();
        session.asks(argv);
    }
}

/// PRM-4: a file that did not exist when the command was allowed.
#[test]
fn files_that_come_later_are_asked_for() {
    let mut session = Session::new("grant-later");
    session.allow(&["sh", "later.sh"]);
    session.tree.file("later.sh", "evil");
    session.asks(&["sh", "later.sh"]);
}

/// PRM-4: where a link leads is part of the grant, and so is the content of what it leads to, even outside the project.
#[test]
fn links_are_tied_to_where_they_lead() {
    let mut session = Session::new("grant-links");
    let outside = |name: &str| session.tree.root.join("outside").join(name);
    let (one, other) = (outside("one.sh"), outside("other.sh"));
    for file in [&one, &other] {
        fs::write(file, "same").unwrap();
    }
    session.tree.link(&one, "l.sh");
    // A link outside that leads through the project.
    let there = outside("there.sh");
    symlink(session.tree.project().join("l.sh"), &there).unwrap();
    let (named, through) = (["sh", "l.sh"], ["sh", there.to_str().unwrap()]);
    session.allow(&named);
    session.allow(&through);
    let link = session.tree.project().join("l.sh");
    fs::remove_file(&link).unwrap();
    session.tree.link(&other, "l.sh");
    session.asks(&named);
    session.asks(&through);
    session.allow(&named);
    fs::write(&other, "changed").unwrap();
    session.asks(&named);
}

/// PRM-4: a folder stands for the files directly in it, links followed; not for what is below.
#[test]
fn folders_are_tied_to_their_files() {
    let mut session = Session::new("grant-folders");
    session.tree.file("lib/real.py", "fine");
    session.tree.file("pkg/__main__.py", "fine");
    session.tree.file("pkg/deep/x.py", "");
    session.tree.link("../lib/real.py", "pkg/linked.py");
    let argvs = [&["python3", "pkg"][..], &["python3", "pkg/"], &["make", "-C", "pkg"], &["make", "-Cpkg"]];
    for (at, argv) in argvs.into_iter().enumerate() {
        // Two writes of one length can fall into one tick of the clock.
        let evil = "evil".repeat(at + 1);
        let reasons = session.allow(argv);
        assert!(reasons.contains("it may read or run code of this project: pkg"), "{reasons}");
        session.tree.file("pkg/deep/x.py", &evil);
        session.passes(argv);
        session.tree.file("pkg/__main__.py", &evil);
        session.asks(argv);
        session.allow(argv);
        session.tree.file("lib/real.py", &evil);
        session.asks(argv);
    }
    session.allow(&["make", "-C", "pkg"]);
    session.tree.file("pkg/new/x", "");
    session.asks(&["make", "-C", "pkg"]);
    session.allow(&["ls", "lib"]);
    session.tree.file("lib/new.py", "");
    session.asks(&["ls", "lib"]);
}

/// PRM-4: the interpreter that a program of the project names may be of the project, too.
#[test]
fn interpreters_of_programs_are_tied() {
    let mut session = Session::new("grant-interpreter");
    let tool = session.tree.project().join("tool");
    executable(&session.tree.project().join("interpreter"), "#!/bin/sh\n");
    executable(&tool, "#! ./interpreter -x\n");
    session.allow(&["./tool"]);
    session.tree.file("interpreter", "#!/bin/sh\nevil\n");
    session.asks(&["./tool"]);
}

/// PRM-4: where not everything can be tied, an answer counts once and the question says so.
#[test]
fn what_cannot_be_tied_counts_once() {
    let session = Session::new("grant-untied");
    session.tree.pipe("pipe");
    session.counts_once(&["sh", "pipe"], "counts once: pipe is no file");
    for number in 0..300 {
        session.tree.file(&format!("many/{number}"), "");
    }
    let names: Vec<String> = (0..300).map(|number| format!("many/{number}")).collect();
    let argv: Vec<&str> = std::iter::once("cat").chain(names.iter().map(String::as_str)).collect();
    session.counts_once(&argv, "more files than can be looked at");
    let words = (0..5000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    session.counts_once(&["sh", "-c", &words], "more files than can be looked at");
}

/// PRM-4: a file that cannot be read is told apart by what the system says of it; that goes for programs, too.
#[cfg(target_os = "linux")]
#[test]
fn unreadable_files_are_tied() {
    let mut session = Session::new("grant-unreadable");
    let secretive = session.tree.project().join("x");
    let rewrite = |content: &str| {
        let _ = fs::remove_file(&secretive);
        executable(&secretive, content);
        fs::set_permissions(&secretive, fs::Permissions::from_mode(0o111)).unwrap();
    };
    without_privileges(|| {
        for argv in [&["sh", "-c", "./x"][..], &["./x"]] {
            rewrite("fine");
            session.allow(argv);
            rewrite("changed");
            session.asks(argv);
        }
    });
}

/// PRM-4, PRM-10: an argument that leads to a secret is flagged like one that names it, and an answer counts once.
#[test]
fn ways_to_secrets_count_once() {
    let session = Session::new("grant-secrets");
    let tree = &session.tree;
    let key = tree.root.join("user/.ssh/id_rsa");
    fs::write(&key, "private").unwrap();
    tree.file(".env", "private");
    tree.link(".env", "notes");
    tree.link(&key, "l");
    tree.link(tree.root.join("user/.ssh"), "folder");
    fs::hard_link(&key, tree.project().join("hard")).unwrap();
    fs::hard_link(tree.project().join(".env"), tree.project().join("plain")).unwrap();
    for argv in [
        &["cat", ".env"][..],
        &["cat", "notes"],
        &["cat", "l"],
        &["cat", "folder/id_rsa"],
        &["cat", "-nl"],
        &["ls", "folder"],
        &["cat", "hard"],
        &["cat", "plain"],
        &["sh", "-c", "cat ./hard"],
    ] {
        let question = session.counts_once(argv, "may hold secrets");
        assert_eq!((question.suggested, question.dangerous), (DecisionKind::Deny, true), "{argv:?}");
    }
    let reasons = session.asks(&["cat", "notes"]).reasons;
    assert!(reasons[0].starts_with("the command names notes, which is .env, may hold secrets"), "{reasons:?}");
}

/// TOL-9: also a program that cannot be read is the one that was decided about.
#[cfg(target_os = "linux")]
#[test]
fn a_swapped_unreadable_program_does_not_run() {
    let tree = Tree::new("swap-unreadable");
    let program = tree.project().join("x");
    let place = |from: &str| {
        let _ = fs::remove_file(&program);
        fs::copy(from, &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o111)).unwrap();
    };
    let marker: PathBuf = tree.project().join("ran");
    without_privileges(|| {
        place("/bin/true");
        let arguments = json!({"argv": ["./x", "ran"]});
        assert_eq!(tree.ok(RunCommand, arguments.clone())["exit_code"], 0);
        let output = block_on(async {
            let prepared = tree.prepare(RunCommand, arguments).await.unwrap();
            place("/bin/touch");
            prepared.call.run().await
        });
        assert_eq!(output.error.unwrap().code, ErrorCode::PathConflict);
        assert!(!marker.exists());
    });
}

/// PRM-6: what only prints its words is said to touch nothing, and is tied to nothing but itself, whatever there is of these names; a
/// word that names a secret is told all the same.
#[test]
fn what_only_prints_names_nothing() {
    let tree = Tree::new("grant-printers");
    for name in ["a", "a.rs", "b", "x.sh"] {
        tree.file(name, "x");
    }
    tree.file("key.pem", "x");
    let decide = |argv: &[&str]| testing::question(tree.verdict(RunCommand, json!({"argv": argv})));
    for program in ["echo", "printf", "basename", "expr"] {
        for words in [&["a"][..], &["a.rs"], &["./x.sh"], &["*"], &["-e", "a"], &["$(cat a)"], &["b", "a", "x.sh"]] {
            let argv = [&[program], words].concat();
            let asked = decide(&argv);
            let reasons = asked.reasons.join("\n");
            assert!(
                !reasons.contains("code of this project") && !reasons.contains("counts once"),
                "{argv:?}: {reasons}"
            );
            assert!(asked.grant.is_some(), "{argv:?}: {reasons}");
        }
        for word in ["key.pem", "./key.pem", "~/.ssh/id_rsa"] {
            assert!(decide(&[program, word]).reasons.join("\n").contains("may hold secrets"), "{program} {word}");
        }
    }
    // A program of the project is none of them, whatever it is called.
    executable(&tree.project().join("echo"), "#!/bin/sh\ncat $1\n");
    let reasons = decide(&["./echo", "a"]).reasons.join("\n");
    assert!(reasons.contains("it may read or run code of this project: a"), "{reasons}");
}

/// PRM-6: what a word names as it is, is said to be used; what it only may stand for, by an ending or as a module, is said to be that,
/// also where it is a secret.
#[test]
fn guesses_are_told_as_guesses() {
    let session = Session::new("grant-guesses");
    for name in ["a", "tool.py", "pkg/__init__.py", "b.pem", "sub/x.sh"] {
        session.tree.file(name, "x");
    }
    for (argv, named, guessed) in [
        (&["cat", "a"][..], "a", ""),
        (&["cat", "./a"], "a", ""),
        (&["cat", "--file=a"], "a", ""),
        (&["awk", "-fa"], "a", ""),
        (&["cat", "tool.py"], "tool.py", ""),
        (&["cat", "tool"], "", "tool.py"),
        (&["python3", "-m", "pkg.cli"], "", "pkg"),
        (&["env", "-C", "sub", "sh", "x.sh"], "sub", "sub/x.sh"),
        (&["cat", "tool", "tool.py"], "tool.py", ""),
        (&["sh", "-c", "cat *.py"], "", "tool.py"),
    ] {
        let reasons = session.asks(argv).reasons;
        let lines =
            |words: &str| reasons.iter().filter_map(|line| line.strip_prefix(words)).collect::<Vec<_>>().join(" ");
        assert_eq!(lines("it may read or run code of this project: "), named, "{argv:?}: {reasons:?}");
        assert_eq!(lines("a word of it may stand for code of this project: "), guessed, "{argv:?}: {reasons:?}");
    }
    let question =
        session.counts_once(&["cat", "b"], "a word of the command may stand for b.pem, which may hold secrets");
    assert!(question.dangerous, "{question:?}");
}
