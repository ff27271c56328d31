//! Long text for prompts: both ends, and how much is missing between them.

use super::escape::{Strictness, push_escaped, stays};

/// Room for the words between the two ends.
const NOTE: usize = 64;
/// Below this no cut would leave anything of the text.
const MIN: usize = 2 * NOTE;
/// How many bytes of a word a line of ours shows.
const WORD: usize = 256;

/// Escapes a text for a permission prompt ([`escape_for_prompt`](super::escape_for_prompt)) and bounds the *result* to
/// `max_bytes` (at least 128). A longer one loses its middle: head and tail stay, since what matters may stand at either
/// end, and the cut says how much is missing (PRM-6). Cuts between characters, never inside an escape.
#[must_use]
pub fn escape_bounded(text: &str, max_bytes: usize) -> String {
    bounded(text, max_bytes, Strictness::Prompt)
}

/// A word of the model in a line of ours: escaped, on one line, bounded.
pub(crate) fn shown_word(word: &str) -> String {
    bounded(word, WORD, Strictness::Word)
}

fn bounded(text: &str, max_bytes: usize, strictness: Strictness) -> String {
    let max_bytes = max_bytes.max(MIN);
    let (whole, end) = start_of(text, max_bytes, strictness);
    if end == text.len() {
        return whole;
    }
    let each = (max_bytes - NOTE) / 2;
    let (head, cut) = start_of(text, each, strictness);
    let (tail, again) = end_of(&text[cut..], each, strictness);
    let missing = text[cut..cut + again].chars().count();
    let border = if strictness == Strictness::Word { "" } else { "\n" };
    format!("{head}{border}[… {missing} characters not shown …]{border}{tail}")
}

/// As much from the start as fits, and where it ends in `text`.
fn start_of(text: &str, max_bytes: usize, strictness: Strictness) -> (String, usize) {
    let mut shown = String::new();
    for (at, c) in text.char_indices() {
        let length = shown.len();
        push(&mut shown, c, strictness);
        if shown.len() > max_bytes {
            shown.truncate(length);
            return (shown, at);
        }
    }
    (shown, text.len())
}

/// As much from the end as fits, and where it starts in `text`.
fn end_of(text: &str, max_bytes: usize, strictness: Strictness) -> (String, usize) {
    let (mut start, mut room) = (text.len(), max_bytes);
    let mut one = String::new();
    for (at, c) in text.char_indices().rev() {
        one.clear();
        push(&mut one, c, strictness);
        let Some(left) = room.checked_sub(one.len()) else { break };
        (start, room) = (at, left);
    }
    let mut shown = String::new();
    text[start..].chars().for_each(|c| push(&mut shown, c, strictness));
    (shown, start)
}

fn push(out: &mut String, c: char, strictness: Strictness) {
    // No neighbours needed: in prompts nothing depends on them.
    if stays(c, None, None, strictness) { out.push(c) } else { push_escaped(out, c) }
}

#[cfg(test)]
mod tests;
