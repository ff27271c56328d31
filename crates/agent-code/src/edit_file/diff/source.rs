//! A text as a hunk sees it: lines, found by their number or by what is in them.

use std::borrow::Cow;

use agent_redact::KnownSecrets;
use memchr::{memchr_iter, memmem::Finder};

/// Where every line of this many begins is kept: a large file has few bytes of index, and a line is found in few steps.
const STEP: usize = 256;
/// More places than this are not counted.
pub(super) const MAX_COUNTED: usize = 1000;

/// Lines end with LF or CRLF, which are the same here; a lone CR is part of its line. Lines count from 0.
#[derive(Debug)]
pub(super) struct Source<'t> {
    text: &'t [u8],
    /// What must not be quoted of it.
    secrets: KnownSecrets,
    /// The text with LF only.
    plain: Cow<'t, [u8]>,
    /// Where in `plain` every 256th line begins.
    starts: Vec<usize>,
    lines: usize,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let plain = with_lf(text);
        let mut starts = vec![0];
        let mut lines = 0;
        for at in memchr_iter(b'\n', &plain) {
            lines += 1;
            if lines % STEP == 0 {
                starts.push(at + 1);
            }
        }
        lines += usize::from(is_open(&plain));
        Self { text, secrets: KnownSecrets::none(), plain, starts, lines }
    }

    /// The same text; these are left out of what is told of it.
    pub(super) fn without(self, secrets: &KnownSecrets) -> Self {
        Self { secrets: secrets.clone(), ..self }
    }

    pub(super) fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// How many lines there are. What follows the last line end is a line only if it is not empty (EDIT-26).
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Whether the last line has no line end.
    pub(super) fn is_open(&self) -> bool {
        is_open(&self.plain)
    }

    /// A line without its end; `None` beyond the last.
    pub(super) fn line(&self, line: usize) -> Option<&[u8]> {
        let rest = self.from(line).filter(|_| line < self.lines)?;
        Some(rest.split(|byte| *byte == b'\n').next().unwrap_or(rest))
    }

    /// Whether these lines, each given with LF, are at this place.
    pub(super) fn has(&self, line: usize, block: &[u8]) -> bool {
        self.from(line).is_some_and(|rest| rest.starts_with(block) || (self.is_open() && is_last(rest, block)))
    }

    /// The places of these lines, each given with LF, up to one more than is counted. Places may overlap.
    pub(super) fn places(&self, block: &[u8]) -> Vec<usize> {
        if block.is_empty() {
            return Vec::new();
        }
        let mut found = if self.plain.starts_with(block) { vec![0] } else { Vec::new() };
        // With the line end before it a block is found at line starts only.
        let needle = [b"\n", block].concat();
        let finder = Finder::new(&needle);
        let mut from = 0;
        while found.len() <= MAX_COUNTED {
            let Some(at) = self.plain.get(from..).and_then(|rest| finder.find(rest)) else { break };
            from += at + 1;
            found.push(self.line_at(from));
        }
        found.extend(self.place_at_open_end(block).filter(|_| found.len() <= MAX_COUNTED));
        found
    }

    /// The last line may lack the end that the block has.
    fn place_at_open_end(&self, block: &[u8]) -> Option<usize> {
        let at = (self.plain.len() + 1).checked_sub(block.len()).filter(|_| self.is_open())?;
        (self.begins_line(at) && is_last(&self.plain[at..], block)).then(|| self.line_at(at))
    }

    fn begins_line(&self, at: usize) -> bool {
        at.checked_sub(1).is_none_or(|before| self.plain.get(before) == Some(&b'\n'))
    }

    fn line_at(&self, at: usize) -> usize {
        let step = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        step * STEP + memchr_iter(b'\n', &self.plain[self.starts[step]..at]).count()
    }

    /// The text from a line on; just behind the last line it is empty.
    fn from(&self, line: usize) -> Option<&[u8]> {
        if line >= self.lines {
            return (line == self.lines).then_some(&[]);
        }
        let rest = &self.plain[*self.starts.get(line / STEP)?..];
        match (line % STEP).checked_sub(1) {
            None => Some(rest),
            Some(ends) => memchr_iter(b'\n', rest).nth(ends).map(|at| &rest[at + 1..]),
        }
    }
}

fn is_open(text: &[u8]) -> bool {
    text.last().is_some_and(|last| *last != b'\n')
}

fn is_last(rest: &[u8], block: &[u8]) -> bool {
    !rest.is_empty() && block.strip_suffix(b"\n") == Some(rest)
}

fn with_lf(text: &[u8]) -> Cow<'_, [u8]> {
    let crlf = Finder::new(b"\r\n");
    if crlf.find(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut done = 0;
    for at in crlf.find_iter(text) {
        plain.extend_from_slice(&text[done..at]);
        done = at + 1;
    }
    plain.extend_from_slice(&text[done..]);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, block: &str, expected: &[usize]) {
        assert_eq!(Source::new(text.as_bytes()).places(block.as_bytes()), expected, "{block:?} in {text:?}");
    }

    #[test]
    fn blocks_are_whole_lines() {
        check("foo\nxfoo\nfoo", "foo\n", &[0, 2]);
        check("a\r\nb\r\na\rb\n", "a\nb\n", &[0]);
        check("foo\nfoo\nfoo\n", "foo\nfoo\n", &[0, 1]);
        check("\n\nx\n", "\n", &[0, 1]);
        check("", "\n", &[]);
        check("x", "\n", &[]);
        check("b", "a\nb\n", &[]);
        check("ab\n", "", &[]);
    }

    proptest! {
        #![proptest_config(crate::testing::cases(48))]

        /// Lines by number and lines by content agree, in long texts, too.
        #[test]
        fn numbers_and_places_agree(parts in proptest::collection::vec("[ab]{0,2}(\n|\r\n)|\n{200,300}", 0..8), end in "[ab]?") {
            let text = parts.concat() + &end;
            let source = Source::new(text.as_bytes());
            let lines: Vec<&str> = text.lines().collect();
            prop_assert_eq!(source.lines(), lines.len());
            prop_assert_eq!(source.is_open(), !end.is_empty());
            prop_assert_eq!(source.line(lines.len()), None);
            for (number, line) in lines.iter().enumerate() {
                prop_assert_eq!(source.line(number), Some(line.as_bytes()));
            }
            for window in lines.windows(2).chain(lines.windows(1)).take(40) {
                let block: String = window.iter().map(|line| format!("{line}\n")).collect();
                let all = lines.windows(window.len()).enumerate().filter(|(_, other)| *other == window);
                let all: Vec<usize> = all.map(|(number, _)| number).take(MAX_COUNTED + 1).collect();
                prop_assert_eq!(source.places(block.as_bytes()), all.clone());
                prop_assert!(all.iter().all(|line| source.has(*line, block.as_bytes())));
            }
        }
    }
}
