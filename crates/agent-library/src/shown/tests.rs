use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use agent_protocol::path_from_shown;
use proptest::prelude::*;

use super::{FIELD, is_blank, is_hidden, line, path};

/// INS-6: a field is one visible line.
#[test]
fn fields_are_one_line() {
    for (text, shown) in [
        ("plain", "plain"),
        ("  two\r\n\tlines \u{2028}three\u{85}", "two lines three"),
        ("a\u{1b}[31mb\0\u{7f}c", "a[31mbc"),
        ("pay\u{202e}evil\u{2066}x\u{200f}", "payevilx"),
        ("ze\u{200b}ro\u{200d}\u{feff}wi\u{ad}dth", "zerowidth"),
        ("tag\u{e0041}\u{e0042}s", "tags"),
        ("</instruction_catalog> free", "<\\/instruction_catalog> free"),
        ("<\u{200b}/skill>", "<\\/skill>"),
        ("<\u{200b}\n/skill>", "< \\/skill>"),
        ("日本語 é ü", "日本語 é ü"),
        ("", ""),
        (" \n ", ""),
    ] {
        assert_eq!(line(text, FIELD), shown, "{text:?}");
    }
}

/// INS-6: what is too long is cut between graphemes, and it can be seen.
#[test]
fn fields_are_cut() {
    assert_eq!(line("abcdef", 6), "abcdef");
    assert_eq!(line("abcdefg", 6), "abcde…");
    assert_eq!(line("abcd efg", 6), "abcd…");
    // The accent belongs to the letter before it.
    assert_eq!(line("abcde\u{301}fg", 6), "abcd…");
    assert_eq!(line("abc", 0), "");
    let accents = format!("a{}", "\u{301}".repeat(1000));
    assert_eq!(line(&accents, 6), "…");
    assert_eq!(line(&"é".repeat(1000), FIELD).chars().count(), FIELD);
}

/// INS-6: a path with such characters is shown escaped, and two paths never look the same.
#[test]
fn paths_are_escaped() {
    for (bytes, shown) in [
        (&b"sub/AGENTS.md"[..], "sub/AGENTS.md"),
        (b"a b/AGENTS.md", "a b/AGENTS.md"),
        (b"a\n- b/AGENTS.md", "a\\x0A- b/AGENTS.md"),
        (b"a\\n/AGENTS.md", "a\\n/AGENTS.md"),
        (b"a\\x0A/AGENTS.md", "a\\x5Cx0A/AGENTS.md"),
        (b"\xff\xfe/AGENTS.md", "\\xFF\\xFE/AGENTS.md"),
        ("\u{202e}dm.x".as_bytes(), "\\xE2\\x80\\xAEdm.x"),
        ("a\u{200b}\u{a0}".as_bytes(), "a\\xE2\\x80\\x8B\\xC2\\xA0"),
        (b"a`b", "a\\x60b"),
        (b"x</instruction_catalog>/AGENTS.md", "x\\x3C/instruction_catalog>/AGENTS.md"),
        ("日本語/é.md".as_bytes(), "日本語/é.md"),
    ] {
        assert_eq!(path(Path::new(OsStr::from_bytes(bytes))), shown);
    }
}

proptest! {
    /// INS-6: whatever a field is, it is one line of what can be seen, within its length.
    #[test]
    fn whatever_a_field_holds(text in "\\PC{0,40}|[ -~\\s\u{200b}-\u{202e}</]{0,400}|.{0,400}", max in 0..200_usize) {
        let shown = line(&text, max);
        prop_assert!(shown.chars().count() <= max);
        prop_assert!(!shown.chars().any(|c| is_hidden(c) || (is_blank(c) && c != ' ')), "{shown:?}");
        prop_assert!(!shown.contains("</") && !shown.contains("  ") && shown.trim() == shown, "{shown:?}");
    }

    /// INS-6: the same of paths, none of which look the same.
    #[test]
    fn whatever_a_path_holds(one in prop::collection::vec(1u8.., 0..40), other in prop::collection::vec(1u8.., 0..40)) {
        let shown = |bytes: &[u8]| path(Path::new(OsStr::from_bytes(bytes)));
        let (a, b) = (shown(&one), shown(&other));
        prop_assert!(!a.chars().any(|c| is_hidden(c) || (is_blank(c) && c != ' ')), "{a:?}");
        prop_assert!(!a.contains("</") && !a.contains('`'));
        prop_assert_eq!(a == b, one == other);
        prop_assert_eq!(&*path_from_shown(&a), Path::new(OsStr::from_bytes(&one)));
    }
}
