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
        (&[], ""),
    ] {
        assert_eq!(quote_argv(&strings(argv)), line);
    }
}

/// Reads a line the way a shell with `$'…'` does, as far as this quoting needs.
fn unquote(line: &str) -> Vec<String> {
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

    /// PRM-6: a line reads back as the very words, and holds nothing a prompt would have to escape.
    #[test]
    fn a_line_is_read_in_one_way(argv in prop::collection::vec("([a-c=~$*'\"\\\\ ]|\n|\u{202e}|\u{1b}|é|\u{3000}|\u{2019}|\\PC|\\p{C}){0,8}", 1..5)) {
        let line = quote_argv(&argv);
        let escaped = crate::escape_word(&line);
        prop_assert_eq!(escaped.as_ref(), line.as_str());
        prop_assert_eq!(unquote(&line), argv);
    }
}
