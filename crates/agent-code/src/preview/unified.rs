//! A unified diff of what is known to differ, line by line.

use std::{
    fmt::Write,
    ops::Range,
    time::{Duration, Instant},
};

use memchr::{memchr, memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::{bytes::shown, regions::Region};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// A comparison that takes longer is left coarse.
const MAX_TIME: Duration = Duration::from_millis(200);
/// More lines than this are not compared with each other, but shown as replaced.
const MAX_LINES: usize = 400_000;

/// A change of whole lines. Lines count from 0.
#[derive(Debug)]
struct Change {
    /// Where it is in the old text, in bytes and in lines.
    old: Range<usize>,
    old_lines: Range<usize>,
    new: Range<usize>,
    new_lines: Range<usize>,
}

/// The lines that go and come, and the diff itself, without its header.
#[derive(Debug, Default)]
pub(super) struct Unified {
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) hunks: String,
}

impl Unified {
    pub(super) fn of(old: &[u8], new: &[u8], regions: &[Region]) -> Self {
        let changes = changes(old, new, &whole_lines(old, new, regions));
        let mut unified = Self::default();
        let mut rest = &changes[..];
        while !rest.is_empty() {
            let near =
                rest.windows(2).take_while(|pair| pair[1].old_lines.start - pair[0].old_lines.end <= 2 * CONTEXT);
            let (hunk, further) = rest.split_at(near.count() + 1);
            unified.hunk(old, new, hunk);
            rest = further;
        }
        unified
    }

    /// Changes that are near to each other.
    fn hunk(&mut self, old: &[u8], new: &[u8], changes: &[Change]) {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
        let before = lines_before(old, first.old.start);
        let after = lines_after(old, last.old.end);
        let count = |bytes: &[u8]| lines(bytes).count();
        let (above, below) = (count(&old[before..first.old.start]), count(&old[last.old.end..after]));
        let side = |start: usize, end: usize| {
            let (start, length) = (start - above, end + below - (start - above));
            match length {
                0 => format!("{start},0"),
                1 => format!("{}", start + 1),
                _ => format!("{},{length}", start + 1),
            }
        };
        let old_side = side(first.old_lines.start, last.old_lines.end);
        let new_side = side(first.new_lines.start, last.new_lines.end);
        // Writing to a string cannot fail.
        let _ = writeln!(self.hunks, "@@ -{old_side} +{new_side} @@");
        let mut done = before;
        for change in changes {
            self.lines(' ', &old[done..change.old.start]);
            self.lines('-', &old[change.old.clone()]);
            self.lines('+', &new[change.new.clone()]);
            self.removed += change.old_lines.len();
            self.added += change.new_lines.len();
            done = change.old.end;
        }
        self.lines(' ', &old[done..after]);
    }

    fn lines(&mut self, mark: char, text: &[u8]) {
        for line in lines(text) {
            self.hunks.push(mark);
            self.hunks.push_str(&shown(line));
            if !line.ends_with(b"\n") {
                self.hunks.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

/// To a diff only LF ends a line.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// Where the lines of context above a place begin.
fn lines_before(text: &[u8], at: usize) -> usize {
    let mut start = at;
    for _ in 0..CONTEXT {
        let Some(end) = start.checked_sub(1) else { break };
        start = memrchr(b'\n', &text[..end]).map_or(0, |line_end| line_end + 1);
    }
    start
}

/// Where the lines of context below a place end.
fn lines_after(text: &[u8], at: usize) -> usize {
    let mut end = at;
    for _ in 0..CONTEXT {
        end += memchr(b'\n', &text[end..]).map_or(text.len() - end, |line_end| line_end + 1);
    }
    end
}

/// The regions as whole lines of both texts: those that share a line are one.
fn whole_lines(old: &[u8], new: &[u8], regions: &[Region]) -> Vec<Region> {
    let mut whole: Vec<Region> = Vec::with_capacity(regions.len());
    let mut regions = regions.iter().cloned().peekable();
    while let Some(mut region) = regions.next() {
        let line_start = memrchr(b'\n', &old[..region.old.start]).map_or(0, |end| end + 1);
        let back = region.old.start - line_start;
        match whole.last_mut() {
            Some(last) if line_start < last.old.end => {
                region = Region { old: last.old.start..region.old.end, new: last.new.start..region.new.end };
                whole.pop();
            }
            _ => region = Region { old: line_start..region.old.end, new: region.new.start - back..region.new.end },
        }
        // What follows is the same in both texts up to the next region.
        while !(ends_line(old, region.old.end) && ends_line(new, region.new.end)) {
            let limit = regions.peek().map_or(old.len(), |next| next.old.start);
            let same = &old[region.old.end..limit];
            let line_end = memchr(b'\n', same).map(|end| end + 1);
            let more = line_end.unwrap_or(same.len());
            region.old.end += more;
            region.new.end += more;
            match regions.next_if(|_| line_end.is_none()) {
                Some(next) => {
                    region = Region { old: region.old.start..next.old.end, new: region.new.start..next.new.end }
                }
                None if line_end.is_none() => break,
                None => {}
            }
        }
        whole.push(region);
    }
    whole
}

fn ends_line(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|last| text[last] == b'\n')
}

/// The lines that differ, in order.
fn changes(old: &[u8], new: &[u8], regions: &[Region]) -> Vec<Change> {
    let deadline = Instant::now() + MAX_TIME;
    let mut changes = Vec::new();
    // The lines up to here.
    let (mut at, mut old_line, mut new_line) = (0, 0, 0);
    for region in regions {
        let between = memchr_iter(b'\n', &old[at..region.old.start]).count();
        (old_line, new_line) = (old_line + between, new_line + between);
        let (of_old, of_new): (Vec<&[u8]>, Vec<&[u8]>) =
            (lines(&old[region.old.clone()]).collect(), lines(&new[region.new.clone()]).collect());
        let ops = if of_old.len() + of_new.len() > MAX_LINES {
            vec![DiffOp::Replace { old_index: 0, old_len: of_old.len(), new_index: 0, new_len: of_new.len() }]
        } else {
            capture_diff_slices_deadline(Algorithm::Myers, &of_old, &of_new, Some(deadline))
        };
        let (mut in_old, mut in_new) = (region.old.start, region.new.start);
        for op in ops {
            let (old_range, new_range) = (op.old_range(), op.new_range());
            let bytes = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
            let old_end = in_old + bytes(&of_old[old_range.clone()]);
            let new_end = in_new + bytes(&of_new[new_range.clone()]);
            if !matches!(op, DiffOp::Equal { .. }) {
                let shifted = |range: Range<usize>, by: usize| range.start + by..range.end + by;
                changes.push(Change {
                    old: in_old..old_end,
                    old_lines: shifted(old_range, old_line),
                    new: in_new..new_end,
                    new_lines: shifted(new_range, new_line),
                });
            }
            (in_old, in_new) = (old_end, new_end);
        }
        (at, old_line, new_line) = (region.old.end, old_line + of_old.len(), new_line + of_new.len());
    }
    changes
}
