//! Long text for prompts: both ends, and how much is missing between them.

use super::{
    escape::{Strictness, escape},
    fit::{fitting_end, fitting_start},
};

/// Room for the words between the two ends.
pub(super) const NOTE: usize = 96;
/// Below this no cut would leave anything of the text.
pub(super) const MIN: usize = 256;
/// How many bytes of a word a line of ours shows.
pub(super) const WORD: usize = 256;

/// Escapes a text for a permission prompt ([`escape_for_prompt`](super::escape_for_prompt)) and bounds the *result* to
/// `max_bytes` (at least 256). A longer one loses its middle: head and tail stay, since what matters may stand at either
/// end, and the cut says how much is missing: `[… 812 characters in 20 lines not shown …]` (PRM-6).
///
/// Cuts at line ends. Where a line is so long that little would be left it is cut within, between characters and never
/// inside an escape; the note then stands in that line. `[…` in the result is always ours.
#[must_use]
pub fn escape_bounded(text: &str, max_bytes: usize) -> String {
    bounded(text, max_bytes.max(MIN), Strictness::Prompt)
}

/// A word of the model in a line of ours: escaped, on one line, bounded.
#[must_use]
pub fn shown_word(word: &str) -> String {
    bounded(word, WORD, Strictness::of_word(word))
}

/// A word of which the reader knows already that its order may be shown differently.
pub(super) fn shown_as_read(word: &str) -> String {
    bounded(word, WORD, Strictness::Word)
}

fn bounded(text: &str, max_bytes: usize, strictness: Strictness) -> String {
    if text.len() <= max_bytes {
        let whole = escape(text, strictness);
        if whole.len() <= max_bytes {
            return whole.into_owned();
        }
    }
    let each = (max_bytes - NOTE) / 2;
    let shown = |part: &str| escape(part, strictness).len();
    let mut head = fitting_start(text, each, shown);
    // The lines of a word are one line of ours.
    let block = strictness == Strictness::Prompt;
    if block {
        head = at_line_end(text, head);
    }
    let mut tail = head + fitting_end(&text[head..], each, shown);
    if block {
        tail = at_line_start(text, tail);
    }
    let (head, missing, tail) = (&text[..head], &text[head..tail], &text[tail..]);
    let lines = if block { missing.lines().count() } else { 1 };
    let note = note(missing.chars().count(), lines, "lines");
    let border = if block && missing.ends_with('\n') { "\n" } else { "" };
    format!("{}{note}{border}{}", escape(head, strictness), escape(tail, strictness))
}

/// What stands in for what is not shown.
pub(super) fn note(characters: usize, parts: usize, of: &str) -> String {
    let parts = if parts > 1 { format!(" in {parts} {of}") } else { String::new() };
    format!("[… {characters} characters{parts} not shown …]")
}

/// The last line end before the cut, unless that would give up most of what fits.
fn at_line_end(text: &str, cut: usize) -> usize {
    text[..cut].rfind('\n').map(|at| at + 1).filter(|end| *end >= cut / 2).unwrap_or(cut)
}

/// The first line start after the cut, unless that would give up most of what fits.
fn at_line_start(text: &str, cut: usize) -> usize {
    if text[..cut].ends_with('\n') {
        return cut;
    }
    let next = text[cut..].find('\n').map(|at| cut + at + 1);
    next.filter(|start| text.len() - start >= (text.len() - cut) / 2).unwrap_or(cut)
}

#[cfg(test)]
mod tests;
