//! What calls look like in the texts of models: between marks, with labels, as JSON, as code.

use super::fences::fences;
use super::json::{self, balanced};
use super::names::{Names, loose};

/// A text that begins with a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'n, 't> {
    pub(super) tool: &'n str,
    /// What it looks like, for messages.
    pub(super) form: &'static str,
    pub(super) needs: Needs,
    /// What follows it, as far as that is known.
    pub(super) rest: &'t str,
}

/// What must be so that a text is a call, and not about one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing else follows it.
    Whole,
    /// It begins or ends the text.
    End,
    /// That it is there.
    Nothing,
}

/// Marks and words that may stand one behind the other.
pub(super) const MOST_MARKS: usize = 12;
/// Longest mark, in bytes.
const LONGEST_MARK: usize = 200;
/// Parts of names that only marks of calls have, letters and digits only.
pub(super) const CALL_MARKS: [&str; 9] = [
    "toolcall",
    "functioncall",
    "tooluse",
    "toolcode",
    "pythontag",
    "pythonstart",
    "startaction",
    "actionstart",
    "toolsep",
];
/// The same of marks behind which a call may stand, and other text as well.
const OTHER_MARKS: [&str; 3] = ["channel", "endthinking", "startassistant"];
/// Names of marks that stand between the first one and the call.
const INNER_MARKS: [&str; 13] = [
    "name",
    "toolname",
    "function",
    "functionname",
    "tool",
    "invoke",
    "plugin",
    "constrain",
    "message",
    "args",
    "callid",
    "start",
    "action",
];
/// Words that stand there.
pub(super) const INNER_WORDS: [&str; 12] = [
    "commentary",
    "analysis",
    "assistant",
    "function",
    "functions",
    "call",
    "json",
    "tool",
    "name",
    "to",
    "print",
    "final",
];
/// What names a tool in a tag that has an attribute for it.
const NAMED_TAGS: [&str; 9] =
    ["function", "functioncall", "invoke", "tool", "toolcall", "tooluse", "call", "action", "toolname"];
/// Labels of a tool's name, and of its arguments on the line below.
const NAME_LABELS: [&str; 6] = ["action", "tool", "function", "toolname", "toolcall", "functioncall"];
const ARGUMENT_LABELS: [&str; 6] = ["actioninput", "arguments", "parameters", "args", "input", "toolinput"];
/// What code fences say that hold calls.
const LANGUAGES: [&str; 6] = ["toolcode", "toolcall", "toolcalls", "tool", "functioncall", "tooluse"];

pub(super) const MARKED: &str = "between marks of a call";
const TAG: &str = "in a tag that names it";
const LABELLED: &str = "in labelled lines";
pub(super) const JSON: &str = "as JSON";
const CODE: &str = "as code";

/// Whether a code fence of this language is for calls.
pub(super) fn is_for_calls(language: &str) -> bool {
    LANGUAGES.contains(&loose(language).as_str())
}

/// Whether a call may begin here, at the beginning of a line.
pub(super) fn may_begin(text: &str, names: &Names<'_>) -> bool {
    let line = text.trim_start_matches([' ', '\t']);
    let is_label = |word: &str| {
        matches!(word, "functools" | "commentary" | "to" | "print")
            || NAME_LABELS.contains(&loose(word).as_str())
            || names.find(word).is_some()
    };
    line.starts_with(['<', '[', '{', '>']) || word(line).is_some_and(|(word, _)| is_label(word))
}

/// Whether the last that is written may be the end of a call.
pub(super) fn ends_like_a_call(text: &str) -> bool {
    text.trim_end().ends_with(['>', '}', ']', ')', '`'])
}

/// Whether nothing but marks and further calls follows.
pub(super) fn is_rest(rest: &str) -> bool {
    let mut rest = rest;
    for _ in 0..MOST_MARKS {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | ')'));
        rest = match (mark(rest), rest.as_bytes().first()) {
            (_, None) => return true,
            (Some((_, behind)), _) => behind,
            (None, Some(b'{' | b'[')) => balanced(rest).1,
            _ => return false,
        };
    }
    true
}

/// The call that a text begins with.
pub(super) fn call_at<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    marked(text, names)
        .or_else(|| labelled(text, names))
        .or_else(|| as_code(text, names))
        .or_else(|| as_json(text, names))
        .or_else(|| named_json(text, names))
}

