//! What a rule may look at, and the only ways it looks.

use std::{cmp::Reverse, ops::Range};

use super::bytes::{looked_at, run};
use super::cut::Cut;
use super::marker;

/// How much of a value decides about it; bytes.
pub(super) const SAMPLE: usize = 128;
/// Backslashes before a quote: JSON in JSON in JSON in JSON has 15.
pub(super) const MAX_ESCAPES: usize = 16;

/// The text between two markers (or ends), and the keyword that was found in it. All offsets are relative to it.
pub(super) struct Window<'t> {
    pub(super) text: &'t [u8],
    /// Where the keyword begins.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// The text from the window's beginning to the very end, markers and all.
    pub(super) beyond: &'t [u8],
    /// Where the window begins in the whole text, which the cuts count from.
    floor: usize,
    /// What will be cut further on, the nearest last.
    ahead: &'t [Cut],
}

impl<'t> Window<'t> {
    pub(super) fn new(whole: &'t [u8], part: Range<usize>, hit: Range<usize>, ahead: &'t [Cut]) -> Self {
        Self {
            text: &whole[part.clone()],
            start: hit.start - part.start,
            end: hit.end - part.start,
            beyond: &whole[part.start..],
            floor: part.start,
            ahead,
        }
    }

    /// The length of the marker at a place beyond the window, or of what will be one.
    pub(super) fn marker(&self, at: usize) -> Option<usize> {
        let cut = self.ahead.binary_search_by_key(&Reverse(self.floor + at), |cut| Reverse(cut.range.start));
        cut.map_or_else(|_| marker::length(self.beyond.get(at..)?), |index| Some(self.ahead[index].range.len()))
    }

    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// Whether what ends at `end` may only end there because a marker follows.
    pub(super) fn touches_marker(&self, end: usize) -> bool {
        end >= self.text.len() && self.beyond.len() > self.text.len()
    }

    /// The end of the run of bytes of a class from `from` on.
    pub(super) fn run(&self, from: usize, class: impl Fn(u8) -> bool) -> usize {
        run(self.text, from, class)
    }

    /// The same, `max` bytes at most.
    pub(super) fn run_within(&self, from: usize, max: usize, class: impl Fn(u8) -> bool) -> usize {
        run(&self.text[..self.text.len().min(from.saturating_add(max))], from, class)
    }

    /// The beginning of the run that ends at `to`, `max` bytes at most.
    pub(super) fn back(&self, to: usize, max: usize, class: impl Fn(u8) -> bool) -> usize {
        let length = self.text[..to].iter().rev().take(max).take_while(|&&byte| class(byte)).count();
        looked_at(length + 1);
        to - length
    }

    /// Whether the text has exactly these bytes at `at`.
    pub(super) fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.text.get(at..).is_some_and(|rest| rest.starts_with(bytes))
    }

    /// The same, in upper or lower case.
    pub(super) fn has_word(&self, at: usize, word: &[u8]) -> bool {
        self.text.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
    }

    /// Whether the text before `at` ends with these bytes.
    pub(super) fn has_before(&self, at: usize, bytes: &[u8]) -> bool {
        self.text[..at].ends_with(bytes)
    }

    /// Whether a word may begin at `at`: what stands before is not of the class, or belongs to an escape (`\n`, `%3D`,
    /// `\u003d`, the end of a terminal colour).
    pub(super) fn begins(&self, at: usize, class: impl Fn(u8) -> bool) -> bool {
        let before = &self.text[..at];
        before.last().is_none_or(|&byte| !class(byte)) || ends_with_escape(before)
    }
}

fn ends_with_escape(text: &[u8]) -> bool {
    let hex = |count: usize| {
        text.len()
            .checked_sub(count)
            .filter(|&from| text[from..].iter().all(u8::is_ascii_hexdigit))
            .map(|at| &text[..at])
    };
    match text {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'm'] => {
            let digits = text.iter().rev().skip(1).take(12).take_while(|&&byte| byte.is_ascii_digit() || byte == b';');
            text[..text.len() - 1 - digits.count()].ends_with(b"[")
        }
        _ => {
            hex(2).is_some_and(|before| before.ends_with(b"%")) || hex(4).is_some_and(|before| before.ends_with(b"\\u"))
        }
    }
}
