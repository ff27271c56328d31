//! Line ends of a text, and how an edit that was written without regard to them fits in (DEC-12, FND-26).

use std::{borrow::Cow, ops::Range};

use memchr::{
    memchr, memchr_iter,
    memmem::{Finder, find_iter},
    memrchr,
};

/// The line ends that occur in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// LF only, or none.
    Lf,
    /// CRLF only.
    Crlf,
    Mixed,
}

impl LineEnds {
    pub(super) fn of(text: &[u8]) -> Self {
        let all = memchr_iter(b'\n', text).count();
        match find_iter(text, b"\r\n").count() {
            0 => Self::Lf,
            crlf if crlf == all => Self::Crlf,
            _ => Self::Mixed,
        }
    }
}

/// With CRLF where it has a bare LF.
pub(crate) fn with_crlf(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

/// A text in which a search does not see how lines end.
pub(super) struct Plain<'t> {
    text: Cow<'t, [u8]>,
    /// The line ends, as places in the plain text, that have a CR in the real one.
    with_cr: Vec<usize>,
}

impl<'t> Plain<'t> {
    /// As it is: places are the same.
    pub(super) fn exact(text: &'t [u8]) -> Self {
        Self { text: Cow::Borrowed(text), with_cr: Vec::new() }
    }

    /// With LF only.
    pub(super) fn of(text: &'t [u8]) -> Self {
        let (mut plain, mut with_cr, mut done) = (Vec::with_capacity(text.len()), Vec::new(), 0);
        for at in find_iter(text, b"\r\n") {
            plain.extend_from_slice(&text[done..at]);
            with_cr.push(plain.len());
            done = at + 1;
        }
        plain.extend_from_slice(&text[done..]);
        Self { text: Cow::Owned(plain), with_cr }
    }

    /// Every place in the real text, also those that overlap (EDIT-02), up to `most`.
    pub(super) fn places(&self, old: &[u8], most: usize) -> Vec<Range<usize>> {
        let finder = Finder::new(old);
        let (mut found, mut from) = (Vec::new(), 0);
        while found.len() < most {
            let Some(at) = self.text.get(from..).and_then(|rest| finder.find(rest)) else { break };
            found.push(self.real(from + at, old.len()));
            from += at + 1;
        }
        found
    }

    /// From left to right, none overlapping.
    pub(super) fn apart(&self, old: &[u8]) -> Vec<Range<usize>> {
        find_iter(&self.text, old).map(|at| self.real(at, old.len())).collect()
    }

    fn real(&self, at: usize, length: usize) -> Range<usize> {
        let real = |at: usize| at + self.with_cr.partition_point(|end| *end < at);
        real(at)..real(at + length)
    }
}

/// The new text with the line ends of what it replaces: lines that stay keep theirs, others get that of the line in whose place
/// they come, or of one beside it.
pub(super) fn fitted(text: &[u8], place: &Range<usize>, new: &str) -> Vec<u8> {
    let old: Vec<&[u8]> = text[place.clone()].split(|byte| *byte == b'\n').collect();
    let ends: Vec<bool> = old[..old.len() - 1].iter().map(|line| line.ends_with(b"\r")).collect();
    let line = |index: usize| old[index].strip_suffix(b"\r").filter(|_| index < ends.len()).unwrap_or(old[index]);
    let lines: Vec<&[u8]> = new.as_bytes().split(|byte| *byte == b'\n').collect();
    let same_above = (0..old.len().min(lines.len())).take_while(|index| line(*index) == lines[*index]).count();
    let same_below = (1..=old.len().min(lines.len()))
        .take_while(|from_end| line(old.len() - from_end) == lines[lines.len() - from_end])
        .count();
    let beside = beside(text, place);
    let mut out = Vec::with_capacity(new.len() + lines.len());
    for (index, line) in lines.iter().enumerate() {
        out.extend_from_slice(line);
        let Some(below) = (lines.len() - 1).checked_sub(index + 1) else { break };
        let by_line = || ends.get(index.min(ends.len().saturating_sub(1)));
        let by_what_follows = || ends.len().checked_sub(below + 1).and_then(|at| ends.get(at));
        let end = if index >= same_above && below < same_below { by_what_follows() } else { by_line() };
        out.extend_from_slice(if *end.unwrap_or(&beside) { b"\r\n" } else { b"\n" });
    }
    out
}

/// Whether the line in which a place ends, or else the one before it, ends in CRLF.
fn beside(text: &[u8], place: &Range<usize>) -> bool {
    let end = memchr(b'\n', &text[place.end..]).map(|at| place.end + at);
    let end = end.or_else(|| memrchr(b'\n', &text[..place.start]));
    end.is_some_and(|end| end > 0 && text[end - 1] == b'\r')
}
