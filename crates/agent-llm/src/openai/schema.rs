//! Schemas for servers that know only part of JSON Schema and refuse a request for the rest of it. What is left out here is
//! advice to the model: arguments are checked against the whole schema all the same (PRV-3).

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::wire_form::parameters;

/// Keywords that say nothing a model needs.
const ADVICE: [&str; 4] = ["additionalProperties", "default", "$schema", "title"];

/// The schema without advice, and with a type for the items of every list.
pub(super) fn plain(schema: &Value) -> Cow<'_, Value> {
    let mut schema = parameters(schema).into_owned();
    strip(&mut schema);
    Cow::Owned(schema)
}

/// Schemas come from files that were read with a bound on their depth.
fn strip(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for keyword in ADVICE {
        fields.shift_remove(keyword);
    }
    if fields.get("type").is_some_and(|kind| kind == "array") && !fields.contains_key("items") {
        fields.insert("items".to_owned(), json!({"type": "string"}));
    }
    for (keyword, value) in fields.iter_mut() {
        match (keyword.as_str(), value) {
            // Here the keys are names, whatever they read.
            ("properties" | "$defs" | "definitions", Value::Object(named)) => named.values_mut().for_each(strip),
            ("items", inner) => strip(inner),
            ("anyOf" | "oneOf" | "allOf", Value::Array(choices)) => choices.iter_mut().for_each(strip),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PRV-3: what is left out is advice only; properties keep their names, whatever they are called.
    #[test]
    fn only_advice_is_left_out() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "title": "t", "required": ["title"],
            "properties": {
                "title": {"type": "string", "default": "x", "minLength": 1},
                "list": {"type": "array"},
                "pairs": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {"default": {"type": "integer", "minimum": 1}}}},
                "either": {"anyOf": [{"type": "string", "title": "s"}, {"type": "null"}]},
            },
        });
        assert_eq!(
            *plain(&schema),
            json!({
                "type": "object", "required": ["title"],
                "properties": {
                    "title": {"type": "string", "minLength": 1},
                    "list": {"type": "array", "items": {"type": "string"}},
                    "pairs": {"type": "array", "items": {"type": "object", "properties": {"default": {"type": "integer", "minimum": 1}}}},
                    "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
            })
        );
        assert_eq!(*plain(&json!({})), json!({"type": "object", "properties": {}}));
    }
}
