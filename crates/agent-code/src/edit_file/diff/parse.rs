//! A diff as text. What is no part of a diff is an error, never passed over: a line that was skipped may have been a hunk
//! with a slip in its header (EDIT-12).

mod head;

use super::{
    error::{DiffError, HunkError, Lengths},
    hunk::{Hunk, Kind, Line, Ranges, lengths, ranges},
    names::Names,
};
use head::{Head, junk, keyword};

/// A diff of one file.
#[derive(Debug)]
pub(super) struct Parsed<'d> {
    /// Says that the file is new.
    pub(super) creates: bool,
    /// At least one, in the order of the diff.
    pub(super) hunks: Vec<Hunk<'d>>,
}

/// Reads a diff of the file of these names.
pub(super) fn parse<'d>(diff: &'d str, names: &Names) -> Result<Parsed<'d>, DiffError> {
    let (lines, first) = without_fence(lines(diff))?;
    let mut parser = Parser { lines, first, at: 0, hunks: Vec::new() };
    let creates = parser.head(names)?.creates;
    while let Some(line) = parser.line() {
        if line.starts_with("@@") {
            let hunk = parser.hunk()?;
            parser.hunks.push(hunk);
        } else if line.trim_end().is_empty() {
            parser.at += 1;
        } else {
            let line = parser.first + parser.at;
            return Err(parser.head(names).err().unwrap_or(DiffError::SecondHeader { line }));
        }
    }
    let hunks = parser.hunks;
    let Some((_, above)) = hunks.split_last() else { return Err(DiffError::NoHunk) };
    match above.iter().find(|hunk| hunk.is_at_end()) {
        Some(hunk) => Err(DiffError::hunk(hunk.number, hunk.header, HunkError::Marker)),
        None => Ok(Parsed { creates, hunks }),
    }
}

/// The lines, without the CRs of a diff that is written with CRLF throughout: those are not the file's.
fn lines(diff: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = diff.split('\n').collect();
    let rest = lines.pop().filter(|rest| !rest.is_empty());
    if !lines.is_empty() && lines.iter().all(|line| line.ends_with('\r')) {
        for line in &mut lines {
            *line = &line[..line.len() - 1];
        }
    }
    lines.extend(rest);
    lines
}

/// Takes off the Markdown code fence that models like to put around a diff. No line of a diff begins like one. The number
/// is that of the first line left.
fn without_fence(mut lines: Vec<&str>) -> Result<(Vec<&str>, usize), DiffError> {
    let Some(open) = lines.iter().position(|line| !line.trim().is_empty()) else { return Ok((lines, 1)) };
    let Some(close) = lines.iter().rposition(|line| !line.trim().is_empty()) else { return Ok((lines, 1)) };
    let ticks = lines[open].bytes().take_while(|byte| *byte == b'`').count();
    if ticks < 3 {
        return Ok((lines, 1));
    }
    if open == close || lines[close].trim_end() != &lines[open][..ticks] {
        let problem = "opens a code fence that the last line does not close; leave out both, and give the whole diff";
        return Err(DiffError::syntax(open + 1, lines[open], problem));
    }
    lines.truncate(close);
    Ok((lines.split_off(open + 1), open + 2))
}

struct Parser<'d> {
    lines: Vec<&'d str>,
    /// The number of the first line.
    first: usize,
    at: usize,
    hunks: Vec<Hunk<'d>>,
}

impl<'d> Parser<'d> {
    fn line(&self) -> Option<&'d str> {
        self.lines.get(self.at).copied()
    }

    /// Everything up to the next hunk.
    fn head(&mut self, names: &Names) -> Result<Head, DiffError> {
        let mut head = Head::default();
        while let Some(line) = self.line().filter(|line| !line.starts_with("@@")) {
            head.read(self.first + self.at, line)?;
            self.at += 1;
        }
        head.check(names)?;
        Ok(head)
    }

    fn hunk(&mut self) -> Result<Hunk<'d>, DiffError> {
        let (number, raw_header) = (self.hunks.len() + 1, self.lines[self.at]);
        let header = raw_header.trim_end();
        let failed = |problem| DiffError::hunk(number, header, problem);
        let stated = ranges(header).map_err(failed)?;
        let rest = &self.lines[self.at + 1..];
        let mut body = Body::read(rest);
        // A removed line that begins with "-- " before an added one with "++ " looks like a header. The counts tell.
        if let Some(header) = second_header(&rest[..body.used]).filter(|_| !body.is_exactly(stated)) {
            body = Body::read(&rest[..header]);
        }
        self.at += 1 + body.used;
        if let Some(next) = self.line().filter(|next| !next.starts_with("@@") && keyword(next).is_none()) {
            return Err(junk(self.first + self.at, next, true));
        }
        let lines = body.settle(stated).map_err(failed)?;
        let hunk = Hunk { number, header, stated, lines };
        hunk.check().map_err(failed)?;
        Ok(hunk)
    }
}

