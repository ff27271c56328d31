use proptest::prelude::*;

use super::*;
use crate::testing::properties;
use std::path::PathBuf;

#[test]
fn folding_leaves_no_other_spelling() {
    for (name, plain) in [
        (".GIT", ".git"),
        (".g\u{200c}it", ".git"),
        (".\u{feff}git", ".git"),
        (".\u{17f}sh", ".ssh"),
        ("id_rsa.\u{212a}EY", "id_rsa.key"),
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        // Composed and not: `é` either way, and the sign for a length.
        ("cle\u{301}.pem", "cl\u{e9}.pem"),
        ("CL\u{c9}.pem", "cl\u{e9}.pem"),
        ("\u{212b}", "\u{e5}"),
        // Ignored by ext4 where it folds case.
        (".e\u{ad}nv", ".env"),
        (".env\u{fe0f}", ".env"),
        ("\u{2060}.s\u{200b}sh\u{e0020}", ".ssh"),
        (".\u{130}d", ".i\u{307}d"),
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

/// What other systems' file systems leave out at the end of a name is left out of one more spelling, and never a whole name.
#[test]
fn tails_are_no_other_file() {
    for (path, bare) in [
        ("/a/.env.", Some("/a/.env")),
        ("/a./b /.env . .", Some("/a/b/.env")),
        ("/a/...", Some("/a/...")),
        ("/a/. .", Some("/a/. .")),
        ("/a/.env", None),
        ("/ a/.e nv", None),
        ("/", None),
    ] {
        assert_eq!(without_tails(path).as_deref(), bare, "{path}");
    }
}

/// A byte that is no text stands for something of its own, so that patterns match around it, nothing is cut off and no two names are
/// one.
#[test]
fn names_that_are_no_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let fold = |bytes: &[u8]| fold_path(Path::new(OsStr::from_bytes(bytes)));
    assert_eq!(fold(b"/A\xff/KEY\xc3.PEM"), "/a\u{10ffff}/key\u{10ffc3}.pem");
    // An overlong slash is no slash.
    assert_eq!(fold(b"/a\xc0\xaf.env"), "/a\u{10ffc0}\u{10ffaf}.env");
}

proptest! {
    #![proptest_config(properties())]

    /// Folding twice is folding once, and neither case nor the form of composed characters makes another name.
    #[test]
    fn folding_is_final(text in any::<String>()) {
        let folded = fold(&text);
        prop_assert_eq!(fold(&folded), folded.clone());
        prop_assert_eq!(fold(&text.nfd().collect::<String>()), folded.clone());
        prop_assert_eq!(fold(&text.nfc().collect::<String>()), folded);
    }

    /// What is below a folder stays below it in every spelling.
    #[test]
    fn folding_keeps_folders(above in any::<String>(), below in any::<String>()) {
        let (above, below) = (format!("/{}", above.replace('/', "")), below.replace('/', ""));
        let whole = PathBuf::from(format!("{above}/{below}"));
        prop_assume!(![".", ".."].iter().any(|dots| fold(&below) == *dots || fold(&above[1..]) == *dots));
        for spell in [fold_path, bare_path] {
            prop_assert!(covers(&spell(Path::new(&above)), &spell(&whole)), "{whole:?}");
        }
    }
}
