//! Escaping what must not reach a display as it is.

use std::borrow::Cow;

use super::{
    bidi::{is_rtl, reorders},
    class::{Class, class, is_seen_after},
    composed::Letter,
};

/// Stands before a tab in a block.
const TAB: char = '→';

/// How strict to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Ordinary text: emoji sequences and the joiners of some scripts stay whole.
    Terminal,
    /// A block of text somebody decides about: whatever is not seen is shown.
    Prompt,
    /// A name in a line of ours: line breaks and tabs are shown too.
    Word,
    /// A name whose parts a display could show in another order: so are letters written from right to left.
    Ordered,
}

impl Strictness {
    pub(super) fn of_word(word: &str) -> Self {
        if reorders(word) { Self::Ordered } else { Self::Word }
    }

    fn is_word(self) -> bool {
        matches!(self, Self::Word | Self::Ordered)
    }
}

/// Text for a terminal: printable text, `\n` and `\t` stay; control characters (ESC, BEL, `\r`, C1 …), bidi controls and
/// zero-width characters become `\x1b`, `\u{202e}`.
///
/// Joiners and emoji forms stay where they belong, between characters they can join. A text that comes in pieces should
/// be cut at line ends: at the border of two pieces a joiner is escaped.
#[must_use]
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    escape(text, Strictness::Terminal)
}

/// Text for a permission prompt: nothing that is not seen may take part in what somebody approves (PRM-6). Besides what
/// [`escape_for_terminal`] escapes these are joiners, variation selectors, blanks other than the space, a blank that ends
/// a line, accents without a letter, and what makes up a letter that has a character of its own (NFC). Keeps `\n`; a tab
/// gets a `→` before it, which nothing else has.
///
/// A line that is one blank and nothing else stays as it is: so a diff writes an empty line that has not changed.
///
/// They become `<U+202E>`: source text is full of backslashes, so `\x1b` would leave open which of the two it is. A text
/// that has `<U+202E>` in it gets `<U+3C>U+202E>`: two texts never look the same. Likewise the `[…` that begins our
/// note of a cut is always ours.
#[must_use]
pub fn escape_for_prompt(text: &str) -> Cow<'_, str> {
    escape(text, Strictness::Prompt)
}

/// A name (of a file, a tool, a host) for one line: as strict as [`escape_for_prompt`], without line breaks and tabs, in
/// the form `\n`, `\x1b`, `\u{202e}`. Backslashes before what would read like such a form, or before one, are doubled; `\xE9`,
/// as a byte of a path is written, is none. A name whose parts a terminal may show in another order has its letters from right to left escaped.
#[must_use]
pub fn escape_word(text: &str) -> Cow<'_, str> {
    escape(text, Strictness::of_word(text))
}