/// A call behind marks: `<tool_call>`, `[TOOL_CALLS]`, `<|python_tag|>`, `<function=…>`, `functools[…]` and their kin.
pub(super) fn marked<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let shape = |tool, form, rest| Shape { tool, form, needs: Needs::End, rest };
    // Some servers take the marks out and leave the words.
    let begins_with_words = ["commentary to=", "to=functions.", ">>>"].iter().any(|words| text.starts_with(words));
    let (mut rest, mut is_marked) = (text, begins_with_words);
    if let Some(behind) = text.strip_prefix(">>>").or_else(|| text.strip_prefix("functools")) {
        (rest, is_marked) = (behind, true);
    }
    for _ in 0..MOST_MARKS {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '('));
        if let Some((content, behind)) = mark(rest) {
            if let Some(tool) = attribute(content).and_then(|name| names.find(name)) {
                return Some(shape(tool, TAG, behind));
            }
            if let Some(tool) = names.find_whole(content).filter(|_| !is_marked)
                && behind.contains(&format!("</{content}"))
            {
                return Some(shape(tool, TAG, behind));
            }
            let name = loose(content);
            let is_mark = name == "start" || expects_a_call(&name);
            if !(is_mark || is_marked && INNER_MARKS.contains(&name.as_str())) {
                return None;
            }
            (rest, is_marked) = (behind, true);
        } else if !is_marked {
            return None;
        } else if rest.starts_with(['{', '[']) {
            let found = as_code(rest, names).or_else(|| as_json(rest, names))?;
            return Some(shape(found.tool, MARKED, found.rest));
        } else if rest.starts_with("```") {
            rest = fences(rest).next()?.body;
        } else {
            let (word, behind) = word(rest)?;
            if let Some(tool) = names.find(word) {
                return (!begins_with_words || behind.contains('{')).then(|| shape(tool, MARKED, behind));
            }
            if !INNER_WORDS.contains(&word.trim_end_matches(':').to_ascii_lowercase().as_str()) {
                return None;
            }
            rest = behind;
        }
    }
    None
}

/// What stands between the brackets of a mark at the beginning of a text, and what follows it.
pub(super) fn mark(text: &str) -> Option<(&str, &str)> {
    let close = match text.as_bytes().first()? {
        b'<' => '>',
        b'[' => ']',
        _ => return None,
    };
    let head = &text[..text.floor_char_boundary(LONGEST_MARK)];
    let end = head.find(close)?;
    let content = &head[1..end];
    if content.contains(['\n', '<', '[', '{']) {
        return None;
    }
    let content = content.trim_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '|' | '｜'));
    let name = loose(content);
    let is_known = || INNER_MARKS.contains(&name.as_str()) || expects_a_call(&name);
    (close == '>' || is_known()).then(|| (content, &text[end + 1..]))
}

/// The tool's name in a tag: `function=NAME`, `invoke name="NAME"`.
pub(super) fn attribute(content: &str) -> Option<&str> {
    let head = content.find(|c: char| c.is_whitespace() || c == '=')?;
    let kind = loose(content[..head].rsplit([':', '｜', '|']).next()?);
    if !NAMED_TAGS.contains(&kind.as_str()) {
        return None;
    }
    let value = content.split_once("name=").map_or(&content[head..], |(_, value)| value);
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\''));
    value.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/' | '>')).next()
}

/// The word that a text begins with, as names of tools are made.
pub(super) fn word(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `Action: NAME` with `Action Input: …` below it, and the like.
fn labelled<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let (first, below) = text.split_once('\n')?;
    let (label, value) = first.split_once(':')?;
    let label = loose(label);
    if !NAME_LABELS.contains(&label.as_str()) {
        return None;
    }
    if value.trim_start().starts_with("```") {
        let body = fences(text[text.find("```")?..].trim_start()).next()?;
        let found = as_json(body.body.trim(), names)?;
        return Some(Shape { form: LABELLED, needs: Needs::End, ..found });
    }
    let tool = names.find(value)?;
    let (next, _) = below.trim_start().split_once(':')?;
    let is_input = ARGUMENT_LABELS.contains(&loose(next).as_str());
    let needs = if label == "action" { Needs::Nothing } else { Needs::End };
    is_input.then_some(Shape { tool, form: LABELLED, needs, rest: below })
}

fn as_json<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let (tool, rest) = json::call(text, names)?;
    Some(Shape { tool, form: JSON, needs: Needs::Whole, rest })
}

/// `NAME(key=…)`, alone or in a list.
fn as_code<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let inner = text.strip_prefix('[').unwrap_or(text).trim_start();
    let inner = inner.strip_prefix("print(").unwrap_or(inner);
    let (name, arguments) = word(inner)?;
    if !arguments.starts_with('(') {
        return None;
    }
    let (arguments, rest) = balanced(arguments);
    let has_keys = arguments.contains('=') || arguments == "()";
    let tool = names.find_whole(name).or_else(|| names.find(name).filter(|_| has_keys))?;
    let rest = if text.starts_with('[') { balanced(text).1 } else { rest };
    Some(Shape { tool, form: CODE, needs: Needs::Whole, rest })
}

/// The name, and its arguments as JSON behind it.
fn named_json<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<Shape<'n, 't>> {
    let (name, behind) = word(text)?;
    let arguments = behind.trim_start();
    if !arguments.starts_with('{') {
        return None;
    }
    let is_below = behind[..behind.len() - arguments.len()].contains('\n');
    let tool = names.find_whole(name).or_else(|| names.find(name).filter(|_| is_below))?;
    Some(Shape { tool, form: JSON, needs: Needs::Whole, rest: balanced(arguments).1 })
}

/// Whether a call is expected behind a mark of this name, letters and digits only.
fn expects_a_call(name: &str) -> bool {
    CALL_MARKS.iter().chain(&OTHER_MARKS).any(|part| name.contains(part))
}
