//! Argument lists as a line that can be read in one way only.

use super::{
    bidi::{is_rtl, reorders},
    class::{Class, class, is_seen_after},
    composed::Letter,
    escape::{FALSE_SLASHES, escape_word},
};

/// An argument list in shell-like quoting: a POSIX shell with `$'…'` (bash, zsh, ksh) reads the very same words back
/// (PRM-6). The line holds no line break and nothing invisible; also blanks other than the space, accents without a
/// letter or with one that has a character of its own (NFC), and quotes and backslashes that only look like some, are
/// written as numbers. So are letters written from right to left where a terminal could show the words in another order.
#[must_use]
pub fn quote_argv(argv: &[String]) -> String {
    Quoting::of(argv).line(argv)
}

/// A name (of a file, a folder) for a sentence or a line of ours, so that it is seen where it ends: one with a blank or a
/// quote in it as [`quote_argv`] writes a word, any other as [`escape_word`] does.
#[must_use]
pub fn quote_name(name: &str) -> String {
    if needs_quotes(name) {
        let word = [name.to_owned()];
        return Quoting::of(&word).word(name, false);
    }
    escape_word(name).into_owned()
}

/// Whether a name could be taken for several words, for none, or for a name in quotes.
pub(super) fn needs_quotes(name: &str) -> bool {
    name.is_empty() || name.contains([' ', '\''])
}

/// How an argument list is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoting {
    /// Letters written from right to left are written as numbers.
    pub(super) ordered: bool,
    /// Line breaks within quotes are line breaks, so that a script is read as one.
    pub(super) lines: bool,
}

impl Quoting {
    pub(super) fn of(argv: &[String]) -> Self {
        let plain = Self { ordered: false, lines: false };
        // Most lists have none of these letters, and need not be written twice.
        let ordered = argv.iter().any(|word| word.contains(is_rtl)) && reorders(&plain.line(argv));
        Self { ordered, ..plain }
    }

    /// The same over several lines.
    pub(super) fn with_lines(self) -> Self {
        Self { lines: true, ..self }
    }

    fn line(self, argv: &[String]) -> String {
        let words: Vec<String> = argv.iter().enumerate().map(|(at, word)| self.word(word, at == 0)).collect();
        words.join(" ")
    }

    /// One word, or a part of one; `first` is the program.
    pub(super) fn word(self, word: &str, first: bool) -> String {
        if is_bare(word, first) {
            return word.to_owned();
        }
        if self.is_plain(word) {
            return format!("'{word}'");
        }
        let mut quoted = "$'".to_owned();
        let mut rest = self.clear(word).peekable();
        while let Some((c, clear)) = rest.next() {
            // A blank that ends a line is not seen.
            let ends_line = self.lines && c == ' ' && rest.peek().is_some_and(|(next, _)| *next == '\n');
            match c {
                '\n' if self.lines => quoted.push('\n'),
                c => push_char(&mut quoted, c, clear && !ends_line),
            }
        }
        quoted.push('\'');
        quoted
    }

    /// Whether a shell takes a word in plain quotes for what it is.
    fn is_plain(self, word: &str) -> bool {
        let lines = self.lines && !word.contains(" \n");
        !word.contains('\'') && self.clear(word).all(|(c, clear)| clear || (lines && c == '\n'))
    }

    /// The characters, and whether people see each for what it is.
    fn clear(self, word: &str) -> impl Iterator<Item = (char, bool)> {
        // The quote that precedes the first one carries no accent.
        let (mut before, mut letter) = (None, Letter::default());
        word.chars().map(move |c| {
            let hidden = (self.ordered && is_rtl(c)) || (c == '…' && before == Some('['));
            let seen = !hidden && class(c) == Class::Plain && !is_false_sign(c) && is_seen_after(c, before);
            let clear = seen && letter.takes(c);
            if !clear {
                letter.end();
            }
            before = clear.then_some(c);
            (c, clear)
        })
    }
}

/// Whether a shell takes the word as it stands. A first word with `=` would be an assignment.
fn is_bare(word: &str, first: bool) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+:,./-".contains(&byte) || (byte == b'=' && !first);
    !word.is_empty() && word.bytes().all(plain)
}

/// What can be taken for a single quote, which would seem to end a word, for a backslash, which would seem to escape one, or for
/// a slash, which would seem to name a folder: the confusables of all three, and accents drawn like a quote.
fn is_false_sign(c: char) -> bool {
    FALSE_SLASHES.contains(&c)
        || matches!(c, '\u{b4}' | '\u{2b9}'..='\u{2bf}' | '\u{2c8}' | '\u{2ca}' | '\u{2cb}' | '\u{2ee}' | '\u{2f4}'
        | '\u{30d}' | '\u{312}'..='\u{315}' | '\u{343}' | '\u{374}' | '\u{384}' | '\u{55a}' | '\u{55d}'
        | '\u{5f3}' | '\u{5f4}' | '\u{7f4}' | '\u{7f5}' | '\u{144a}' | '\u{16cc}' | '\u{1fbd}' | '\u{1fbf}'
        | '\u{1fef}' | '\u{1ffd}' | '\u{1ffe}' | '\u{2018}'..='\u{201f}' | '\u{2032}'..='\u{2037}'
        | '\u{275b}'..='\u{275e}' | '\u{a78b}' | '\u{a78c}' | '\u{ff02}' | '\u{ff07}' | '\u{ff40}'
        | '\u{16f51}' | '\u{16f52}'
        | '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{ff3c}')
}

fn push_char(line: &mut String, c: char, clear: bool) {
    match c {
        '\'' => line.push_str("\\'"),
        '\\' => line.push_str("\\\\"),
        '\n' => line.push_str("\\n"),
        '\t' => line.push_str("\\t"),
        '\r' => line.push_str("\\r"),
        c if clear => line.push(c),
        '\0'..='\u{7f}' => line.push_str(&format!("\\x{:02x}", u32::from(c))),
        '\u{80}'..='\u{ffff}' => line.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => line.push_str(&format!("\\U{:08x}", u32::from(c))),
    }
}

#[cfg(test)]
pub(super) mod tests;
