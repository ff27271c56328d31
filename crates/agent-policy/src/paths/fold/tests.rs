use super::*;

#[test]
fn folding_leaves_no_other_spelling() {
    for (name, plain) in [
        (".GIT", ".git"),
        (".g\u{200c}it", ".git"),
        (".\u{feff}git", ".git"),
        (".\u{17f}sh", ".ssh"),
        ("id_rsa.\u{212a}EY", "id_rsa.key"),
        ("Straße", "strasse"),
        ("中文.PEM", "中文.pem"),
    ] {
        assert_eq!(fold(name), plain);
    }
}

/// PATH-12: odd spellings of one path are one path.
#[test]
fn odd_spellings_are_cleaned() {
    for (path, plain) in [
        ("/a/.env/", "/a/.env"),
        ("/a/.env/.", "/a/.env"),
        ("/a//b/../.env", "/a/.env"),
        ("/../..", "/"),
        ("/", "/"),
        ("/a/...", "/a/..."),
    ] {
        assert_eq!(fold_path(Path::new(path)), plain, "{path}");
    }
}

/// PATH-01: a sibling with the same beginning is not inside.
#[test]
fn covering_is_by_components() {
    for (base, path, inside) in [
        ("/t/ws", "/t/ws", true),
        ("/t/ws", "/t/ws/x", true),
        ("/t/ws", "/t/ws2/x", false),
        ("/t/ws", "/t/w", false),
        ("/", "/t", true),
    ] {
        assert_eq!(covers(base, path), inside, "{base} {path}");
    }
}

#[test]
fn prefixes_go_from_the_outside_in() {
    assert_eq!(prefixes("/a/b/c").collect::<Vec<_>>(), ["/a", "/a/b", "/a/b/c"]);
    assert_eq!(prefixes("/").collect::<Vec<_>>(), ["/"]);
    assert_eq!(name_of("/a/b"), "b");
}
