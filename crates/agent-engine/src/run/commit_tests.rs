//! Commits that fail, alone or two as one (RUN-21).

use super::script_testing::Script;
use super::*;

/// What is left of the run after a script that ends with a failed commit: the last line of its trace, and the path.
#[track_caller]
fn check(script: &str, last: &str, path: &[&str]) {
    let mut played = Script::new();
    played.play(script);
    assert_eq!(played.trace.last().unwrap(), last, "{:#?}", played.trace);
    let roles: Vec<_> = played.run.path().nodes().iter().map(|node| node.role.as_str()).collect();
    assert_eq!(roles, path, "{script}");
}

const A_RESULT: &str = "start hi; sources; calls look:a; ready a; allow a; done a x";

/// RUN-21: where the commit of a result and that of the next request were stored as one and failed, neither is on the path.
#[test]
fn two_commits_that_fail_as_one() {
    check(&format!("{A_RESULT}; sources; disk-full 1"), "disk-full 1 -> arm, finish failed", &["user", "assistant"]);
    check("start hi; sources; disk-full 1", "disk-full 1 -> arm, finish failed", &[]);
    // Stored one by one, the first stays.
    check(
        &format!("{A_RESULT}; sources; disk-full"),
        "disk-full -> arm, finish failed",
        &["user", "assistant", "tool"],
    );
    check(&format!("{A_RESULT}; disk-full"), "disk-full -> arm, finish failed", &["user", "assistant"]);
}

/// RUN-17, RUN-21: a cancel between the two commits is as good as the second.
#[test]
fn a_cancel_between_two_commits() {
    let cancelled = format!("{A_RESULT}; cancel");
    let last = "cancel -> [user<The user stopped the> run_cancelled], finish aborted_streaming";
    check(&cancelled, last, &["user", "assistant", "tool", "user"]);
    let last = "disk-full 1 -> finish aborted_streaming";
    check(&format!("{cancelled}; disk-full 1"), last, &["user", "assistant"]);
}

/// RUN-21: only what may still be under way can fail; what is stored stays on the path.
#[test]
fn a_commit_of_long_ago_does_not_fail() {
    for script in ["disk-full 1", "disk-full 2", "text so; disk-full 1", "disk-full; disk-full 1"] {
        let mut played = Script::new();
        played.play(&format!("{A_RESULT}; sources; calls look:b=2; ready b; allow b"));
        played.trace.clear();
        played.play(script);
        let last = played.trace.last().unwrap();
        assert!(last.ends_with("-> "), "{last}");
        assert_eq!(played.run.path().len(), 4, "{script}");
    }
}

/// RUN-21: a result that was shortened for a request that was never sent is not remembered.
#[test]
fn what_was_shortened_is_taken_back() {
    let mut first = Script::new();
    first.messages = 1000;
    let big = "word ".repeat(5000);
    first.play("start hi; sources; calls look:a=1 look:b=2; ready a; allow a; ready b; allow b");
    first.play(&format!("done a {big}; done b {big}; sources"));
    assert!(first.request()[3].starts_with("tool<ok b: word word"), "{:?}", first.request());
    first.play("disk-full 1");
    let (path, _) = first.run.into_path();
    let mut second = Script::on(path, "run_u");
    second.messages = 1000;
    second.play("start go on; sources");
    assert!(second.request()[2].starts_with("tool<ok a: word word"), "{:?}", second.request());
    assert_eq!(second.request()[3], "tool<error b: interrupted: the run was>");
}

/// The driver may hold back what only `Gather` follows.
#[test]
fn commits_that_may_wait() {
    let mut script = Script::new();
    let mut may_wait = |line: &str, expected: bool| {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let input = script.input(word, rest);
        let effects = script.run.step(input);
        assert_eq!(Effect::commit_may_wait(&effects), expected, "{line}: {effects:?}");
    };
    may_wait("start hi", true);
    may_wait("sources", false);
    may_wait("calls look:a=1 look:b=2", false);
    may_wait("ready a", false);
    may_wait("allow a", false);
    may_wait("done a x", false);
    may_wait("unready b", true);
    may_wait("sources", false);
    may_wait("text so", false);
}
