use proptest::prelude::*;

use super::*;
use crate::{
    paths::PathRules,
    testing::{SENSITIVE, places, properties, rules_for, strings},
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

/// Where files that are known by their names usually are can be looked up, too.
#[test]
fn usual_places_are_in_the_users_home() {
    for (pattern, path) in [
        (".netrc", Some("/home/u/.netrc")),
        ("**/.kube/config", Some("/home/u/.kube/config")),
        ("~/.ssh", None),
        ("/etc/shadow", None),
        ("*.pem", None),
        ("<project>/data", None),
        ("~", None),
    ] {
        assert_eq!(usual_place(pattern, &places()), path.map(PathBuf::from), "{pattern}");
    }
    assert_eq!(usual_place(".netrc", &Places { user_home: None, ..places() }), None);
}

/// The contract's list and the fixed ones need no regular expression: compiling some costs more than the rest of a start.
#[test]
fn usual_patterns_are_simple() {
    let rules = PathRules::new(places(), &strings(SENSITIVE)).unwrap();
    for set in [&rules.sensitive, &rules.control, &rules.ours] {
        assert!(set.names.globs.is_empty() && set.paths.globs.is_empty());
    }
}

/// Of several that match the first given explains, however each is matched.
#[test]
fn the_first_pattern_explains() {
    let given = ["a*", "?b", "ab", "[a]b*"];
    for from in 0..given.len() {
        let patterns: Vec<String> = given.iter().cycle().skip(from).take(given.len()).map(|&p| p.to_owned()).collect();
        let rules = PathRules::new(places(), &patterns).unwrap();
        assert_eq!(rules.sensitive(Path::new("/x/ab")).unwrap().pattern, given[from]);
    }
}

/// One component of a pattern, with stars that make matches likely; the last one of a pattern that was parsed is no `**`.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![2 => "[ab.]{1,3}", 3 => "[ab.]{0,2}\\*[ab.]{0,2}", 1 => "[ab?*{},\\[\\]]{1,4}"]
        .prop_filter("a final ** is taken off", |part| part != "**")
}

proptest! {
    #![proptest_config(properties())]

    /// However a pattern is matched, it means what `globset` makes of it.
    #[test]
    fn patterns_mean_globs(
        above in prop::collection::vec(prop_oneof![3 => part(), 1 => Just("**".to_owned())], 0..3),
        last in part(),
        deep in any::<bool>(),
        names in prop::collection::vec("[ab.]{1,4}", 0..5),
    ) {
        let text = match (above.len(), deep) {
            (0, true) => last,
            (_, true) => format!("**/{}/{last}", above.join("/")),
            (0, false) => format!("/{last}"),
            (_, false) => format!("/{}/{last}", above.join("/")),
        };
        let why = Why::new(text.as_str(), "");
        let path = format!("/{}", names.join("/"));
        let path = if text.contains('/') { path.as_str() } else { name_of(&path) };
        match (compile(&text, &why), Patterns::new(vec![(text.clone(), why)])) {
            (Ok(glob), Ok(patterns)) => {
                let expected = glob.compile_matcher().is_match(path);
                prop_assert_eq!(patterns.first(path).is_some(), expected, "{} on {}", text, path);
            }
            (Err(_), Err(_)) => {}
            (glob, patterns) => prop_assert!(false, "{text}: {glob:?} {patterns:?}"),
        }
    }
}
