//! Why the old lines of a hunk were not found: what the file has where they were probably meant to be. Never applied, only
//! told.

use std::cmp::Reverse;

use super::{
    hunk::{Hunk, Line},
    source::Source,
};
use crate::edit_file::hint::{self, quote_up_to};

/// How many lines of a hunk are looked for on their own.
const MAX_ANCHORS: usize = 6;
/// How many places of each are compared with the hunk.
const MAX_PLACES: usize = 50;
/// How many lines are compared at each place.
const MAX_COMPARED: usize = 200;
/// How much of a line is quoted, in characters.
const MAX_QUOTE: usize = 200;

/// What to tell the model, in words.
pub(super) fn why_missing(source: &Source<'_>, hunk: &Hunk<'_>) -> String {
    if source.lines() == 0 {
        return "the file is empty; a hunk for it has added lines (+) only".to_owned();
    }
    if let Some(why) = not_at_end(source, hunk) {
        return why;
    }
    let old: Vec<&Line<'_>> = hunk.old_lines().collect();
    let why = match nearest(source, hunk, &old) {
        Some(start) => first_difference(source, &old, start),
        None => hint::nearest(source.text(), &text_of(&old), source.secrets())
            .map(|near| format!("none of its old lines is in the file; {near}")),
    };
    let why = why.unwrap_or_else(|| "none of its old lines is in the file".to_owned());
    let done = is_done(source, hunk).unwrap_or_default();
    format!("{why}{done}; read the file and copy unchanged and removed lines exactly")
}

/// The lines are there, but not where a marker says.
fn not_at_end(source: &Source<'_>, hunk: &Hunk<'_>) -> Option<String> {
    let line = source.places(&hunk.old_block()).last().copied().filter(|_| hunk.is_at_end())?;
    let end = if line + hunk.old_len() == source.lines() {
        "the file does end with a newline"
    } else {
        "the file goes on there"
    };
    Some(format!(
        "its old lines are at line {}, but {end}, other than its \"\\ No newline at end of file\" says",
        line + 1
    ))
}

/// What it would lead to is there already.
fn is_done(source: &Source<'_>, hunk: &Hunk<'_>) -> Option<String> {
    if !hunk.lines.iter().any(|line| !line.is_old() && !line.text.trim().is_empty()) {
        return None;
    }
    let line = source.places(&hunk.new_block()).first()? + 1;
    Some(format!("; its new lines are at line {line} already, so it may have been applied before"))
}

/// Where most of the lines are at their place, and nearest to the stated line if that is so at many. `None`: nowhere even
/// one of them.
fn nearest(source: &Source<'_>, hunk: &Hunk<'_>, old: &[&Line<'_>]) -> Option<usize> {
    let stated = hunk.stated.map_or(0, |stated| stated.old.start.saturating_sub(1));
    let fitting = |start: usize| {
        let fits = old.iter().take(MAX_COMPARED).zip(start..).filter(|(old, line)| is_line(source, old, *line));
        fits.count()
    };
    let mut anchors: Vec<(usize, &&Line<'_>)> =
        old.iter().enumerate().filter(|(_, line)| !line.text.trim().is_empty()).collect();
    anchors.sort_by_key(|(_, line)| Reverse(line.text.len()));
    let starts = anchors.iter().take(MAX_ANCHORS).flat_map(|(index, line)| {
        let places = source.places(format!("{}\n", line.text).as_bytes()).into_iter().take(MAX_PLACES);
        places.filter_map(|place| place.checked_sub(*index))
    });
    let best = starts.map(|start| (fitting(start), Reverse(start.abs_diff(stated)), start)).max()?;
    Some(best.2)
}

fn is_line(source: &Source<'_>, old: &Line<'_>, line: usize) -> bool {
    source.line(line) == Some(old.text.as_bytes())
}

fn first_difference(source: &Source<'_>, old: &[&Line<'_>], start: usize) -> Option<String> {
    let (old, line) = old.iter().zip(start..).find(|(old, line)| !is_line(source, old, *line))?;
    let wanted = quote_up_to(&source.secrets().redact(old.text).text, MAX_QUOTE);
    let number = line + 1;
    let Some(found) = source.line(line) else {
        return Some(format!("it wants {wanted} in line {number}, but the file has {} lines", source.lines()));
    };
    let found = String::from_utf8_lossy(found);
    let blanks = if found.split_whitespace().eq(old.text.split_whitespace()) { " (other whitespace)" } else { "" };
    let shown = source.secrets().redact_lines(source.text());
    let shown =
        Source::new(&shown).line(line).map(String::from_utf8_lossy).map(|line| quote_up_to(&line, MAX_QUOTE))?;
    Some(format!("line {number} of the file is {shown}, the hunk has {wanted}{blanks}"))
}

fn text_of(old: &[&Line<'_>]) -> String {
    old.iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
}
