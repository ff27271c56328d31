//! The new text, once it is known where every hunk goes.

use super::hunk::{Hunk, Kind, Line};

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lf,
    Crlf,
}

impl End {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
        }
    }

    /// Of a line with its end.
    fn of(line: &[u8]) -> Option<Self> {
        match line {
            [.., b'\r', b'\n'] => Some(Self::Crlf),
            [.., b'\n'] => Some(Self::Lf),
            _ => None,
        }
    }
}

/// Puts hunks at their lines. What they do not add or remove is copied byte for byte.
pub(super) fn build(text: &[u8], hunks: &[Hunk<'_>], places: &[usize]) -> Vec<u8> {
    let mut reader = Reader { rest: text, line: 0, last: None };
    let mut out = Vec::with_capacity(text.len());
    for (hunk, place) in hunks.iter().zip(places) {
        while reader.line < *place
            && let Some(line) = reader.next()
        {
            out.extend_from_slice(line);
        }
        let before = reader.last;
        let old: Vec<&[u8]> = (0..hunk.old_len()).map_while(|_| reader.next()).collect();
        let was_open = old.last().map_or(is_open(&out), |line| is_open(line));
        let stays_open = reader.rest.is_empty() && was_open && !hunk.old_is_open();
        let next = old.iter().copied().chain(reader.peek()).find_map(End::of);
        let near = before.or(next).unwrap_or(End::Lf);
        let ends = Ends::of(hunk, &old);
        Writer { ends, near, stays_open, removed: Vec::new(), added: 0 }.write(hunk, &old, &mut out);
    }
    out.extend_from_slice(reader.rest);
    out
}

/// Goes through a text line by line.
struct Reader<'t> {
    rest: &'t [u8],
    line: usize,
    /// How the last line that has an end ends.
    last: Option<End>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<&'t [u8]> {
        let length = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |at| at + 1);
        Some(&self.rest[..length]).filter(|line| !line.is_empty())
    }

    /// The next line, with its end.
    fn next(&mut self) -> Option<&'t [u8]> {
        let line = self.peek()?;
        self.rest = &self.rest[line.len()..];
        self.line += 1;
        self.last = End::of(line).or(self.last);
        Some(line)
    }
}

/// Whose word counts for the ends of added lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The diff has the line ends of the file, so it is taken at its word.
    Diff,
    /// It has others: it was written without regard to them (DEC-12).
    File,
    /// It has none to compare.
    Unknown,
}

impl Ends {
    fn of(hunk: &Hunk<'_>, old: &[&[u8]]) -> Self {
        let mut ends = Self::Unknown;
        for (line, in_file) in hunk.old_lines().zip(old) {
            match End::of(in_file) {
                Some(end) if line.cr == (end == End::Crlf) => ends = Self::Diff,
                Some(_) => return Self::File,
                None => {}
            }
        }
        ends
    }
}

/// Writes one hunk.
struct Writer {
    ends: Ends,
    /// How lines around here end: the one before, or else one that comes.
    near: End,
    /// EDIT-24: a text without a newline at its end keeps to that, unless the diff speaks of it.
    stays_open: bool,
    /// How the removed lines of this change end.
    removed: Vec<Option<End>>,
    /// How many lines were added for them.
    added: usize,
}

impl Writer {
    fn write(mut self, hunk: &Hunk<'_>, old: &[&[u8]], out: &mut Vec<u8>) {
        let (mut old, mut left) = (old.iter(), hunk.lengths().new);
        for line in &hunk.lines {
            left -= usize::from(line.is_new());
            if line.is_new() && is_open(out) {
                out.extend_from_slice(self.near.bytes());
            }
            match (line.kind, line.is_old().then(|| old.next()).flatten()) {
                (Kind::Context, in_file) => {
                    out.extend_from_slice(in_file.copied().unwrap_or_default());
                    self.near = in_file.and_then(|line| End::of(line)).unwrap_or(self.near);
                    (self.removed, self.added) = (Vec::new(), 0);
                }
                (Kind::Removed, in_file) => self.removed.push(in_file.and_then(|line| End::of(line))),
                (Kind::Added, _) => {
                    out.extend_from_slice(line.text.as_bytes());
                    let end = self.end(line);
                    if line.ends && !(self.stays_open && left == 0) {
                        out.extend_from_slice(end.bytes());
                    }
                }
            }
        }
    }

    /// The end of an added line. Where the file's word counts: that of the line it replaces, or of one near it.
    fn end(&mut self, line: &Line<'_>) -> End {
        let replaced = self.removed.get(self.added).or(self.removed.last());
        self.near = replaced.copied().flatten().unwrap_or(self.near);
        self.added += 1;
        match self.ends {
            Ends::Diff | Ends::Unknown if line.cr => End::Crlf,
            Ends::Diff => End::Lf,
            Ends::Unknown | Ends::File => self.near,
        }
    }
}

fn is_open(text: &[u8]) -> bool {
    text.last().is_some_and(|last| *last != b'\n')
}
