//! Calls that a model writes into its answer instead of making them (RUN-9): a template that does not fit, a server without a
//! parser, a model that was never trained for it. Such a text looks finished and is not.
//!
//! What counts is the shape, around the name of a tool that the run has. Text *about* calls stays an answer: what stands between
//! words, in a code fence with an explanation, or names no tool of this run.

mod fences;
mod json;
mod names;
mod shapes;

use fences::{Fence, fences};
use names::Names;
use shapes::{Needs, Shape};

/// Longer texts are not looked at: no call is that long, and no answer.
const MOST_BYTES: usize = 4 << 20;
/// Places in a text where a call may begin that are looked at.
const MOST_PLACES: usize = 16;
/// Longest text in front of a fenced call, in bytes.
const MOST_BEFORE_FENCE: usize = 240;

/// Words in front of a call by which it is an example.
const EXPLAINS: [&str; 18] = [
    "example",
    "e.g.",
    "for instance",
    "like this",
    "looks like",
    "look like",
    "such as",
    "syntax",
    "you can",
    "you could",
    "you would",
    "the model",
    "a model",
    "models ",
    "beispiel",
    "ejemplo",
    "exemple",
    "例",
];

/// A call in the words of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenCall {
    /// The tool, by its canonical name.
    pub(crate) tool: String,
    /// What it looks like.
    pub(crate) form: &'static str,
}

/// Looks for a call of one of these tools in an answer. `is_cut`: the answer ends where it was cut.
pub(crate) fn find_written_call<'n>(
    text: &str,
    is_cut: bool,
    tools: impl Iterator<Item = &'n str>,
) -> Option<WrittenCall> {
    let text = text.trim();
    if text.is_empty() || text.len() > MOST_BYTES {
        return None;
    }
    let names = Names::new(tools);
    let found = at_the_beginning(text, is_cut, &names)
        .or_else(|| in_the_last_fence(text, is_cut, &names))
        .or_else(|| at_the_end(text, is_cut, &names))?;
    Some(WrittenCall { tool: found.tool.to_owned(), form: found.form })
}

/// The text begins with a call. Behind one between marks anything may follow: models go on with results that they made up.
fn at_the_beginning<'n, 't>(text: &'t str, is_cut: bool, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let bare = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).filter(|inner| !inner.contains('`'));
    let found = shapes::call_at(bare.unwrap_or(text), names)?;
    (found.needs != Needs::Whole || is_cut || shapes::is_rest(found.rest)).then_some(found)
}

/// The text ends with a fence that holds nothing but a call, behind few words or none.
fn in_the_last_fence<'n, 't>(text: &'t str, is_cut: bool, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let Fence { start, language, body, closed, after } = fences(text).last()?;
    let found = shapes::call_at(body.trim(), names)?;
    let whole = found.needs != Needs::Whole || shapes::is_rest(found.rest) || (is_cut && !closed);
    let before = &text[..start];
    let short = before.len() <= MOST_BEFORE_FENCE || shapes::is_for_calls(language);
    (whole && shapes::is_rest(after) && short && !explains(before)).then_some(found)
}

/// A call begins on a line of its own, outside of fences, and is the last of the text.
fn at_the_end<'n, 't>(text: &'t str, is_cut: bool, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let fences: Vec<_> = fences(text).map(|fence| fence.start..text.len() - fence.after.len()).collect();
    let is_fenced = |at: usize| {
        let last = fences.partition_point(|fence| fence.start <= at);
        last > 0 && fences[last - 1].contains(&at)
    };
    let line_starts = text.match_indices('\n').map(|(at, _)| at + 1);
    let places = line_starts.filter(|at| shapes::may_begin(&text[*at..], names) && !is_fenced(*at)).take(MOST_PLACES);
    for at in places {
        let Some(found) = shapes::call_at(text[at..].trim_start(), names) else { continue };
        let is_last = match found.needs {
            Needs::Whole => shapes::is_rest(found.rest),
            Needs::End => shapes::ends_like_a_call(text),
            Needs::Nothing => true,
        };
        return ((is_last || is_cut) && !explains(&text[..at])).then_some(found);
    }
    None
}

/// Whether the words in front of a call say that it is not meant.
fn explains(before: &str) -> bool {
    let last = &before[before.ceil_char_boundary(before.len().saturating_sub(MOST_BEFORE_FENCE))..];
    let last = last.to_lowercase();
    EXPLAINS.iter().any(|word| last.contains(word))
}

#[cfg(test)]
mod tests;
