//! Checking the arguments of a call (TOL-3).

use agent_protocol::{ErrorCode, ErrorPayload, Object, ToolDefinition};
use agent_redact::KnownSecrets;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

use super::{example::example, subset::check_subset, unwrap::unwrap};
use crate::near::near_names;

/// More problems than this are only counted: a model corrects a few at a time.
const MAX_PROBLEMS: usize = 5;
/// Counting stops here.
const MAX_COUNTED: usize = 1000;
/// How much of a wrong value is echoed, in characters.
const MAX_ECHO: usize = 60;

/// A compiled input schema.
#[derive(Debug)]
pub(crate) struct ArgumentRules(Validator);

/// One thing that is wrong with arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {expected}")]
pub struct ArgumentError {
    /// Where, such as `edits[0].old`; empty for the arguments as a whole.
    pub path: String,
    /// What is expected there, and what came instead.
    pub expected: String,
}

impl ArgumentRules {
    /// Compiles a tool's schema. References to other documents are never followed, and patterns run in linear time.
    pub(crate) fn compile(definition: &ToolDefinition) -> Result<Self, ErrorPayload> {
        let options = jsonschema::options().offline().with_pattern_options(PatternOptions::regex());
        // The subset means the same in every draft, and an older one's own schema is compiled in a quarter of the time.
        let in_subset = check_subset(&definition.input_schema).is_ok();
        let options = if in_subset { options.with_draft(Draft::Draft7) } else { options };
        options.build(&definition.input_schema).map(Self).map_err(|error| {
            let text = format!("the input schema of {} cannot be used: {}", definition.name, error.masked());
            ErrorPayload::new(ErrorCode::ToolNotAvailable, text).detail("kind", "input_schema")
        })
    }

    /// Brings arguments into the form handlers get, if they hold up.
    pub(crate) fn check(
        &self,
        definition: &ToolDefinition,
        arguments: Object,
        secrets: &KnownSecrets,
    ) -> Result<Object, ErrorPayload> {
        let schema = &definition.input_schema;
        let mut arguments = Value::Object(arguments);
        unwrap(schema, &mut arguments);
        normalise(schema, &mut arguments);
        // Errors are costlier to collect than to exclude.
        if self.0.is_valid(&arguments) {
            return match arguments {
                Value::Object(arguments) => Ok(arguments),
                _ => Ok(Object::new()),
            };
        }
        let mut errors = self.0.iter_errors(&arguments);
        let told = errors.by_ref().take(MAX_PROBLEMS);
        let shown: Vec<_> = told.flat_map(|error| problems(schema, &error, secrets)).collect();
        let more = errors.take(MAX_COUNTED).count();
        // Texts are cut in it: what is left of a secret would not be recognised any more.
        secrets.redact_json(&mut arguments);
        Err(payload(&definition.name, &shown, more, example(schema, &arguments)))
    }
}

fn payload(tool: &str, shown: &[ArgumentError], more: usize, example: Option<String>) -> ErrorPayload {
    let mut text = format!("invalid arguments for {tool}: ");
    let listed: Vec<String> =
        shown.iter().map(|p| if p.path.is_empty() { p.expected.clone() } else { p.to_string() }).collect();
    text.push_str(&listed.join("; "));
    match more {
        0 => {}
        MAX_COUNTED.. => text.push_str(&format!("; and {MAX_COUNTED} more at least")),
        _ => text.push_str(&format!("; and {more} more")),
    }
    if let Some(example) = example {
        text.push_str(&format!(". As it should be: {example}"));
    }
    let details: Vec<Value> = shown.iter().map(|p| json!({"path": p.path, "expected": p.expected})).collect();
    ErrorPayload::new(ErrorCode::ValidationError, text).detail("problems", details)
}

/// Takes out nulls of optional properties (TOL-7) and spells whole numbers as integers where integers are wanted, as
/// `10.0` is a valid integer for a schema but not for a struct.
fn normalise(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
            fields.retain(|name, field| {
                !field.is_null() || is_required(name) || properties.get(name).is_none_or(takes_null)
            });
            for (name, field) in fields {
                if let Some(schema) = properties.get(name) {
                    normalise(schema, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| normalise(schema, item));
            }
        }
        Value::Number(number) if schema.get("type").is_some_and(|kind| kind == "integer") => {
            if let Some(whole) = number.as_f64().filter(|_| number.is_f64()).and_then(whole) {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

/// Within 2^53 every integer has exactly one float.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation)]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Whether null means something to a property; only then is it kept.
fn takes_null(schema: &Value) -> bool {
    let plain_type = schema.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "null");
    let listed = schema.get("enum").and_then(Value::as_array).is_some_and(|values| values.contains(&Value::Null));
    !plain_type || listed
}

fn problems(schema: &Value, error: &ValidationError<'_>, secrets: &KnownSecrets) -> Vec<ArgumentError> {
    let path = dotted(error.instance_path().as_str());
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
        ValidationErrorKind::Type { .. } => {
            let wanted = error.schema_path().as_str();
            let kind = schema.pointer(wanted).map_or_else(String::new, type_names);
            one(format!("expected {kind}, got {}", describe(error.instance(), secrets)))
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
        [] => "is unknown: no arguments are taken here".to_owned(),
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

fn echo(value: &Value, secrets: &KnownSecrets) -> String {
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
fn dotted(pointer: &str) -> String {
    pointer.split('/').skip(1).fold(String::new(), |path, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        if !path.is_empty() && step.bytes().all(|b| b.is_ascii_digit()) {
            format!("{path}[{step}]")
        } else {
            join(&path, &step)
        }
    })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
