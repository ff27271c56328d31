use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::{
    facts::Access,
    testing::{command, target, touching},
};

fn secrets() -> KnownSecrets {
    KnownSecrets::new([("API_KEY", "sk-test-\"quoted\"-123")]).unwrap()
}

fn summary(facts: &Facts) -> RequestSummary {
    request_summary(facts, &secrets(), 512)
}

/// PRM-6, PRM-5: a command is shown from the words that will run, whatever the preview says.
#[test]
fn commands_are_shown_from_their_words() {
    let mut facts = command("/usr/bin/git", "/t/ws", &["git", "-c", "core.pager=touch /tmp/pwn;", "log"]);
    facts.preview = "git log".to_owned();
    facts.command.as_mut().unwrap().env_names = vec!["PATH".to_owned(), "HO\nME".to_owned()];
    let summary = summary(&facts);
    assert_eq!(summary.args_summary, "git -c 'core.pager=touch /tmp/pwn;' log");
    assert_eq!(summary.target_scope.as_deref(), Some("/usr/bin/git"));
    assert_eq!(summary.shown_targets, summary.target_scope);
    assert_eq!(summary.cwd.as_deref(), Some("/t/ws"));
    assert_eq!(json!(summary.env_summary), json!({"names": ["PATH", "HO\\nME"]}));
}

/// PRM-6: secrets are gone before quoting, escaping or cutting can hide them.
#[test]
fn secrets_are_taken_out_first() {
    let secret = "sk-test-\"quoted\"-123";
    let curl = command("/usr/bin/curl", "/t/ws", &["curl", "-H", &format!("it's\n{secret}")]);
    let text = Facts { preview: format!("{}{secret}{}", "a".repeat(240), "b".repeat(900)), ..Facts::default() };
    let json = Facts { preview: json!({"key": secret}).to_string(), ..Facts::default() };
    for facts in [curl, text, json] {
        let summary = summary(&facts).args_summary;
        assert!(!summary.contains("sk-test") && !summary.contains("quoted"), "{summary}");
    }
    let host = Facts { network_host: Some(format!("{secret}.example.com")), ..touching(Access::Write, "/t/a") };
    assert_eq!(summary(&host).network_host.as_deref(), Some("[secret API_KEY].example.com"));
}

/// PRM-6: a diff keeps its lines, loses its tricks, and is bounded with both ends shown.
#[test]
fn previews_are_escaped_and_bounded() {
    let mut facts = touching(Access::Write, "/t/ws/a\u{202e}.rs");
    facts.preview = "-old\n+new\u{200b}\u{1b}[2J\n".to_owned();
    let shown = summary(&facts);
    assert_eq!(shown.args_summary, "-old\n+new<U+200B><U+1B>[2J\n");
    assert_eq!(shown.shown_targets.as_deref(), Some("/t/ws/a\\u{202e}.rs"));
    assert_eq!((shown.cwd, shown.env_summary.len(), shown.network_host), (None, 0, None));

    let trailing = summary(&touching(Access::Write, "/t/ws/trail ")).shown_targets;
    assert_eq!(trailing.as_deref(), Some("'/t/ws/trail '"));

    facts.preview = format!("{}the end", "+line\n".repeat(10_000));
    let shown = summary(&facts).args_summary;
    assert!(
        shown.len() <= 512 && shown.contains(" lines not shown …]\n+line\n") && shown.ends_with("the end"),
        "{shown}"
    );
}

#[test]
fn targets_are_counted() {
    let targets = (0..12).map(|n| target(Access::Write, &format!("/t/{n}"))).collect();
    let many = summary(&Facts { targets, ..Facts::default() });
    let scope = many.shown_targets.unwrap();
    assert_eq!(scope.lines().count(), 9);
    assert!(scope.starts_with("/t/0\n/t/1\n") && scope.ends_with("\nand 4 more"), "{scope}");
    assert_eq!(many.target_scope.unwrap().lines().count(), 12, "a program gets all of them");
    let none = summary(&Facts::default());
    assert_eq!((none.target_scope, none.shown_targets), (None, None));
}

/// PRM-6: programs get paths as they are, each on one line and without loss, but for known secrets.
#[test]
fn paths_are_raw() {
    let paths: [&[u8]; 4] = [b"/t/ws/a\xe2\x80\xae b.rs", b"/t/ws/it's", b"/t/ws/a\nb", b"/t/ws/\xff"];
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let targets: Vec<_> =
        paths.iter().map(|bytes| crate::Target { resolved: path(bytes), ..target(Access::Write, "x") }).collect();
    let scope = summary(&Facts { targets, ..Facts::default() }).target_scope.unwrap();
    assert_eq!(scope, "/t/ws/a\u{202e} b.rs\n/t/ws/it's\nbytes:/t/ws/a%0Ab\nbytes:/t/ws/%FF");
    let back: Vec<_> = scope.split('\n').map(agent_protocol::path_from_text).collect();
    assert_eq!(back, paths.map(path));

    let mut facts = command("/usr/bin/git", "/t/ws", &["git"]);
    facts.command.as_mut().unwrap().cwd = path(b"/t/it's\n\x1b");
    assert_eq!(summary(&facts).cwd.as_deref(), Some("/t/it's\n\u{1b}"));

    // Also where a path is no UTF-8, or written byte by byte.
    let secret = "sk-test-\"quoted\"-123";
    for rest in [&b""[..], b"\n", b"\xff"] {
        let held = path(&[b"/t/", secret.as_bytes(), rest].concat());
        let mut facts = command("/usr/bin/git", "/t/ws", &["git"]);
        (facts.command.as_mut().unwrap().cwd, facts.command.as_mut().unwrap().program) = (held.clone(), held.clone());
        let of_command = summary(&facts);
        let targets = vec![crate::Target { resolved: held, ..target(Access::Write, "x") }];
        let of_file = summary(&Facts { targets, ..Facts::default() });
        for shown in [of_command.cwd, of_command.target_scope, of_file.target_scope] {
            let shown = shown.unwrap();
            assert!(!shown.contains("quoted") && shown.contains("API_KEY"), "{shown}");
        }
    }
}
