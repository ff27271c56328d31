//! One hunk: its header, its lines, and what must hold between the two.

use super::error::{HunkError, Lengths};

/// A hunk with as many lines as its header says, or more.
#[derive(Debug)]
pub(super) struct Hunk<'d> {
    /// From 1.
    pub(super) number: usize,
    pub(super) header: &'d str,
    /// What the header says; nothing if it is bare.
    pub(super) stated: Option<Ranges>,
    pub(super) lines: Vec<Line<'d>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranges {
    pub(super) old: Range,
    pub(super) new: Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    /// From 1; of no lines, the line before them.
    pub(super) start: usize,
    pub(super) count: usize,
}

impl Range {
    /// The line it begins at, from 0. A start of no lines is the line before them.
    pub(super) fn first_line(self) -> Option<usize> {
        if self.count == 0 { Some(self.start) } else { self.start.checked_sub(1) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Context,
    Removed,
    Added,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'d> {
    pub(super) kind: Kind,
    pub(super) text: &'d str,
    /// Ends with CRLF in the diff.
    pub(super) cr: bool,
    /// Not marked as the last line of a file without a line end.
    pub(super) ends: bool,
}

impl Line<'_> {
    pub(super) fn is_old(&self) -> bool {
        self.kind != Kind::Added
    }

    pub(super) fn is_new(&self) -> bool {
        self.kind != Kind::Removed
    }
}

impl<'d> Line<'d> {
    /// A line of a hunk; `None` is something else. An empty one is an empty context line whose blank got lost.
    pub(super) fn parse(raw: &'d str) -> Option<Self> {
        let (kind, text) = match raw.as_bytes().first() {
            None | Some(b'\r') => (Kind::Context, raw),
            Some(b' ') => (Kind::Context, &raw[1..]),
            Some(b'-') => (Kind::Removed, &raw[1..]),
            Some(b'+') => (Kind::Added, &raw[1..]),
            Some(_) => return None,
        };
        match text.strip_suffix('\r') {
            Some(text) => Some(Self { kind, text, cr: true, ends: true }),
            None => Some(Self { kind, text, cr: false, ends: true }),
        }
    }

    /// Marks it as the last one of a file without a line end. A CR at its end is then part of the text.
    pub(super) fn without_end(self, raw: &'d str) -> Self {
        let text = if self.cr { raw.get(1..).unwrap_or_default() } else { self.text };
        Self { text, cr: false, ends: false, ..self }
    }
}

impl Hunk<'_> {
    pub(super) fn lengths(&self) -> Lengths {
        lengths(&self.lines)
    }

    pub(super) fn old_len(&self) -> usize {
        self.lengths().old
    }

    pub(super) fn old_lines(&self) -> impl DoubleEndedIterator<Item = &Line<'_>> {
        self.lines.iter().filter(|line| line.is_old())
    }

    pub(super) fn new_lines(&self) -> impl DoubleEndedIterator<Item = &Line<'_>> {
        self.lines.iter().filter(|line| line.is_new())
    }

    /// The old lines, each with LF.
    pub(super) fn old_block(&self) -> Vec<u8> {
        block(self.old_lines())
    }

    /// The new lines, each with LF.
    pub(super) fn new_block(&self) -> Vec<u8> {
        block(self.new_lines())
    }

    /// Whether a marker says that the old text ends without a line end.
    pub(super) fn old_is_open(&self) -> bool {
        self.old_lines().next_back().is_some_and(|line| !line.ends)
    }

    /// Whether a marker says that the file ends with this hunk.
    pub(super) fn is_at_end(&self) -> bool {
        self.old_is_open() || self.new_lines().next_back().is_some_and(|line| !line.ends)
    }

    /// A hunk changes something, and markers stand at the ends of its sides only.
    pub(super) fn check(&self) -> Result<(), HunkError> {
        // `rev().skip(1)`: all but the last.
        if self.old_lines().rev().skip(1).chain(self.new_lines().rev().skip(1)).any(|line| !line.ends) {
            return Err(HunkError::Marker);
        }
        let same = |(old, new): (&Line<'_>, &Line<'_>)| (old.text, old.cr, old.ends) == (new.text, new.cr, new.ends);
        let Lengths { old, new } = self.lengths();
        if old == new && self.old_lines().zip(self.new_lines()).all(same) { Err(HunkError::Unchanged) } else { Ok(()) }
    }
}

