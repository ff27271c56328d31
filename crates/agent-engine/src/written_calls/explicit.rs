//! Marks that nothing but calls have, and calls of any name behind them.

use super::{
    json::{self, balanced},
    names::{Names, is_name, loose},
    shapes::{CALL_MARKS, INNER_WORDS, MOST_MARKS, attribute, ends_like_a_call, mark, marked, word},
};

/// Marks that other languages have too, unless they are written with a bar.
const BARRED: [&str; 2] = ["channel", "startassistant"];
/// What names a tool in a tag.
const TAGS: [&str; 2] = ["function", "invoke"];
/// What follows a tool's name that stands between marks, letters and digits only.
const BEHIND_NAMES: [&str; 4] = ["argkey", "args", "callid", "toolcallargumentbegin"];
/// In front of a list of calls.
const FUNCTOOLS: &str = "functools";

/// Whether a text begins with such a mark.
pub(super) fn begins(text: &str) -> bool {
    if text.strip_prefix(FUNCTOOLS).is_some_and(|list| list.starts_with('[')) {
        return true;
    }
    let Some((content, behind)) = mark(text) else { return false };
    let name = loose(content);
    let is_barred = || {
        let with_role = format!("{name}{}", word(behind).map_or("", |(word, _)| word));
        text.starts_with("<|") && BARRED.iter().any(|part| with_role.contains(part))
    };
    !text[1..].starts_with('/') && (CALL_MARKS.iter().any(|part| name.contains(part)) || is_tag(content) || is_barred())
}

/// The tool that is called behind such a mark, and the words behind the last line that ends like a call.
pub(super) fn call<'t>(text: &'t str, names: &Names<'_>) -> Option<(String, &'t str)> {
    if let Some(found) = marked(text, names) {
        return Some((found.tool.to_owned(), words_behind(found.rest)));
    }
    let (said, behind) = of_any_name(text.strip_prefix(FUNCTOOLS).unwrap_or(text))?;
    Some((said, words_behind(behind)))
}

/// Whether nothing follows the mark on its line.
pub(super) fn ends_its_line(text: &str) -> bool {
    mark(text).is_some_and(|(_, behind)| behind.trim_start_matches([' ', '\t', '\r']).starts_with('\n'))
}

/// A call of a tool that the run need not have. So its arguments must be there.
fn of_any_name(text: &str) -> Option<(String, &str)> {
    let named = |name: &str, behind| is_name(name).then(|| (name.to_owned(), behind));
    let mut rest = text;
    for _ in 0..MOST_MARKS {
        rest = rest.trim_start();
        // The recipient of a message on a channel is the tool, whatever the message is.
        if let Some(addressed) = rest.strip_prefix("to=") {
            let (name, behind) = word(addressed)?;
            let name = name.strip_prefix("functions.").unwrap_or(name);
            return named(name, behind).filter(|_| is_message(behind));
        }
        if let Some((content, behind)) = mark(rest) {
            if is_tag(content) {
                let has_arguments = behind.trim_start().starts_with('{') || behind.contains("parameter");
                return named(attribute(content).filter(|_| has_arguments)?, behind);
            }
            rest = behind;
        } else if rest.starts_with(['{', '[']) {
            return json::whole_call(rest);
        } else {
            let (name, behind) = word(rest)?;
            let arguments = behind.trim_start();
            let is_marked = mark(arguments).is_some_and(|(content, _)| BEHIND_NAMES.contains(&loose(content).as_str()));
            if is_marked || arguments.starts_with('{') && balanced(arguments).0.ends_with('}') {
                return named(name.trim_start_matches("call:"), behind);
            }
            if !INNER_WORDS.contains(&name) {
                return None;
            }
            rest = behind;
        }
    }
    None
}

/// Whether a message follows the head of one on a channel, which may say more before it: `<|constrain|>json`.
fn is_message(head: &str) -> bool {
    let mut rest = head;
    for _ in 0..MOST_MARKS {
        rest = rest.trim_start();
        rest = match (mark(rest), word(rest)) {
            (Some((content, _)), _) if loose(content) == "message" => return true,
            (Some((_, behind)), _) | (None, Some((_, behind))) => behind,
            (None, None) => return false,
        };
    }
    false
}

/// Whether a mark is a tag with the name of a tool in it.
fn is_tag(content: &str) -> bool {
    let kind = content.split(|c: char| c.is_whitespace() || c == '=').next();
    let kind = kind.and_then(|kind| kind.rsplit([':', '｜', '|']).next());
    kind.is_some_and(|kind| TAGS.contains(&kind)) && attribute(content).is_some()
}

/// The words that follow a call, whose arguments and closing marks may be left.
fn words_behind(rest: &str) -> &str {
    let mut words = rest;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if ends_like_a_call(line) {
            words = &rest[at..];
        }
    }
    words
}
