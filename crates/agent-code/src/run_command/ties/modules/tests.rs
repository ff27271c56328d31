use super::paths;

#[track_caller]
fn check(word: &str, expected: &[&str]) {
    let found: Vec<String> = paths(word).collect();
    for path in expected {
        assert!(found.iter().any(|found| found == path), "{word}: {path} not in {found:?}");
    }
    assert!(!expected.is_empty() || found.is_empty(), "{word}: {found:?}");
}

/// PRM-4: where the modules lie that a word names.
#[test]
fn modules_in_words() {
    check("pkg.tool", &["pkg", "pkg/tool"]);
    check("-mpkg.tool", &["pkg/tool"]);
    check("-Ma::X", &["a", "a/X"]);
    check("-wMa::X", &["a/X"]);
    check("import a.b; a.b.run()", &["a", "a/b", "a/b/run"]);
    check("pkg.web:app", &["pkg/web"]);
    for word in ["tool", "../x", "/a/.b", ".env", "x.", "--release"] {
        check(word, &[]);
    }
}
