use super::*;
use crate::{
    PathRules,
    testing::{places, rules_for},
};

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    let rules = PathRules::new(places(), &[pattern.to_owned()]).unwrap();
    for path in matching {
        let why = rules.sensitive(Path::new(path)).map(|why| why.pattern.clone());
        assert_eq!(why.as_deref(), Some(pattern), "{path}");
    }
    for path in others {
        assert_eq!(rules.sensitive(Path::new(path)), None, "{pattern} {path}");
    }
}

/// PRM-2: the syntax of `tools.sensitive_paths`.
#[test]
fn syntax() {
    check("secret", &["/a/secret", "/secret/b/c", "/a/SECRET"], &["/a/secrets", "/a/my-secret"]);
    check("Secret*", &["/a/secrets", "/a/secret.txt/b"], &["/a/asecret"]);
    check("**/secret", &["/secret", "/a/b/secret"], &["/a/secrets"]);
    check("conf/*.yml", &["/a/conf/x.yml", "/conf/x.yml/b"], &["/a/conf/sub/x.yml", "/a/xconf/x.yml"]);
    check("conf/**/key", &["/a/conf/key", "/a/conf/b/c/key"], &["/a/key"]);
    check("/etc/shadow", &["/etc/shadow", "/etc/shadow/x"], &["/a/etc/shadow", "/etc/shadow-"]);
    check("/srv/*/private", &["/srv/a/private/x"], &["/srv/a/b/private"]);
    check("/srv//data/", &["/srv/data", "/srv/data/x"], &["/srv"]);
    check("~/vault", &["/home/u/vault", "/home/u/vault/x"], &["/home/v/vault", "/t/ws/vault"]);
    check("~/vault/**", &["/home/u/vault", "/home/u/vault/x"], &["/home/u/vaults"]);
    check("~/*.gpg", &["/home/u/a.gpg"], &["/home/u/sub/a.gpg"]);
    check("~", &["/home/u", "/home/u/x"], &["/home", "/home/v"]);
    check("<project>/data", &["/t/ws/data/x"], &["/t/data", "/data"]);
    check("${SOONG_AGENT_HOME}/logs", &["/home/u/.soong-agent/logs/x"], &["/home/u/logs"]);
    check("{a,b}.txt", &["/x/a.txt", "/x/b.txt"], &["/x/c.txt"]);
    check("*~", &["/x/file~"], &["/x/file"]);
    check("/", &["/x", "/x/y"], &[]);
}

/// The folder behind `~` or `<project>` may hold glob characters; they mean themselves.
#[test]
fn places_are_not_globs() {
    let places = Places { project: "/t/[ab]*".into(), user_home: Some("/h/{u}\\x".into()), ..places() };
    let rules = PathRules::new(places, &["<project>/data".to_owned(), "~/vault".to_owned()]).unwrap();
    for (path, expected) in [
        ("/t/[ab]*/data/x", true),
        ("/t/a/data", false),
        ("/t/ab/data", false),
        ("/h/{u}\\x/vault", true),
        ("/h/u\\x/vault", false),
    ] {
        assert_eq!(rules.sensitive(Path::new(path)).is_some(), expected, "{path}");
    }
}

/// Without a known user home `~/x` is kept at any depth, not dropped.
#[test]
fn no_user_home() {
    let rules = rules_for(Places { user_home: None, ..places() });
    for path in ["/root/.ssh/config", "/anywhere/.config/gcloud/x"] {
        assert!(rules.sensitive(Path::new(path)).is_some(), "{path}");
    }
}

/// A pattern that could never match is an error, not a hole.
#[test]
fn useless_patterns_are_errors() {
    let error = |pattern: &str| PathRules::new(places(), &[pattern.to_owned()]).unwrap_err();
    assert!(matches!(error(""), RulesError::Empty { .. }));
    for pattern in ["./x", "../x", "a/../b", "a/."] {
        assert!(matches!(error(pattern), RulesError::Dots { .. }), "{pattern}");
    }
    assert!(matches!(error("~root/.ssh"), RulesError::OtherHome { .. }));
    for pattern in ["[a", "{a", "a\\"] {
        assert!(matches!(error(pattern), RulesError::Glob { .. }), "{pattern}");
    }
    assert_eq!(error("[a").to_string(), "the sensitive path \"[a\" is not a valid pattern");
}

#[test]
fn anchors_are_what_is_written_out() {
    for (pattern, path) in [
        ("~/.ssh", Some("/home/u/.ssh")),
        ("~/.Ssh/", Some("/home/u/.Ssh")),
        ("/etc/shadow", Some("/etc/shadow")),
        ("<project>/a/**", Some("/t/ws/a")),
        ("~", Some("/home/u")),
        ("~/*.gpg", None),
        (".env", None),
        (".kube/config", None),
    ] {
        assert_eq!(anchor(pattern, &places()), path.map(PathBuf::from), "{pattern}");
    }
}