pub(super) fn escape(text: &str, strictness: Strictness) -> Cow<'_, str> {
    let ends_blank = strictness == Strictness::Prompt && (text.ends_with(' ') || text.contains(" \n"));
    if !ends_blank && text.bytes().all(|byte| is_plain(byte, strictness)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let (mut before, mut letter) = (None, Letter::default());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let backslashes = rest.len() - rest.trim_start_matches('\\').len();
        if backslashes > 0 && strictness.is_word() {
            rest = &rest[backslashes..];
            let times = if reads_as_escape(rest, strictness) { 2 } else { 1 };
            out.push_str(&"\\".repeat(backslashes * times));
            before = Some('\\');
            letter.end();
            continue;
        }
        let line_starts = rest.len() == text.len() || text[..text.len() - rest.len()].ends_with('\n');
        rest = &rest[c.len_utf8()..];
        let after = rest.chars().next();
        let misread = strictness == Strictness::Prompt
            && match c {
                '<' => is_block_form(rest),
                ' ' => !line_starts && matches!(after, None | Some('\n')),
                _ => false,
            };
        let stays = !misread && stays(c, before, after, strictness) && is_composed(c, &mut letter, strictness);
        if stays {
            out.push(c)
        } else {
            push_escaped(&mut out, c, strictness);
            letter.end();
        }
        // What was escaped can carry neither a joiner nor an accent.
        before = stays.then_some(c);
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// What is drawn like a slash: in a name it would seem to end that of a folder.
pub(super) const FALSE_SLASHES: [char; 3] = ['\u{2044}', '\u{2215}', '\u{29f8}'];

/// Printable ASCII is nearly everything; it needs no look at its neighbours, but for what could be taken for an escape.
fn is_plain(byte: u8, strictness: Strictness) -> bool {
    match byte {
        b'\n' | b'\\' => !strictness.is_word(),
        b'\t' => strictness == Strictness::Terminal,
        b'<' => strictness != Strictness::Prompt,
        byte => matches!(byte, b' '..=b'~'),
    }
}

/// Whether a character stays as it is between its neighbours.
fn stays(c: char, before: Option<char>, after: Option<char>, strictness: Strictness) -> bool {
    let seen = |c: char| matches!(class(c), Class::Plain | Class::Blank);
    // No script and no emoji joins ASCII letters; in source text a joiner between them is an attack or an accident.
    let joinable = |c: char| !c.is_ascii() && (seen(c) || class(c) == Class::Form);
    match class(c) {
        Class::Plain | Class::Blank if strictness == Strictness::Terminal => true,
        Class::Plain => {
            let begins_note = c == '…' && before == Some('[');
            let moves = strictness == Strictness::Ordered && is_rtl(c);
            let is_tab = strictness == Strictness::Prompt && c == TAB;
            let is_false_slash = strictness.is_word() && FALSE_SLASHES.contains(&c);
            !begins_note && !moves && !is_tab && !is_false_slash && is_seen_after(c, before)
        }
        Class::Control => match c {
            '\n' => !strictness.is_word(),
            '\t' => strictness == Strictness::Terminal,
            _ => false,
        },
        Class::Hidden | Class::Blank => false,
        Class::Joiner | Class::Form if strictness != Strictness::Terminal => false,
        Class::Joiner => before.is_some_and(joinable) && after.is_some_and(|c| !c.is_ascii() && seen(c)),
        Class::Form => before.is_some_and(seen),
    }
}

/// Whether a character is the only spelling of what is seen, where that matters.
fn is_composed(c: char, letter: &mut Letter, strictness: Strictness) -> bool {
    strictness == Strictness::Terminal || letter.takes(c)
}

/// Whether what comes after a backslash would make it the beginning of an escape of a word, or is one.
fn reads_as_escape(rest: &str, strictness: Strictness) -> bool {
    let Some(c) = rest.chars().next() else { return false };
    let tail = &rest[c.len_utf8()..];
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    match c {
        'n' | 't' | 'r' => true,
        // Only ASCII is written so: from 80 on it is a byte of a path (`shown_path`), and stays.
        'x' => digits(tail, hex) >= 2 && tail.starts_with(|digit| digit < '8'),
        'u' => {
            let number = tail.strip_prefix('{').unwrap_or_default();
            let length = digits(number, hex);
            (1..=6).contains(&length) && number[length..].starts_with('}')
        }
        c => !stays(c, Some('\\'), tail.chars().next(), strictness) || !Letter::default().takes(c),
    }
}

/// Whether what comes after a `<` makes it read like an escape of a block.
fn is_block_form(rest: &str) -> bool {
    let number = rest.strip_prefix("U+").unwrap_or_default();
    let length = digits(number, |byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    (2..=6).contains(&length) && number[length..].starts_with('>')
}

/// How many digits a text begins with; more than a number of ours has are not counted.
fn digits(text: &str, digit: impl Fn(u8) -> bool) -> usize {
    text.bytes().take(7).take_while(|byte| digit(*byte)).count()
}

/// Writes a character as its number, in a form programmers read.
fn push_escaped(out: &mut String, c: char, strictness: Strictness) {
    let number = u32::from(c);
    match c {
        // The tab itself stays, so that columns do too.
        '\t' if strictness == Strictness::Prompt => out.extend([TAB, '\t']),
        _ if strictness == Strictness::Prompt => out.push_str(&format!("<U+{number:02X}>")),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{7f}' => out.push_str(&format!("\\x{number:02x}")),
        _ => out.push_str(&format!("\\u{{{number:x}}}")),
    }
}

#[cfg(test)]
mod tests;
