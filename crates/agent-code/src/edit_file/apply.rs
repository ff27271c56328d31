//! Exact replacements in a text: pure, on bytes, all or nothing.

mod ends;

use std::ops::Range;

use agent_redact::KnownSecrets;
use schemars::JsonSchema;
use serde::Deserialize;

use super::hint;
use crate::preview::Regions;
pub(crate) use ends::with_crlf;
use ends::{LineEnds, Plain, fitted};

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
    /// Where they were.
    pub(crate) regions: Regions,
}

/// Why the edits do not apply. `edit` counts from 0.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("edits[{edit}]: {reason}")]
    Pointless { edit: usize, reason: &'static str },
    #[error("edits[{edit}]: old was not found{hint}")]
    NotFound {
        edit: usize,
        hint: String,
        /// The line of the text, from 0, where it was probably meant to be.
        near: Option<usize>,
    },
    #[error(
        "edits[{edit}]: old was found {} times, {}{}; add text around it, or set replace_all",
        counted(*count), named(lines), in_order(*earlier)
    )]
    Ambiguous {
        edit: usize,
        count: usize,
        lines: Vec<usize>,
        /// The edit before it that made it so.
        earlier: Option<usize>,
    },
}

/// That an edit does not see the file as it was.
fn in_order(earlier: Option<usize>) -> String {
    earlier.map(|edit| format!(" (edits apply in order, and edits[{edit}] wrote more of it)")).unwrap_or_default()
}

fn counted(count: usize) -> String {
    if count > MAX_COUNTED { format!("more than {MAX_COUNTED}") } else { count.to_string() }
}

fn named(lines: &[usize]) -> String {
    let listed: Vec<String> = lines.iter().map(usize::to_string).collect();
    format!("in lines {}", listed.join(", "))
}

/// Applies edits in their order, each to what the one before left.
/// Why they do not apply is told without the secrets.
pub(crate) fn apply(original: &[u8], edits: &[Edit], secrets: &KnownSecrets) -> Result<Applied, ApplyError> {
    let mut text = original.to_vec();
    let (mut replacements, mut regions) = (0, Regions::default());
    for (index, edit) in edits.iter().enumerate() {
        if edit.old.is_empty() {
            return Err(ApplyError::Pointless { edit: index, reason: "old is empty, and the file exists" });
        }
        if edit.old == edit.new {
            return Err(ApplyError::Pointless { edit: index, reason: "old and new are the same" });
        }
        let done = splice(&mut text, edit, &mut regions);
        replacements += done.map_err(|trouble| why(trouble, &text, edits, index, original, secrets))?;
    }
    if text == original {
        return Err(ApplyError::Pointless {
            edit: edits.len().saturating_sub(1),
            reason: "all edits together change nothing",
        });
    }
    Ok(Applied { text, replacements, regions })
}

/// Why a text cannot be replaced.
enum Trouble {
    Missing,
    /// There are so many of it, the first of them in these lines.
    Many(usize, Vec<usize>),
}

/// Does one edit; how many places it replaced.
fn splice(text: &mut Vec<u8>, edit: &Edit, regions: &mut Regions) -> Result<usize, Trouble> {
    let search = Search::of(text, edit);
    let places = search.places();
    if places.is_empty() {
        return Err(Trouble::Missing);
    }
    if places.len() > 1 && !edit.replace_all {
        return Err(Trouble::Many(places.len(), lines_of(text, &places[..places.len().min(MAX_NAMED)])));
    }
    let places = if edit.replace_all { search.plain.apart(&search.old) } else { places };
    let mut out = Vec::with_capacity(text.len());
    let (mut done, mut spliced) = (0, Vec::with_capacity(places.len()));
    for place in places {
        out.extend_from_slice(&text[done..place.start]);
        let before = out.len();
        match &search.new {
            New::Exact(new) => out.extend_from_slice(new),
            New::Fitted(new) => out.extend(fitted(text, &place, new)),
        }
        done = place.end;
        spliced.push((place, out.len() - before));
    }
    out.extend_from_slice(&text[done..]);
    regions.replace(&spliced);
    *text = out;
    Ok(spliced.len())
}

