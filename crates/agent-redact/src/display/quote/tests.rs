use proptest::prelude::*;

use super::*;
use crate::testing::{properties, strings};

/// PRM-6: argument lists in unambiguous quoting.
#[test]
fn quoting() {
    for (argv, line) in [
        (&["git", "status", "--short"][..], "git status --short"),
        (&["rm", "a b", ""], "rm 'a b' ''"),
        (&["sh", "-c", "x; rm -rf ~"], "sh -c 'x; rm -rf ~'"),
        (&["echo", "it's"], "echo $'it\\'s'"),
        (&["echo", "$HOME", "~", "*", "a\\b"], "echo '$HOME' '~' '*' 'a\\b'"),
        (&["A=1", "B=2"], "'A=1' B=2"),
        (&["echo", "a\nb\tc\r\x1b[2J\u{7f}"], "echo $'a\\nb\\tc\\r\\x1b[2J\\x7f'"),
        (&["echo", "a\u{202e}b\u{9b}\u{e0041}"], "echo $'a\\u202eb\\u009b\\U000e0041'"),
        (&["echo", "x\u{a0}y", "a\u{2019}b"], "echo $'x\\u00a0y' $'a\\u2019b'"),
        (&["echo", "中文", "é"], "echo '中文' 'é'"),
        (&["echo", "\u{301}x", "q\u{301}", "a \u{301}"], "echo $'\\u0301x' 'q\u{301}' $'a \\u0301'"),
        (&["echo", "é", "e\u{301}"], "echo 'é' $'e\\u0301'"),
        (&["echo", "a\u{2b9} \u{2b9}b"], "echo $'a\\u02b9 \\u02b9b'"),
        (&["echo", "a\u{ff3c}"], "echo $'a\\uff3c'"),
        (&["echo", "\u{2800}", "\u{1d159}"], "echo $'\\u2800' $'\\U0001d159'"),
        (&["mv", "א", "b"], "mv 'א' b"),
        (&["mv", "א", "ב"], "mv $'\\u05d0' $'\\u05d1'"),
        (&["mv", "א", "b", "ב", "c", "1"], "mv 'א' b 'ב' c 1"),
        (&[], ""),
    ] {
        assert_eq!(quote_argv(&strings(argv)), line);
    }
}

/// PRM-6: in a sentence of ours a name is seen to end where it does.
#[test]
fn names() {
    for (name, shown) in [
        ("src/a.rs", "src/a.rs"),
        ("trail ", "'trail '"),
        ("a because it is safe", "'a because it is safe'"),
        ("it's", "$'it\\'s'"),
        ("'trail'", "$'\\'trail\\''"),
        ("", "''"),
        ("a\nb", "a\\nb"),
        ("a \nb", "$'a \\nb'"),
        ("中文 é", "'中文 é'"),
        ("$HOME;", "$HOME;"),
        ("src\u{2215}a.rs", "src\\u{2215}a.rs"),
    ] {
        assert_eq!(quote_name(name), shown);
    }
}

/// PRM-6: what only looks like a quote, like the backslash before one, or like the slash after a folder, is a number.
#[test]
fn false_quotes() {
    let false_quotes = "\u{b4}\u{2b9}\u{2bb}\u{2bc}\u{2c8}\u{5f3}\u{7f4}\u{7f5}\u{1fbd}\u{1fbf}\u{1fef}\u{1ffd}\u{1ffe}\u{2018}\u{2019}\
                        \u{201b}\u{2032}\u{a78c}\u{ff07}\u{ff40}\u{ff3c}\u{2216}\u{2044}\u{2215}\u{29f8}";
    for c in false_quotes.chars() {
        let line = quote_argv(&[format!("a{c}")]);
        assert!(line.is_ascii(), "{c:?} {line}");
    }
}

/// Reads a line the way a shell with `$'…'` does, as far as this quoting needs.
pub(in crate::display) fn unquote(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    while chars.peek().is_some() {
        let mut word = String::new();
        while let Some(c) = chars.next().filter(|c| *c != ' ') {
            match c {
                '\'' => word.extend(chars.by_ref().take_while(|c| *c != '\'')),
                '$' if chars.next_if_eq(&'\'').is_some() => ansi(&mut chars, &mut word),
                c => word.push(c),
            }
        }
        words.push(word);
    }
    words
}

/// The rest of a `$'…'`.
fn ansi(chars: &mut impl Iterator<Item = char>, word: &mut String) {
    while let Some(c) = chars.next().filter(|c| *c != '\'') {
        if c != '\\' {
            word.push(c);
            continue;
        }
        let digits = match chars.next().unwrap() {
            'n' => Err('\n'),
            't' => Err('\t'),
            'r' => Err('\r'),
            'x' => Ok(2),
            'u' => Ok(4),
            'U' => Ok(8),
            other => Err(other),
        };
        word.push(digits.map_or_else(
            |c| c,
            |digits| {
                let number: String = chars.by_ref().take(digits).collect();
                char::from_u32(u32::from_str_radix(&number, 16).unwrap()).unwrap()
            },
        ));
    }
}

proptest! {
    #![proptest_config(properties())]

    /// PRM-6: a line reads back as the very words, holds nothing that is not seen, and keeps its order.
    #[test]
    fn a_line_is_read_in_one_way(argv in prop::collection::vec("([a-c=~$*'\"\\\\ ]|\n|\u{202e}|\u{1b}|é|\u{3000}|\u{2019}|\u{301}|א|ב|1|[ae]\\p{M}{1,3}|\\PC|\\p{C}){0,8}", 1..5)) {
        let line = quote_argv(&argv);
        prop_assert!(line.chars().all(|c| class(c) == Class::Plain), "{line}");
        prop_assert!(!reorders(&line), "{line}");
        prop_assert!(unicode_normalization::is_nfc(&line), "{line}");
        prop_assert_eq!(unquote(&line), argv);
    }
}
