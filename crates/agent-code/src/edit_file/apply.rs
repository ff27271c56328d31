//! Exact replacements in a text: pure, on bytes, all or nothing.

use memchr::memmem::{Finder, find_iter};
use schemars::JsonSchema;
use serde::Deserialize;

use super::hint;

// No doc comment: the model is told enough by the fields.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// Must occur exactly once, unless replace_all.
    pub(crate) old: String,
    pub(crate) new: String,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

/// More places than this are not counted.
const MAX_COUNTED: usize = 1000;
/// More lines than this are not named.
const MAX_NAMED: usize = 20;

/// A text after all edits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: Vec<u8>,
    /// How many places were replaced.
    pub(crate) replacements: usize,
}

/// Why the edits do not apply. `edit` counts from 0.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("edits[{edit}]: {reason}")]
    Pointless { edit: usize, reason: &'static str },
    #[error("edits[{edit}]: old was not found{hint}")]
    NotFound { edit: usize, hint: String },
    #[error(
        "edits[{edit}]: old was found {} times, {}; add text around it, or set replace_all",
        counted(*count), named(lines)
    )]
    Ambiguous { edit: usize, count: usize, lines: Vec<usize> },
}

fn counted(count: usize) -> String {
    if count > MAX_COUNTED { format!("more than {MAX_COUNTED}") } else { count.to_string() }
}

fn named(lines: &[usize]) -> String {
    let listed: Vec<String> = lines.iter().map(usize::to_string).collect();
    format!("in lines {}", listed.join(", "))
}

/// Applies edits in their order, each to what the one before left.
pub(crate) fn apply(original: &[u8], edits: &[Edit]) -> Result<Applied, ApplyError> {
    let mut text = original.to_vec();
    let mut replacements = 0;
    for (index, edit) in edits.iter().enumerate() {
        if edit.old.is_empty() {
            return Err(ApplyError::Pointless { edit: index, reason: "old is empty, and the file exists" });
        }
        if edit.old == edit.new {
            return Err(ApplyError::Pointless { edit: index, reason: "old and new are the same" });
        }
        replacements += apply_one(&mut text, edit, index, original)?;
    }
    if text == original {
        return Err(ApplyError::Pointless {
            edit: edits.len().saturating_sub(1),
            reason: "all edits together change nothing",
        });
    }
    Ok(Applied { text, replacements })
}

fn apply_one(text: &mut Vec<u8>, edit: &Edit, index: usize, original: &[u8]) -> Result<usize, ApplyError> {
    let (old, new, places) = find(text, edit);
    match places.as_slice() {
        [] => Err(ApplyError::NotFound { edit: index, hint: why_missing(text, edit, original) }),
        [at] => {
            text.splice(*at..*at + old.len(), new);
            Ok(1)
        }
        _ if edit.replace_all => Ok(replace_all(text, &old, &new)),
        places => {
            let lines = lines_of(text, &places[..places.len().min(MAX_NAMED)]);
            Err(ApplyError::Ambiguous { edit: index, count: places.len(), lines })
        }
    }
}

/// Where `old` is, and what to put there, in the line ends of the text (DEC-12).
fn find(text: &[u8], edit: &Edit) -> (Vec<u8>, Vec<u8>, Vec<usize>) {
    let as_given = || (edit.old.clone().into_bytes(), edit.new.clone().into_bytes());
    let as_crlf = || (with_crlf(&edit.old), with_crlf(&edit.new));
    let ends = LineEnds::of(text);
    let (old, new) = if ends == LineEnds::Crlf { as_crlf() } else { as_given() };
    let found = places(text, &old);
    if found.is_empty() && ends == LineEnds::Mixed {
        // A part of it may have the other kind.
        let (old, new) = as_crlf();
        let found = places(text, &old);
        return (old, new, found);
    }
    (old, new, found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// LF only, or none.
    Lf,
    /// CRLF only.
    Crlf,
    Mixed,
}

impl LineEnds {
    fn of(text: &[u8]) -> Self {
        let all = memchr::memchr_iter(b'\n', text).count();
        match find_iter(text, b"\r\n").count() {
            0 => Self::Lf,
            crlf if crlf == all => Self::Crlf,
            _ => Self::Mixed,
        }
    }
}

/// With CRLF where it has a bare LF.
fn with_crlf(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

/// Every place, also those that overlap (EDIT-02), up to one more than is counted.
fn places(text: &[u8], old: &[u8]) -> Vec<usize> {
    let finder = Finder::new(old);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() <= MAX_COUNTED {
        let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) else { break };
        found.push(from + at);
        from += at + 1;
    }
    found
}

/// From left to right, none overlapping.
fn replace_all(text: &mut Vec<u8>, old: &[u8], new: &[u8]) -> usize {
    let mut out = Vec::with_capacity(text.len());
    let (mut done, mut count) = (0, 0);
    for at in find_iter(text, old) {
        out.extend_from_slice(&text[done..at]);
        out.extend_from_slice(new);
        done = at + old.len();
        count += 1;
    }
    out.extend_from_slice(&text[done..]);
    *text = out;
    count
}

/// The lines, from 1, that these places begin in.
fn lines_of(text: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut done) = (1, 0);
    let lines = places.iter().map(|at| {
        line += memchr::memchr_iter(b'\n', &text[done..*at]).count();
        done = *at;
        line
    });
    lines.collect()
}

fn why_missing(text: &[u8], edit: &Edit, original: &[u8]) -> String {
    if text != original && !find(original, edit).2.is_empty() {
        return ": an earlier edit of this call changed that text".to_owned();
    }
    hint::nearest(text, &edit.old).map_or_else(String::new, |near| format!(": {near}"))
}

#[cfg(test)]
mod tests;
