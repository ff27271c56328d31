//! What a child agent is to answer: a schema that a model wrote, and the check of an answer against it (AGT-5).

use std::fmt;
use std::sync::Arc;

use agent_protocol::{ErrorCode, ErrorPayload, Object};
use agent_redact::KnownSecrets;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};

use super::problems::{ArgumentError, dotted, echo, problems};

/// A bigger schema is refused: the child reads all of it. Bytes of JSON.
const MAX_BYTES: usize = 16 * 1024;
/// A deeper one is refused, references followed. So is one that refers to itself.
const MAX_DEPTH: usize = 32;
/// One of more parts is refused, references followed each time: what is checked stays bounded by what is written.
const MAX_PARTS: usize = 4096;
/// More problems than this are only counted.
const MAX_PROBLEMS: usize = 5;
/// Counting stops here.
const MAX_COUNTED: usize = 1000;
/// Longer words about a problem are cut. Characters.
const MAX_EXPECTED: usize = 300;

/// Keywords that would lead references elsewhere than where they point.
const REDIRECTING: [&str; 6] = ["$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];
/// What stands below these is no schema.
const PLAIN: [&str; 4] = ["enum", "const", "default", "examples"];

/// A schema that answers can be checked against.
#[derive(Clone)]
pub struct OutputSchema(Arc<Compiled>);

struct Compiled {
    schema: Value,
    rules: Validator,
}

/// Why an answer is not as its schema wants it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct Mismatch {
    /// What is wrong, each with its place; a few of them. There is at least one.
    pub problems: Vec<ArgumentError>,
    /// How many more there are.
    pub more: usize,
}

impl OutputSchema {
    /// Takes a schema, if it can be used: it is one, refers to nothing outside of itself and not to itself, and is small enough to
    /// be read by a model.
    ///
    /// # Errors
    /// `validation_error` that says what is wrong with it.
    pub fn compile(schema: &Object) -> Result<Self, ErrorPayload> {
        let schema = Value::Object(schema.clone());
        let size = schema.to_string().len();
        if size > MAX_BYTES {
            return Err(unusable(&format!("it has {size} bytes, and may have {MAX_BYTES}")));
        }
        let mut parts = 0;
        walk(&schema, &schema, 0, &mut parts).map_err(|why| unusable(&why))?;
        let options = jsonschema::options().offline().with_pattern_options(PatternOptions::regex());
        let rules = options.build(&schema).map_err(|error| unusable(&fault(&schema, &error)))?;
        Ok(Self(Arc::new(Compiled { schema, rules })))
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.schema
    }

    /// The JSON in an answer, if it is as it should be. It may stand alone, or in a fence with words around it.
    ///
    /// # Errors
    /// What is wrong with it. What that repeats of the answer is without known secrets.
    pub fn check(&self, answer: &str, secrets: &KnownSecrets) -> Result<Value, Mismatch> {
        let whole = |expected: String| ArgumentError { path: String::new(), expected };
        let value = match json_in(answer) {
            Ok(value) => value,
            Err(why) => return Err(Mismatch { problems: vec![whole(why)], more: 0 }),
        };
        // Errors are costlier to collect than to exclude.
        if self.0.rules.is_valid(&value) {
            return Ok(value);
        }
        let mut errors = self.0.rules.iter_errors(&value);
        let told = errors.by_ref().take(MAX_PROBLEMS);
        let mut all: Vec<_> = told.flat_map(|error| problems(&self.0.schema, &value, &error, secrets)).collect();
        let more = errors.take(MAX_COUNTED).count() + all.len().saturating_sub(MAX_PROBLEMS);
        all.truncate(MAX_PROBLEMS);
        all.iter_mut().for_each(cut);
        if all.is_empty() {
            all.push(whole("is not what the schema takes".to_owned()));
        }
        Err(Mismatch { problems: all, more })
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutputSchema").field(&self.0.schema).finish()
    }
}

impl Mismatch {
    fn in_words(&self) -> String {
        let shown: Vec<_> = self
            .problems
            .iter()
            .map(|one| if one.path.is_empty() { one.expected.clone() } else { one.to_string() })
            .collect();
        match self.more {
            0 => shown.join("; "),
            more => format!("{}; and {more} more", shown.join("; ")),
        }
    }

    /// The error of a child whose answer this is.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        let details: Vec<Value> =
            self.problems.iter().map(|one| json!({ "path": one.path, "expected": one.expected })).collect();
        let message = format!("the answer is not as expected_output_schema wants it: {self}");
        ErrorPayload::new(ErrorCode::SchemaError, message).detail("problems", details)
    }
}

/// What is wrong with something that is to be a schema, with its place.
fn fault(schema: &Value, error: &ValidationError<'_>) -> String {
    let path = dotted(schema, error.instance_path().as_str());
    let (value, why) = (echo(error.instance(), &KnownSecrets::none()), error.masked());
    if path.is_empty() { why.to_string() } else { format!("`{path}` is {value}: {why}") }
}

fn unusable(why: &str) -> ErrorPayload {
    let message = format!("expected_output_schema cannot be used: {why}");
    ErrorPayload::new(ErrorCode::ValidationError, message)
}

/// Goes through a schema as a check of an answer may, so that neither a circle of references nor their number gets any further.
fn walk(root: &Value, at: &Value, depth: usize, parts: &mut usize) -> Result<(), String> {
    *parts += 1;
    if *parts > MAX_PARTS {
        return Err(format!("it has more than {MAX_PARTS} parts, with what it refers to"));
    }
    if depth > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels, or refers to itself"));
    }
    match at {
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| keyword(root, key, value, depth, parts)),
        Value::Array(items) => items.iter().try_for_each(|item| walk(root, item, depth + 1, parts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn keyword(root: &Value, key: &str, value: &Value, depth: usize, parts: &mut usize) -> Result<(), String> {
    // A property may have any of these names; then what it is said to be is no text.
    if let Value::String(text) = value {
        if key == "$ref" {
            let target = text.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            let missing = || format!("\"$ref\": {} does not lead to a part of the schema itself", json!(text));
            return walk(root, target.ok_or_else(missing)?, depth + 1, parts);
        }
        if REDIRECTING.contains(&key) {
            return Err(format!("the keyword {key} is not supported"));
        }
    }
    if PLAIN.contains(&key) && !value.is_object() {
        return Ok(());
    }
    walk(root, value, depth + 1, parts)
}

/// The JSON that an answer is, or that the only fence in it holds.
fn json_in(answer: &str) -> Result<Value, String> {
    let answer = answer.trim();
    let error = match serde_json::from_str(answer) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let fenced: Vec<_> = fences(answer).collect();
    match fenced.as_slice() {
        [] => Err(format!("expected JSON alone, and it is none ({error})")),
        [one] => serde_json::from_str(one).map_err(|error| format!("the JSON in its fence cannot be read ({error})")),
        _ => Err("expected JSON alone, and there are several fences".to_owned()),
    }
}

/// What stands in fences of JSON, or of no named language.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, opened) = rest.split_once("```")?;
            let (language, body) = opened.split_once('\n')?;
            // A fence that is not closed ends with the answer.
            let (inside, after) = body.split_once("\n```").unwrap_or((body, ""));
            rest = after;
            if matches!(language.trim().to_ascii_lowercase().as_str(), "" | "json") {
                return Some(inside);
            }
        }
    })
}

fn cut(problem: &mut ArgumentError) {
    if let Some((end, _)) = problem.expected.char_indices().nth(MAX_EXPECTED) {
        problem.expected.truncate(end);
        problem.expected.push('…');
    }
}

#[cfg(test)]
mod tests;
