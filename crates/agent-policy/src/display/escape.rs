//! Escaping what must not reach a display as it is.

use std::borrow::Cow;

use super::class::{Class, class};

/// How strict to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Ordinary text: emoji sequences and the joiners of some scripts stay whole.
    Terminal,
    /// A block of text somebody decides about: whatever is not seen is shown.
    Prompt,
    /// A name in a line of ours: line breaks and tabs are shown too.
    Word,
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

/// Text for a permission prompt: as [`escape_for_terminal`], and every joiner and variation selector is escaped too, since
/// nothing that is not seen may take part in what somebody approves (PRM-6). Keeps `\n` and `\t`.
#[must_use]
pub fn escape_for_prompt(text: &str) -> Cow<'_, str> {
    escape(text, Strictness::Prompt)
}

/// A name (of a file, a tool, a host) for one line: as [`escape_for_prompt`], without line breaks and tabs.
#[must_use]
pub fn escape_word(text: &str) -> Cow<'_, str> {
    escape(text, Strictness::Word)
}

fn escape(text: &str, strictness: Strictness) -> Cow<'_, str> {
    let Some(first) = first_escaped(text, strictness) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back();
    let mut rest = text[first..].chars();
    while let Some(c) = rest.next() {
        if stays(c, before, rest.clone().next(), strictness) {
            out.push(c)
        } else {
            push_escaped(&mut out, c)
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Where the first character stands that does not stay.
fn first_escaped(text: &str, strictness: Strictness) -> Option<usize> {
    // Printable ASCII is nearly everything; it needs no look at its neighbours.
    let plain = |byte| matches!(byte, b' '..=b'~') || (matches!(byte, b'\n' | b'\t') && strictness != Strictness::Word);
    let start = text.bytes().position(|byte| !plain(byte))?;
    let mut before = text[..start].chars().next_back();
    let mut rest = text[start..].char_indices();
    while let Some((at, c)) = rest.next() {
        if !stays(c, before, rest.clone().next().map(|(_, c)| c), strictness) {
            return Some(start + at);
        }
        before = Some(c);
    }
    None
}

/// Whether a character stays as it is between its neighbours.
pub(super) fn stays(c: char, before: Option<char>, after: Option<char>, strictness: Strictness) -> bool {
    let seen = |c: char| class(c) == Class::Plain;
    // No script and no emoji joins ASCII letters; in source text a joiner between them is an attack or an accident.
    let joinable = |c: char| !c.is_ascii() && (seen(c) || class(c) == Class::Form);
    match class(c) {
        Class::Plain => true,
        Class::Control => matches!(c, '\n' | '\t') && strictness != Strictness::Word,
        Class::Hidden => false,
        Class::Joiner | Class::Form if strictness != Strictness::Terminal => false,
        Class::Joiner => before.is_some_and(joinable) && after.is_some_and(|c| !c.is_ascii() && seen(c)),
        Class::Form => before.is_some_and(seen),
    }
}

/// Writes a character as its number, in a form programmers read.
pub(super) fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

#[cfg(test)]
mod tests;
