//! The markers that stand for secrets: made here, and recognised, so that they stay.

use memchr::memmem;

/// Where what stands around says what it was.
pub(super) const PLAIN: &str = "[redacted]";
/// How each of our markers begins.
pub(super) const OURS: &[u8] = b"[redacted";
/// How the marker of a known secret begins.
pub(super) const KNOWN: &[u8] = b"[secret ";

/// Longer words after `[redacted` are none of ours; bytes.
const MAX_KIND: usize = 40;

/// The length of the marker that `text` begins with.
pub(super) fn length(text: &[u8]) -> Option<usize> {
    let (begin, inside, max) = if text.starts_with(OURS) {
        (OURS.len(), is_of_kind as fn(u8) -> bool, MAX_KIND)
    } else if text.starts_with(KNOWN) {
        (KNOWN.len(), is_of_name as fn(u8) -> bool, usize::MAX)
    } else {
        return None;
    };
    let end = super::bytes::run(text, begin, inside);
    (text.get(end) == Some(&b']') && end - begin <= max).then_some(end + 1)
}

fn is_of_kind(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b' ' | b'.')
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Finds the next marker of a text, for places that only move forward.
pub(super) struct Markers<'t> {
    text: &'t [u8],
    /// The next marker of each kind; `None` where it is not known yet.
    next: [Option<usize>; 2],
}

impl<'t> Markers<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, next: [None; 2] }
    }

    /// Where the first marker at or after `from` begins, or the text's end.
    pub(super) fn next(&mut self, from: usize) -> usize {
        for (known, begin) in self.next.iter_mut().zip([OURS, KNOWN]) {
            if known.is_none_or(|at| at < from) {
                *known = Some(find(self.text, from, begin));
            }
        }
        self.next.iter().flatten().copied().min().unwrap_or(self.text.len())
    }
}

fn find(text: &[u8], from: usize, begin: &[u8]) -> usize {
    let found = memmem::find_iter(&text[from..], begin).map(|at| from + at);
    found.into_iter().find(|&at| length(&text[at..]).is_some()).unwrap_or(text.len())
}
