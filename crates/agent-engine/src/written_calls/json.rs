//! Calls as JSON, or as what a model takes for it.

use serde_json::{Map, Value};

use super::names::{Names, is_name};

/// Keys that hold a tool's name.
const NAMES: [&str; 8] =
    ["name", "tool", "tool_name", "toolName", "function_name", "function", "action", "recipient_name"];
/// Those of them that hold nothing else, so that the other keys may be the arguments themselves.
const ONLY_TOOLS: [&str; 3] = ["tool", "tool_name", "function_name"];
/// Keys that hold arguments.
const ARGUMENTS: [&str; 10] = [
    "arguments",
    "parameters",
    "args",
    "input",
    "tool_input",
    "action_input",
    "params",
    "kwargs",
    "argument",
    "function_args",
];
/// Keys around calls.
const WRAPPERS: [&str; 8] =
    ["function", "tool_calls", "tool_call", "function_call", "function_calls", "calls", "tool_uses", "actions"];
/// How deep calls are wrapped.
const DEEPEST: usize = 4;
/// How far the name of a call is looked for in what is no JSON.
const MOST_LOOKED_AT: usize = 64 << 10;

/// The tool that a text is a call of which begins with a brace or bracket, and what follows it.
pub(super) fn call<'n, 't>(text: &'t str, names: &Names<'n>) -> Option<(&'n str, &'t str)> {
    let (body, rest) = balanced(text);
    match serde_json::from_str::<Value>(body) {
        Ok(value) => Some((in_value(&value, names, DEEPEST)?, rest)),
        Err(_) => Some((in_words(body, names)?, rest)),
    }
}

/// The name in a text that begins with a call as JSON that is whole, a name and its arguments, of whatever tool; and what follows.
pub(super) fn whole_call(text: &str) -> Option<(String, &str)> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let (body, rest) = balanced(text);
    let mut value: &Value = &serde_json::from_str(body).ok()?;
    for _ in 0..DEEPEST {
        let fields = match value {
            Value::Array(items) => {
                value = items.first()?;
                continue;
            }
            Value::Object(fields) => fields,
            _ => return None,
        };
        let is_arguments =
            |value: &Value| value.is_object() || value.as_str().is_some_and(|text| text.starts_with('{'));
        let name = NAMES.iter().find_map(|key| fields.get(*key)?.as_str());
        if let Some(name) = name {
            let has_arguments = ARGUMENTS.iter().any(|key| fields.get(*key).is_some_and(is_arguments));
            return (has_arguments && !is_definition(fields) && is_name(name)).then(|| (name.to_owned(), rest));
        }
        value = WRAPPERS.iter().find_map(|key| fields.get(*key))?;
    }
    None
}

fn in_value<'n>(value: &Value, names: &Names<'n>, depth: usize) -> Option<&'n str> {
    match value {
        Value::Array(items) => in_value(items.first()?, names, depth.checked_sub(1)?),
        Value::Object(fields) => in_object(fields, names, depth),
        _ => None,
    }
}

fn in_object<'n>(fields: &Map<String, Value>, names: &Names<'n>, depth: usize) -> Option<&'n str> {
    if is_definition(fields) {
        return None;
    }
    let said = |key: &str| fields.get(key).and_then(Value::as_str);
    if ARGUMENTS.iter().any(|key| fields.contains_key(*key))
        && let Some(tool) = NAMES.iter().find_map(|key| names.find(said(key)?))
    {
        return Some(tool);
    }
    if let Some(tool) = ONLY_TOOLS.iter().find_map(|key| names.find_whole(said(key)?)) {
        return Some(tool);
    }
    if let (1, Some((key, Value::Object(_)))) = (fields.len(), fields.iter().next())
        && let Some(tool) = names.find_whole(key)
    {
        return Some(tool);
    }
    let depth = depth.checked_sub(1)?;
    WRAPPERS.iter().find_map(|key| in_value(fields.get(*key)?, names, depth))
}

/// A tool is described, not called.
fn is_definition(fields: &Map<String, Value>) -> bool {
    let is_schema = |value: &Value| value.get("properties").is_some_and(Value::is_object);
    fields.contains_key("description") || ARGUMENTS.iter().any(|key| fields.get(*key).is_some_and(is_schema))
}

/// What is no JSON: broken quotes, a missing end, another language's literals.
fn in_words<'n>(text: &str, names: &Names<'n>) -> Option<&'n str> {
    let text = &text[..text.floor_char_boundary(MOST_LOOKED_AT)];
    let mut keyed = keys(text);
    let has_arguments = keys(text).any(|(key, _)| ARGUMENTS.contains(&key));
    keyed.find_map(|(key, value)| {
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let said = value[1..].split(quote).next()?;
        let tool = if has_arguments { names.find(said) } else { None };
        NAMES.contains(&key).then(|| tool.or_else(|| names.find_whole(said)))?
    })
}

/// Quoted words with a colon behind them, and what follows that.
fn keys(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(['"', '\''])?;
            let quote = rest[at..].chars().next()?;
            let word = &rest[at + 1..];
            let end = word.find(quote)?;
            let behind = word[end + 1..].trim_start();
            rest = &word[end + 1..];
            if let Some(value) = behind.strip_prefix(':') {
                rest = value;
                return Some((&word[..end], value.trim_start()));
            }
        }
    })
}

/// The text up to the bracket that closes its first one, and what follows it; all of it where none does.
pub(super) fn balanced(text: &str) -> (&str, &str) {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return text.split_at(at + 1);
                }
            }
            _ => {}
        }
    }
    (text, "")
}
