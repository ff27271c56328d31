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
    assert_eq!(shown.target_scope.as_deref(), Some("/t/ws/a\\u{202e}.rs"));
    assert_eq!((shown.cwd, shown.env_summary.len(), shown.network_host), (None, 0, None));

    let trailing = summary(&touching(Access::Write, "/t/ws/trail ")).target_scope;
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
    let scope = summary(&Facts { targets, ..Facts::default() }).target_scope.unwrap();
    assert_eq!(scope.lines().count(), 9);
    assert!(scope.starts_with("/t/0\n/t/1\n") && scope.ends_with("\nand 4 more"), "{scope}");
    assert_eq!(summary(&Facts::default()).target_scope, None);
}
