//! Argument lists as a line that can be read in one way only.

use super::class::{Class, class};

/// An argument list in shell-like quoting: a POSIX shell with `$'…'` (bash, zsh, ksh) reads the very same words back
/// (PRM-6). The line holds no line break and nothing invisible; also blanks other than the space, and quotes that only
/// look like quotes, are written as numbers.
#[must_use]
pub fn quote_argv(argv: &[String]) -> String {
    let mut line = String::new();
    for (at, word) in argv.iter().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        push_word(&mut line, word, at == 0);
    }
    line
}

fn push_word(line: &mut String, word: &str, first: bool) {
    if is_bare(word, first) {
        line.push_str(word);
    } else if word.chars().all(|c| c != '\'' && is_clear(c)) {
        line.push('\'');
        line.push_str(word);
        line.push('\'');
    } else {
        line.push_str("$'");
        word.chars().for_each(|c| push_char(line, c));
        line.push('\'');
    }
}

/// Whether a shell takes the word as it stands. A first word with `=` would be an assignment.
fn is_bare(word: &str, first: bool) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+:,./-".contains(&byte) || (byte == b'=' && !first);
    !word.is_empty() && word.bytes().all(plain)
}

/// Whether people see the character for what it is.
fn is_clear(c: char) -> bool {
    let false_quote =
        matches!(c, '\u{2bc}' | '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' | '\u{ff07}' | '\u{ff02}');
    class(c) == Class::Plain && !false_quote && (c == ' ' || !c.is_whitespace())
}

fn push_char(line: &mut String, c: char) {
    match c {
        '\'' => line.push_str("\\'"),
        '\\' => line.push_str("\\\\"),
        '\n' => line.push_str("\\n"),
        '\t' => line.push_str("\\t"),
        '\r' => line.push_str("\\r"),
        c if is_clear(c) => line.push(c),
        '\0'..='\u{7f}' => line.push_str(&format!("\\x{:02x}", u32::from(c))),
        '\u{80}'..='\u{ffff}' => line.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => line.push_str(&format!("\\U{:08x}", u32::from(c))),
    }
}

#[cfg(test)]
mod tests;
