//! What an allow for the session covers.

use agent_policy::{ARGS_SUMMARY_BYTES, request_summary};

use super::{
    session::{Session, executable},
    *,
};

/// PERM-01: one grant for an interpreter, a shell or a wrapper is for that very argument list.
#[test]
fn interpreters_are_granted_word_by_word() {
    let mut session = Session::new("grant-interpreters");
    for (allowed, other) in [
        (&["python3", "-c", "print(1)"][..], &["python3", "-c", "import os;os.remove('x')"][..]),
        (&["sh", "-c", "true"], &["sh", "-c", "rm x"]),
        (&["env", "ls"], &["env", "rm", "x"]),
        (&["xargs", "echo"], &["xargs", "rm"]),
        (&["node", "-e", "1"], &["node", "-e", "require('fs').rmSync('x')"]),
        (&["sudo", "ls"], &["sudo", "rm", "x"]),
        (&["git", "status"], &["git", "push"]),
    ] {
        session.allow(allowed);
        session.asks(other);
    }
}

/// PERM-02: not by a part of the words, and nothing may be appended.
#[test]
fn nothing_is_matched_by_its_beginning() {
    let mut session = Session::new("grant-beginning");
    session.allow(&["rm", "-rf", "./scratch"]);
    session.asks(&["rm", "-rf", "./scratch-backup"]);
    session.asks(&["rm", "-rf", "./scratch", ".."]);
}

/// PERM-04: options that make a harmless program run code are other words, all of which the question shows.
#[test]
fn options_are_shown_and_asked_for() {
    let mut session = Session::new("grant-options");
    session.allow(&["git", "status"]);
    let marker = session.tree.root.join("pwn");
    let touch = |option: &str| format!("{option}=touch {}", marker.display());
    let output = format!("--output={}", marker.display());
    for argv in [
        &["git", "-c", &format!("{};", touch("core.pager")), "-p", "log"][..],
        &["git", "-c", &touch("core.fsmonitor"), "status"],
        &["git", "diff", &output],
    ] {
        session.asks(argv);
        let facts = session.decide(argv).0;
        let shown =
            request_summary(&facts, &KnownSecrets::new([("", ""); 0]).unwrap(), ARGS_SUMMARY_BYTES).args_summary;
        for word in argv {
            assert!(shown.contains(word), "{word} not in {shown}");
        }
        assert!(!marker.exists());
    }
}

/// PERM-06: the resolved program belongs to a grant: neither another of that name nor a longer name passes.
#[test]
fn the_program_is_the_resolved_one() {
    let mut session = Session::new("grant-program");
    session.allow(&["git", "status"]);
    let elsewhere = session.tree.root.join("outside/tmp/git");
    for path in [&session.tree.project().join("git"), &elsewhere] {
        executable(path, "#!/bin/sh\n");
    }
    session.asks(&["./git", "status"]);
    session.asks(&[elsewhere.to_str().unwrap(), "status"]);
    session.asks(&["git-evil"]);
    session.passes(&["git", "status"]);
    session.path_var = format!("{}:{}", elsewhere.parent().unwrap().display(), session.path_var);
    session.asks(&["git", "status"]);
}

/// PERM-06: with a folder of the project in PATH, a program that is put there is another program, also for a command that
/// looks for it by itself.
#[test]
fn folders_of_the_project_in_path_are_tied() {
    let mut session = Session::new("grant-path");
    let bin = session.tree.project().join("node_modules/.bin");
    session.path_var = format!("{}:{}", bin.display(), session.path_var);
    for argv in [&["git", "status"][..], &["env", "git", "status"]] {
        let _ = fs::remove_dir_all(&bin);
        let reasons = session.allow(argv);
        assert!(reasons.contains("it may read or run code of this project: node_modules/.bin"), "{reasons}");
        executable(&bin.join("other"), "#!/bin/sh\n");
        session.allow(argv);
        executable(&bin.join("git"), "#!/bin/sh\n");
        session.asks(argv);
    }
}

/// PERM-07: a wrapper is not looked through, for no answer; the question shows it.
#[test]
fn wrappers_are_other_programs() {
    let mut session = Session::new("grant-wrappers");
    session.allow(&["rm", "x"]);
    for (argv, shown) in [
        (&["env", "rm", "x"][..], "env rm x"),
        (&["timeout", "5", "rm", "x"], "timeout 5 rm x"),
        (&["nohup", "rm", "x"], "nohup rm x"),
        (&["sh", "-c", "rm x"], "sh -c 'rm x'"),
    ] {
        session.asks(argv);
        let secrets = KnownSecrets::new([("", ""); 0]).unwrap();
        assert_eq!(request_summary(&session.decide(argv).0, &secrets, ARGS_SUMMARY_BYTES).args_summary, shown);
    }
}