pub(super) fn lengths(lines: &[Line<'_>]) -> Lengths {
    let old = lines.iter().filter(|line| line.is_old()).count();
    let new = lines.iter().filter(|line| line.is_new()).count();
    Lengths { old, new }
}

fn block<'a>(lines: impl Iterator<Item = &'a Line<'a>>) -> Vec<u8> {
    let mut block = Vec::new();
    for line in lines {
        block.extend_from_slice(line.text.as_bytes());
        block.push(b'\n');
    }
    block
}

/// What a line that begins with `@@` says. Without numbers it is bare (EDIT-32), whatever else is in it; numbers that
/// cannot be read are an error.
pub(super) fn ranges(header: &str) -> Result<Option<Ranges>, HunkError> {
    let rest = header.strip_prefix("@@").ok_or(HunkError::Header)?.trim();
    match rest.as_bytes().first() {
        Some(b'-') => numbers(rest).map(Some).ok_or(HunkError::Header),
        // Of a merge, or with the signs lost or exchanged.
        Some(b'@' | b'+' | b',' | b'0'..=b'9') if rest != "@@" => Err(HunkError::Header),
        _ => Ok(None),
    }
}

/// `-1,3 +1,4`, with anything after a further `@@`.
fn numbers(rest: &str) -> Option<Ranges> {
    let (rest, _) = rest.split_once("@@").unwrap_or((rest, ""));
    let mut parts = rest.split_whitespace();
    let old = range(parts.next()?.strip_prefix('-')?)?;
    let new = range(parts.next()?.strip_prefix('+')?)?;
    parts.next().is_none().then_some(Ranges { old, new })
}

fn range(text: &str) -> Option<Range> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    Some(Range { start: number(start)?, count: number(count)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, old: (usize, usize), new: (usize, usize)) {
        let range = |(start, count)| Range { start, count };
        assert_eq!(ranges(header), Ok(Some(Ranges { old: range(old), new: range(new) })), "{header}");
    }

    /// EDIT-12: a count of one may be left out.
    #[test]
    fn headers_with_numbers() {
        check("@@ -2 +2 @@", (2, 1), (2, 1));
        check("@@ -1,3 +1,4 @@ fn f() {", (1, 3), (1, 4));
        check("@@ -0,0 +1 @@\r", (0, 0), (1, 1));
        check("@@-1,2  +3@@", (1, 2), (3, 1));
        check("@@ -1,2 +1,2", (1, 2), (1, 2));
    }

    /// EDIT-32: without numbers is bare, with broken ones is broken.
    #[test]
    fn headers_without_numbers() {
        for bare in ["@@", "@@ @@", "@@ ... @@", "@@ fn f() {"] {
            assert_eq!(ranges(bare), Ok(None), "{bare}");
        }
        for broken in [
            "@@ -1,x +1 @@",
            "@@ -1 @@",
            "@@ +1 -1 @@",
            "@@ -1 +1 x",
            "@@ @@ f",
            "@@@ -1 -1 +1 @@@",
            "@@ 1,2 1,2 @@",
            "@@ -a +b @@",
            "@@ -1,3,4 +1 @@",
            "@@ -, +, @@",
            "@@ -99999999999999999999999 +1 @@",
            "@@ --1 +1 @@",
            "@@ -+1 +1 @@",
        ] {
            assert_eq!(ranges(broken), Err(HunkError::Header), "{broken}");
        }
    }
}