/// Lines that can belong to one hunk.
struct Body<'d> {
    lines: Vec<Line<'d>>,
    /// How many of them, at the end, are empty: context, or mere distance to what follows.
    blank: usize,
    /// Lines of the diff, markers among them.
    used: usize,
}

impl<'d> Body<'d> {
    fn read(rest: &[&'d str]) -> Self {
        let mut body = Self { lines: Vec::new(), blank: 0, used: 0 };
        let mut before = "";
        for raw in rest {
            if let Some(line) = Line::parse(raw) {
                body.lines.push(line);
                body.blank = if matches!(*raw, "" | "\r") { body.blank + 1 } else { 0 };
            } else if let Some(last) = body.lines.last_mut().filter(|_| is_marker(raw)) {
                *last = last.without_end(before);
                body.blank = 0;
            } else {
                break;
            }
            before = raw;
            body.used += 1;
        }
        body
    }

    /// How many of the last empty lines are needed to come to the stated lengths, at least.
    fn missing(&self, stated: Option<Ranges>) -> usize {
        let Some(stated) = stated else { return 0 };
        let found = lengths(&self.lines[..self.lines.len() - self.blank]);
        let missing = |stated: usize, found: usize| stated.saturating_sub(found);
        missing(stated.old.count, found.old).max(missing(stated.new.count, found.new))
    }

    fn is_exactly(&self, stated: Option<Ranges>) -> bool {
        let Some(stated) = stated else { return false };
        let missing = self.missing(Some(stated));
        let found = lengths(&self.lines[..self.lines.len() - self.blank]);
        missing <= self.blank && (found.old + missing, found.new + missing) == (stated.old.count, stated.new.count)
    }

    /// The lines, if there are at least as many as stated. What is missing may be what mattered; what is there beyond the
    /// count can only be meant.
    fn settle(mut self, stated: Option<Ranges>) -> Result<Vec<Line<'d>>, HunkError> {
        let missing = self.missing(stated);
        let Some(Ranges { old, new }) = stated else {
            self.lines.truncate(self.lines.len() - self.blank);
            return Ok(self.lines);
        };
        let stated = Lengths { old: old.count, new: new.count };
        let start = (old.start, new.start);
        if missing > self.blank {
            return Err(HunkError::Short { stated, found: lengths(&self.lines), start });
        }
        self.lines.truncate(self.lines.len() - self.blank + missing);
        let found = lengths(&self.lines);
        if has_foreign_lines(&self.lines, &stated, &found) {
            return Err(HunkError::Long { stated, found, start });
        }
        Ok(self.lines)
    }
}

/// Whether what is there beyond the count is hardly meant: lines on a side that should have none, as where the next header got
/// lost, or the `-- ` above the signature of a mail.
fn has_foreign_lines(lines: &[Line<'_>], stated: &Lengths, found: &Lengths) -> bool {
    let one_sided = (stated.old == 0) != (stated.new == 0);
    let on_an_empty_side = one_sided && ((stated.old == 0 && found.old > 0) || (stated.new == 0 && found.new > 0));
    let signature = lines.last().is_some_and(|last| last.kind == Kind::Removed && matches!(last.text, "- " | "-"));
    on_an_empty_side || (signature && found.old > stated.old)
}

/// `\ No newline at end of file`. Only that: a line of TeX whose blank got lost begins with a backslash, too.
fn is_marker(line: &str) -> bool {
    let text = line.strip_prefix('\\').map(|text| text.strip_prefix(' ').unwrap_or(text));
    text.and_then(|text| text.get(..10)).is_some_and(|text| text.eq_ignore_ascii_case("no newline"))
}

/// Where among the lines of a hunk something is that looks like the header of a further file.
fn second_header(lines: &[&str]) -> Option<usize> {
    lines.windows(2).position(|pair| pair[0].starts_with("--- ") && pair[1].starts_with("+++ "))
}

#[cfg(test)]
mod tests;