/// How a text is searched for `old`, and what to put in its place.
struct Search<'t, 'e> {
    plain: Plain<'t>,
    old: Vec<u8>,
    new: New<'e>,
}

enum New<'e> {
    Exact(Vec<u8>),
    /// With the line ends of what it replaces.
    Fitted(&'e str),
}

impl<'t, 'e> Search<'t, 'e> {
    /// Line ends are those of the text (DEC-12, FND-26).
    fn of(text: &'t [u8], edit: &'e Edit) -> Self {
        let exact = |old: &[u8], new: &[u8]| Self {
            plain: Plain::exact(text),
            old: old.to_vec(),
            new: New::Exact(new.to_vec()),
        };
        let given = exact(edit.old.as_bytes(), edit.new.as_bytes());
        let has_crlf = |text: &str| text.contains("\r\n");
        match LineEnds::of(text) {
            LineEnds::Crlf => exact(&with_crlf(&edit.old), &with_crlf(&edit.new)),
            LineEnds::Lf if has_crlf(&edit.old) && !given.is_found() => {
                exact(edit.old.replace("\r\n", "\n").as_bytes(), edit.new.replace("\r\n", "\n").as_bytes())
            }
            LineEnds::Lf => given,
            // What says how its lines end, and is there, is taken at its word.
            LineEnds::Mixed if (has_crlf(&edit.old) || has_crlf(&edit.new)) && given.is_found() => given,
            LineEnds::Mixed => Self {
                plain: Plain::of(text),
                old: edit.old.replace("\r\n", "\n").into_bytes(),
                new: New::Fitted(&edit.new),
            },
        }
    }

    /// Up to one more than is counted.
    fn places(&self) -> Vec<Range<usize>> {
        self.plain.places(&self.old, MAX_COUNTED + 1)
    }

    fn is_found(&self) -> bool {
        !self.plain.places(&self.old, 1).is_empty()
    }

    /// None, one, or more.
    fn none_one_or_more(&self) -> usize {
        self.plain.places(&self.old, 2).len()
    }
}

/// The lines, from 1, that these places begin in.
fn lines_of(text: &[u8], places: &[Range<usize>]) -> Vec<usize> {
    let (mut line, mut done) = (1, 0);
    let lines = places.iter().map(|place| {
        line += memchr::memchr_iter(b'\n', &text[done..place.start]).count();
        done = place.start;
        line
    });
    lines.collect()
}

fn why(
    trouble: Trouble,
    text: &[u8],
    edits: &[Edit],
    index: usize,
    original: &[u8],
    secrets: &KnownSecrets,
) -> ApplyError {
    let edit = &edits[index];
    let earlier = || in_the_way(original, edits, index);
    match trouble {
        Trouble::Many(count, lines) => ApplyError::Ambiguous { edit: index, count, lines, earlier: earlier() },
        Trouble::Missing => {
            if let Some(earlier) = earlier() {
                let hint = format!(
                    ": edits apply in order, and edits[{earlier}] changed that text; write old as it is after that, or make both \
                     changes in one edit"
                );
                return ApplyError::NotFound { edit: index, hint, near: None };
            }
            let near = hint::find(text, &edit.old, secrets);
            let words = near.as_ref().and_then(|near| near.words.as_deref()).map(|words| format!(": {words}"));
            // Lines count as they are in the file.
            let near = if text == original { near } else { hint::find(original, &edit.old, secrets) };
            ApplyError::NotFound { edit: index, hint: words.unwrap_or_default(), near: near.and_then(|near| near.line) }
        }
    }
}

/// The edit before this one without which it would apply: alone on the file it does.
fn in_the_way(original: &[u8], edits: &[Edit], index: usize) -> Option<usize> {
    let edit = &edits[index];
    let applies = |text: &[u8]| match Search::of(text, edit).none_one_or_more() {
        0 => false,
        1 => true,
        _ => edit.replace_all,
    };
    let mut text = original.to_vec();
    if !applies(&text) {
        return None;
    }
    edits[..index].iter().position(|before| {
        // They have been done once.
        splice(&mut text, before, &mut Regions::default()).is_ok() && !applies(&text)
    })
}

#[cfg(test)]
mod tests;
