//! Checking the arguments of a call (TOL-3).

use agent_protocol::{ErrorCode, ErrorPayload, Object, ToolDefinition};
use agent_redact::KnownSecrets;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Value, json};

use super::{
    example::example,
    problems::{ArgumentError, problems},
    subset::check_subset,
    unwrap::unwrap,
};

/// More problems than this are only counted: a model corrects a few at a time.
const MAX_PROBLEMS: usize = 5;
/// Counting stops here.
const MAX_COUNTED: usize = 1000;

/// A compiled input schema.
#[derive(Debug)]
pub(crate) struct ArgumentRules(Validator);

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
        let shown: Vec<_> = told.flat_map(|error| problems(schema, &arguments, &error, secrets)).collect();
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

#[cfg(test)]
mod tests;
