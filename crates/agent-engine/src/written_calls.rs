//! Calls that a model writes into its answer instead of making them (RUN-9): a template that does not fit, a server without a
//! parser, a model that was never trained for it. Such a text looks finished and is not.
//!
//! What counts is the shape, around the name of a tool that the run has; between the marks of a model family the name does not
//! matter, nor where in the text they stand. Text *about* calls stays an answer: what is part of a sentence, in inline code, in a
//! code fence with an explanation, or names no tool of this run and has no marks.

mod explicit;
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

/// Words behind a fenced call by which it is shown, not made.
const EXPLAINS_BEHIND: [&str; 12] = [
    "that is",
    "this is",
    "that's",
    "these are",
    "is sent",
    "would",
    "the call",
    "this call",
    "argument",
    "parameter",
    "json",
    "format",
];
/// Words in front of one, besides [`EXPLAINS`].
const SHOWS: [&str; 4] = ["log:", "request:", "is sent", "sends"];

/// A call in the words of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenCall {
    /// The tool, by its canonical name; one that the run does not have as the model named it.
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
    if names.is_empty() {
        return None;
    }
    let found = at_the_beginning(text, is_cut, &names)
        .or_else(|| in_the_last_fence(text, is_cut, &names))
        .or_else(|| at_the_end(text, is_cut, &names));
    if let Some(found) = found {
        return Some(WrittenCall { tool: found.tool.to_owned(), form: found.form });
    }
    between_marks(text, &names).or_else(|| in_a_fence(text, &names))
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
    let is_fenced = fenced(text);
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

/// Marks that nothing but calls have stand on a line of their own or end one, outside of code, with a call behind them. Whatever
/// follows: models go on with results that they made up. They stand for a call of any name.
fn between_marks(text: &str, names: &Names<'_>) -> Option<WrittenCall> {
    let is_fenced = fenced(text);
    let starts = text.match_indices(['<', '[', 'f']).map(|(at, _)| at);
    let starts = starts.filter(|at| explicit::begins(&text[*at..]) && stands_alone(text, *at) && !is_fenced(*at));
    let mut quoted = 0;
    for at in starts.take(MOST_PLACES) {
        // Marks within a call that is quoted are quoted too.
        if at < quoted {
            continue;
        }
        let (before, marked) = text.split_at(at);
        let Some((tool, behind)) = explicit::call(marked, names) else { continue };
        if !explains(before) && !is_part_of_a_sentence(before, behind) {
            return Some(WrittenCall { tool, form: shapes::MARKED });
        }
        quoted = text.len() - behind.len();
    }
    None
}

/// A fence for calls that holds one, or one that holds nothing but a call of a tool of this run as JSON, with words behind it that
/// do not explain it, such as a result that was made up.
fn in_a_fence(text: &str, names: &Names<'_>) -> Option<WrittenCall> {
    for Fence { start, language, body, after, .. } in fences(text).take(MOST_PLACES) {
        let (before, body) = (&text[..start], body.trim());
        let found = if shapes::is_for_calls(language) {
            shapes::call_at(body, names).map(|found| found.tool)
        } else if before.len() <= MOST_BEFORE_FENCE {
            json::whole_call(body).and_then(|(name, rest)| names.find(&name).filter(|_| rest.trim().is_empty()))
        } else {
            None
        };
        if let Some(tool) = found
            && !explains(before)
            && !holds(end_of(before), &SHOWS)
            && !holds(start_of(after), &EXPLAINS)
            && !holds(start_of(after), &EXPLAINS_BEHIND)
        {
            return Some(WrittenCall { tool: tool.to_owned(), form: shapes::JSON });
        }
    }
    None
}

/// Tells of a place whether it is in a fence.
fn fenced(text: &str) -> impl Fn(usize) -> bool {
    let fences: Vec<_> = fences(text).map(|fence| fence.start..text.len() - fence.after.len()).collect();
    move |at| {
        let last = fences.partition_point(|fence| fence.start <= at);
        last > 0 && fences[last - 1].contains(&at)
    }
}

/// Whether a mark begins its line, or ends one that has no inline code in front of it.
fn stands_alone(text: &str, at: usize) -> bool {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
    let ends_it =
        || explicit::ends_its_line(&text[at..]) && line.ends_with(char::is_whitespace) && !line.contains(['`', '>']);
    // Inline code may go on over lines of its paragraph.
    let paragraph = &text[text[..at].rfind("\n\n").unwrap_or(0)..at];
    let is_code = paragraph.matches('`').count() % 2 == 1;
    !is_code && (line.trim().is_empty() || ends_it())
}

/// Whether a call is quoted within a sentence: one leads to it with a colon and goes on behind it.
fn is_part_of_a_sentence(before: &str, behind: &str) -> bool {
    before.trim_end().ends_with(':') && behind.trim_start().starts_with(char::is_lowercase)
}

/// Whether the words in front of a call say that it is not meant.
fn explains(before: &str) -> bool {
    holds(end_of(before), &EXPLAINS)
}

fn holds(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

fn end_of(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_BEFORE_FENCE))..]
}

fn start_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_BEFORE_FENCE)]
}

#[cfg(test)]
mod tests;
