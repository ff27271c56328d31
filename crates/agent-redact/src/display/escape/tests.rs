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
        assert_eq!(escape_word(text), shown.replace('\n', "\\n").replace('\t', "\\t"));
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

/// PRM-6: in a block that somebody decides about, everything that is not seen is shown; code stays as it is.
#[test]
fn blocks() {
    for (text, shown) in [
        ("a\nb", "a\nb"),
        ("\tb\t\tc→ d", "→\tb→\t→\tc<U+2192> d"),
        ("-a \n+a\n \n  \n<U+20> ", "-a<U+20>\n+a\n \n <U+20>\n<U+3C>U+20><U+20>"),
        ("\u{1b} \n", "<U+1B><U+20>\n"),
        ("-é+e\u{301}", "-é+e<U+301>"),
        ("\u{212b}\u{37e} q\u{301}\u{323}", "<U+212B><U+37E> q\u{301}<U+323>"),
        ("\x1b[2J\r\n", "<U+1B>[2J<U+0D>\n"),
        ("\u{1f468}\u{200d}\u{1f469}", "\u{1f468}<U+200D>\u{1f469}"),
        ("\u{2764}\u{fe0f}", "\u{2764}<U+FE0F>"),
        ("a\u{a0}b\u{3000}c\u{2800}", "a<U+A0>b<U+3000>c<U+2800>"),
        ("+\u{301}q\u{301}\u{302}", "+<U+301>q\u{301}\u{302}"),
        ("\u{200b}\u{301}", "<U+200B><U+301>"),
        ("\u{1f44d}\u{1f3fd}", "\u{1f44d}\u{1f3fd}"),
        (r#"println!("\x1b[2J\r\n\u{202e}\\")"#, r#"println!("\x1b[2J\r\n\u{202e}\\")"#),
        ("Vec<u8> <U+> <U+1b> <U+1B> <U+0000001B>", "Vec<u8> <U+> <U+1b> <U+3C>U+1B> <U+0000001B>"),
        ("שלום עולם", "שלום עולם"),
        ("[…] …", "[<U+2026>] …"),
    ] {
        assert_eq!(escape_for_prompt(text), shown);
    }
}

/// PRM-6: the same in a name on a line of ours. A backslash is doubled only where it could be taken for one of ours.
#[test]
fn words() {
    for (word, shown) in [
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("a\u{a0}b\u{2003}", r"a\u{a0}b\u{2003}"),
        ("\u{301}x", r"\u{301}x"),
        (r"C:\Users\u\x\", r"C:\Users\u\x\"),
        (r"\new", r"\\new"),
        ("e\u{301} é \\\u{212b}", r"e\u{301} é \\\u{212b}"),
        (r"\x1b \x1 \xg0", r"\\x1b \x1 \xg0"),
        (r"caf\xE9 \x99 \x5CxE9", r"caf\xE9 \x99 \x5CxE9"),
        (r"\u{202e} \u{} \u{1234567} \u{20", r"\\u{202e} \u{} \u{1234567} \u{20"),
        ("\\\u{1b}", r"\\\x1b"),
        (r"\\x1b", r"\\\\x1b"),
        ("שלום.txt", "שלום.txt"),
        ("א/ב", r"\u{5d0}/\u{5d1}"),
        ("א/b/1", "א/b/1"),
    ] {
        assert_eq!(escape_word(word), shown);
    }
}

/// Reads a block's escapes back.
fn unescape_block(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == TAB {
            rest = rest.strip_prefix('\t').unwrap();
            text.push('\t');
        } else if c == '<' && is_block_form(rest) {
            let (number, after) = rest["U+".len()..].split_once('>').unwrap();
            text.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
            rest = after;
        } else {
            text.push(c);
        }
    }
    text
}

/// Reads a word's escapes back: of the backslashes before something that reads like one, two are one.
fn unescape_word(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        let after = rest.trim_start_matches('\\');
        let backslashes = rest.len() - after.len();
        if backslashes == 0 || !reads_as_escape(after, Strictness::Word) {
            text.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        text.push_str(&"\\".repeat(backslashes / 2));
        rest = after;
        if backslashes % 2 == 1 {
            let (c, length) = match after.as_bytes()[0] {
                b'n' => ('\n', 1),
                b't' => ('\t', 1),
                b'r' => ('\r', 1),
                b'x' => (char::from(u8::from_str_radix(&after[1..3], 16).unwrap()), 3),
                _ => {
                    let end = after.find('}').unwrap();
                    (char::from_u32(u32::from_str_radix(&after[2..end], 16).unwrap()).unwrap(), end + 1)
                }
            };
            text.push(c);
            rest = &after[length..];
        }
    }
    text
}

proptest! {
    #![proptest_config(properties())]

    /// CLI-01: nothing that steers is left, and escaping again changes nothing.
    #[test]
    fn nothing_steers(text in "([ -~]|\\PC|\\p{Cc}|\\p{Cf}|[\u{200b}-\u{206f}\u{fe0f}\u{7f}-\u{9f}]){0,40}") {
        let terminal = escape_for_terminal(&text);
        prop_assert!(terminal.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        let hidden = |c| class(c) == Class::Hidden;
        prop_assert!(!terminal.contains(hidden));
        prop_assert_eq!(escape_for_terminal(&terminal), terminal.clone());
    }

    /// PRM-6: in prompts nothing is hidden and no two texts look the same; clean text is not copied.
    #[test]
    fn nothing_is_hidden(
        text in "([ -~]|\\PC|\\p{C}|\\p{M}|[\u{200b}-\u{206f}\u{fe0f}אב]|[→ \t\n]|[ae]\\p{M}{1,3}|\\\\(x1b|n|u\\{5d0\\})|<U\\+1B>|\\[…){0,40}",
    ) {
        let prompt = escape_for_prompt(&text);
        prop_assert!(prompt.chars().all(|c| class(c) == Class::Plain || c == '\n' || c == '\t'));
        prop_assert_eq!(unescape_block(&prompt), text.as_str());
        prop_assert_eq!(matches!(prompt, Cow::Borrowed(_)), prompt == text);
        let word = escape_word(&text);
        prop_assert!(word.chars().all(|c| class(c) == Class::Plain));
        prop_assert!(!reorders(&word));
        prop_assert_eq!(unescape_word(&word), text.as_str());
        for shown in [prompt, word] {
            let first = shown.chars().next();
            prop_assert!(!first.is_some_and(super::super::class::is_mark));
            // Two texts that are both composed and not the same are not spellings of the same letters either.
            prop_assert!(unicode_normalization::is_nfc(&shown), "{shown:?}");
        }
    }
}
