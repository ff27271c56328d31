//! What is wrong with a value that a schema does not take, in words: where, and what is expected there.

use agent_redact::KnownSecrets;
use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use crate::near::near_names;

/// How much of a wrong value is echoed, in characters.
pub(super) const MAX_ECHO: usize = 60;

/// One thing that is wrong with arguments, or with another value that is to fit a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {expected}")]
pub struct ArgumentError {
    /// Where, such as `edits[0].old`; empty for the whole.
    pub path: String,
    /// What is expected there, and what came instead.
    pub expected: String,
}

/// What one violation of a schema by a value comes to: several problems where several names are unknown.
pub(super) fn problems(
    schema: &Value,
    value: &Value,
    error: &ValidationError<'_>,
    secrets: &KnownSecrets,
) -> Vec<ArgumentError> {
    let pointer = error.instance_path().as_str();
    let path = dotted(value, pointer);
    let one = |expected: String| vec![ArgumentError { path: path.clone(), expected }];
    let got = || echo(error.instance(), secrets);
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![ArgumentError { path: join(&path, name), expected: "is required".to_owned() }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = known_names(schema, error.schema_path().as_str());
            unexpected.iter().map(|name| unknown(&path, name, &known, secrets)).collect()
        }
        // Where no names are known at all, that is how those that are there are refused.
        ValidationErrorKind::FalseSchema => match value.pointer(pointer) {
            Some(Value::Object(fields)) if error.schema_path().as_str().ends_with("/additionalProperties") => {
                fields.keys().map(|name| unknown(&path, name, &[], secrets)).collect()
            }
            _ => one("is not taken here".to_owned()),
        },
        ValidationErrorKind::Type { .. } => {
            let wanted = error.schema_path().as_str();
            // Not to be found behind a `$ref`.
            one(match schema.pointer(wanted) {
                Some(kind) => format!("expected {}, got {}", type_names(kind), describe(error.instance(), secrets)),
                None => error.masked().to_string(),
            })
        }
        ValidationErrorKind::Enum { options } => one(format!("must be one of {}, got {}", options, got())),
        ValidationErrorKind::Minimum { limit } => one(format!("must be at least {limit}, got {}", got())),
        ValidationErrorKind::Maximum { limit } => one(format!("must be at most {limit}, got {}", got())),
        // Other keywords occur in foreign schemas only. Values are left out: they may be long.
        _ => one(error.masked().to_string()),
    }
}

fn unknown(path: &str, name: &str, known: &[&str], secrets: &KnownSecrets) -> ArgumentError {
    let near = near_names(name, known.iter().copied());
    let hint = near.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let expected = match known {
        [] => "is unknown: nothing is taken here".to_owned(),
        known => format!("is unknown{hint} (known: {})", known.join(", ")),
    };
    ArgumentError { path: join(path, &shorten(name, secrets)), expected }
}

/// The properties beside the keyword `additionalProperties` at this place of the schema.
fn known_names<'a>(schema: &'a Value, keyword: &str) -> Vec<&'a str> {
    let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = schema.pointer(parent).and_then(|schema| schema.get("properties")?.as_object());
    properties.map(|names| names.keys().map(String::as_str).collect()).unwrap_or_default()
}

fn type_names(kind: &Value) -> String {
    match kind {
        Value::String(name) => with_article(name),
        other => other.to_string(),
    }
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn describe(value: &Value, secrets: &KnownSecrets) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => echo(value, secrets),
    }
}

pub(super) fn echo(value: &Value, secrets: &KnownSecrets) -> String {
    shorten(&value.to_string(), secrets)
}

/// The beginning of a text, without known secrets: those go first, as what is left of a cut one is not recognised any more.
fn shorten(text: &str, secrets: &KnownSecrets) -> String {
    let text = secrets.redact(text).text;
    match text.char_indices().nth(MAX_ECHO) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// `/edits/0/old` as `edits[0].old`.
pub(super) fn dotted(value: &Value, pointer: &str) -> String {
    let (mut path, mut at) = (String::new(), Some(value));
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        path = if at.is_some_and(Value::is_array) { format!("{path}[{step}]") } else { join(&path, &step) };
        at = at.and_then(|value| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(&step),
        });
    }
    path
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
