use proptest::prelude::*;

use super::*;
use crate::testing::properties;

/// CLI-01: what a terminal would obey becomes text; printable text, line breaks and tabs stay.
#[test]
fn terminal_controls() {
    for (text, shown) in [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[2J\x1b]0;x\x07", "\\x1b[2J\\x1b]0;x\\x07"),
        ("\x1b]52;c;aGk=\x07ALL OK\r", "\\x1b]52;c;aGk=\\x07ALL OK\\r"),
        ("\u{9b}2J", "\\u{9b}2J"),
        ("a\u{8}b\u{7f}\0", "a\\x08b\\x7f\\x00"),
        ("\u{85}\u{90}", "\\u{85}\\u{90}"),
        ("abc\u{202e}cba", "abc\\u{202e}cba"),
        ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
        ("a\u{2028}b", "a\\u{2028}b"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("中文 é ✓ \u{1f600}", "中文 é ✓ \u{1f600}"),
        ("", ""),
    ] {
        assert_eq!(escape_for_terminal(text), shown);
        assert_eq!(escape_for_prompt(text), shown);
    }
}

/// CLI-02: emoji sequences and joined scripts stay whole in ordinary text.
#[test]
fn joiners_in_text() {
    for text in [
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
        "#\u{fe0f}\u{20e3}",
        "نمی\u{200c}خواهم",
        "क्\u{200d}ष",
    ] {
        assert_eq!(escape_for_terminal(text), text);
    }
    for (text, shown) in [
        ("ad\u{200d}min", "ad\\u{200d}min"),
        ("ad\u{200c}min", "ad\\u{200c}min"),
        ("é\u{200d}", "é\\u{200d}"),
        ("\u{200d}é", "\\u{200d}é"),
        ("é\u{200d}\u{200d}é", "é\\u{200d}\\u{200d}é"),
        ("\n\u{fe0f}", "\n\\u{fe0f}"),
        ("x\u{fe0f}\u{fe0f}", "x\u{fe0f}\\u{fe0f}"),
    ] {
        assert_eq!(escape_for_terminal(text), shown, "{text:?}");
    }
}

/// PRM-6: in a prompt everything that is not seen is shown.
#[test]
fn prompts_show_joiners() {
    for (text, shown) in [
        ("\u{1f468}\u{200d}\u{1f469}", "\u{1f468}\\u{200d}\u{1f469}"),
        ("\u{2764}\u{fe0f}", "\u{2764}\\u{fe0f}"),
        ("a\nb\tc", "a\nb\tc"),
    ] {
        assert_eq!(escape_for_prompt(text), shown);
    }
    assert_eq!(escape_word("a\nb\tc\r"), "a\\nb\\tc\\r");
}

proptest! {
    #![proptest_config(properties())]

    /// CLI-01, PRM-6: nothing that steers is left, escaping again changes nothing, and clean text is not copied.
    #[test]
    fn nothing_steers(text in "([ -~]|\\PC|\\p{Cc}|\\p{Cf}|[\u{200b}-\u{206f}\u{fe0f}\u{7f}-\u{9f}]){0,40}") {
        let terminal = escape_for_terminal(&text);
        prop_assert!(terminal.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        let hidden = |c| class(c) == Class::Hidden;
        prop_assert!(!terminal.contains(hidden));
        prop_assert_eq!(escape_for_terminal(&terminal), terminal.clone());

        let prompt = escape_for_prompt(&text);
        prop_assert!(prompt.chars().all(|c| class(c) == Class::Plain || c == '\n' || c == '\t'));
        prop_assert_eq!(escape_for_prompt(&prompt), prompt.clone());
        prop_assert!(escape_word(&text).chars().all(|c| class(c) == Class::Plain));
        prop_assert_eq!(matches!(prompt, Cow::Borrowed(_)), prompt == text);
    }
}
