//! Where hunks go. A hunk goes where its old lines are, all of them and exactly, or nowhere.

use super::{
    error::{DiffError, HunkError},
    explain,
    hunk::{Hunk, Ranges},
    source::{MAX_COUNTED, Source},
};

/// More lines than this are not named.
const MAX_NAMED: usize = 20;

/// What line numbers of a diff are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// They decide where the lines of a hunk do not.
    Count,
    /// They are of another text: the file changed since it was read.
    Stale,
}

/// The lines, from 0 and without the last, that a hunk replaces.
type Taken = (usize, usize);

/// The line, from 0, that each hunk begins at: in order, without overlaps.
///
/// Line numbers are a help, not the law, as models miscount: old lines that occur once are found wherever they are. Only
/// where they occur more often the number decides (EDIT-26), and only in a diff whose other numbers are right: once one
/// of them is wrong, the diff was made for another text, and a number that happens to fit may mean another place.
pub(super) fn place(source: &Source<'_>, hunks: &[Hunk<'_>], numbers: Numbers) -> Result<Vec<usize>, DiffError> {
    let stated = stated(source, hunks);
    let reliable = numbers == Numbers::Count
        && hunks.iter().zip(&stated).all(|(hunk, line)| line.is_some() || hunk.stated.is_none());
    let mut taken: Vec<Taken> = Vec::with_capacity(hunks.len());
    for (hunk, line) in hunks.iter().zip(stated) {
        let failed = |problem| DiffError::hunk(hunk.number, hunk.header, problem);
        let line = match line.filter(|_| reliable) {
            Some(line) => line,
            None => only_place(source, hunk, &taken).map_err(failed)?,
        };
        if taken.last().is_some_and(|(_, end)| line < *end) {
            return Err(failed(HunkError::Order { line: line + 1 }));
        }
        taken.push((line, line + hunk.old_len()));
    }
    Ok(taken.into_iter().map(|(line, _)| line).collect())
}

/// The place of each hunk by its numbers, if they are right.
fn stated(source: &Source<'_>, hunks: &[Hunk<'_>]) -> Vec<Option<usize>> {
    let mut growth = 0;
    let stated = hunks.iter().map(|hunk| {
        let grown = growth;
        let lengths = hunk.lengths();
        growth += lengths.new as i128 - lengths.old as i128;
        if lengths.old == 0 { stated_insertion(source, hunk, grown) } else { stated_line(source, hunk, grown) }
    });
    stated.collect()
}

/// Its two numbers have to agree: a header that contradicts itself says nothing.
fn stated_line(source: &Source<'_>, hunk: &Hunk<'_>, growth: i128) -> Option<usize> {
    let Ranges { old, new } = hunk.stated?;
    let line = old.first_line()?;
    let agrees = new.first_line()? as i128 == line as i128 + growth;
    (agrees && source.has(line, &hunk.old_block()) && fits_end(source, hunk, line)).then_some(line)
}

/// Nothing but its numbers says where a mere insertion goes, so all of them have to agree.
fn stated_insertion(source: &Source<'_>, hunk: &Hunk<'_>, growth: i128) -> Option<usize> {
    let stated = hunk.stated?;
    if source.lines() == 0 {
        return Some(0);
    }
    let line = stated.old.start;
    let agrees = stated.new.start as i128 == line as i128 + 1 + growth;
    (agrees && line <= source.lines() && fits_end(source, hunk, line)).then_some(line)
}

/// Whether what markers say of the end of the file is so.
fn fits_end(source: &Source<'_>, hunk: &Hunk<'_>, line: usize) -> bool {
    let ends = line.checked_add(hunk.old_len()) == Some(source.lines());
    (ends || !hunk.is_at_end()) && (source.is_open() || !hunk.old_is_open())
}

fn only_place(source: &Source<'_>, hunk: &Hunk<'_>, taken: &[Taken]) -> Result<usize, HunkError> {
    let length = hunk.old_len();
    if length == 0 {
        return if source.lines() == 0 { Ok(0) } else { Err(HunkError::Nowhere) };
    }
    let all = places(source, hunk);
    let is_free = |line: &usize| !taken.iter().any(|(start, end)| line < end && line + length > *start);
    let free: Vec<usize> = all.iter().copied().filter(is_free).collect();
    match (free.as_slice(), all.first()) {
        ([line], _) => Ok(*line),
        ([], Some(line)) => Err(HunkError::Order { line: line + 1 }),
        ([], None) => Err(HunkError::NotFound { why: explain::why_missing(source, hunk) }),
        (many, _) => {
            let more = if many.len() > MAX_COUNTED { "more than " } else { "" };
            let count = format!("{more}{}", many.len().min(MAX_COUNTED));
            let lines = many.iter().take(MAX_NAMED).map(|line| line + 1).collect();
            Err(HunkError::Ambiguous { count, lines })
        }
    }
}

fn places(source: &Source<'_>, hunk: &Hunk<'_>) -> Vec<usize> {
    let block = hunk.old_block();
    if !hunk.is_at_end() {
        return source.places(&block);
    }
    let line = source.lines().checked_sub(hunk.old_len());
    line.filter(|line| source.has(*line, &block) && fits_end(source, hunk, *line)).into_iter().collect()
}
