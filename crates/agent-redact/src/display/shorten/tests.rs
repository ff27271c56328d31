use proptest::prelude::*;

use super::*;
use crate::testing::properties;

#[test]
fn cuts_with_an_ellipsis() {
    for (text, columns, shown) in [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
        ("", 0, ""),
        ("中文字", 6, "中文字"),
        ("中文字", 5, "中文…"),
        ("中文字", 4, "中…"),
        ("中文字", 2, "…"),
        ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"),
        ("e\u{301}te\u{301}s", 3, "e\u{301}t…"),
        ("a—b—c", 4, "a—b…"),
    ] {
        assert_eq!(shorten(text, columns), shown, "{text} {columns}");
    }
}

/// CLI-02: a thousand family emoji, in every width: no panic, nothing torn, never too wide.
#[test]
fn families_stay_together() {
    let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}";
    let text = family.repeat(1000);
    for columns in 0..=100 {
        let shown = shorten(&text, columns);
        assert!(shown.width() <= columns, "{columns}");
        let whole = shown.strip_suffix('…').unwrap_or(&shown);
        assert_eq!(whole.len() % family.len(), 0, "{columns}");
        assert!(columns < 3 || !whole.is_empty(), "{columns}");
    }
}

proptest! {
    #![proptest_config(properties())]

    /// CLI-02: any text, any width.
    #[test]
    fn fits(text in "([a-z—]|中|e\u{301}|\u{1f468}\u{200d}\u{1f469}|\\PC){0,60}", columns in 0_usize..80) {
        let shown = shorten(&text, columns);
        let width = |text: &str| text.graphemes(true).map(UnicodeWidthStr::width).sum::<usize>();
        prop_assert!(width(&shown) <= columns);
        if let Some(start) = shown.strip_suffix('…').filter(|_| shown != text) {
            prop_assert!(text.starts_with(start));
            prop_assert!(width(&text) > columns);
        } else {
            prop_assert!(shown == text || columns == 0);
        }
    }
}
