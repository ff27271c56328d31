//! The part of JSON Schema that every provider takes (TOL-2, TOL-7).

use serde_json::{Map, Value};

/// Deeper schemas are refused; no model fills them in anyway.
const MAX_DEPTH: usize = 16;

/// What is outside the subset, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at `{pointer}`: {reason}")]
pub struct SubsetViolation {
    /// JSON pointer to the offending keyword or value; empty for the schema itself.
    pub pointer: String,
    /// What is wrong there, and what would be right.
    pub reason: String,
}

/// Whether an input schema keeps to: an object at the top; `type` (one of object, string, number, integer, boolean,
/// array), `description`, `enum`, `default`, `minimum`, `maximum`, `items`, `properties`, `required`,
/// `additionalProperties: false`.
///
/// # Errors
/// The first violation, in document order.
pub fn check_subset(schema: &Value) -> Result<(), SubsetViolation> {
    check(schema, "", 0)?;
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        Ok(())
    } else {
        violation("/type", "arguments are an object: the top level's type must be \"object\"")
    }
}

fn violation(pointer: &str, reason: impl Into<String>) -> Result<(), SubsetViolation> {
    Err(SubsetViolation { pointer: pointer.to_owned(), reason: reason.into() })
}

fn check(schema: &Value, at: &str, depth: usize) -> Result<(), SubsetViolation> {
    if depth > MAX_DEPTH {
        return violation(at, format!("nested deeper than {MAX_DEPTH} levels"));
    }
    let Some(schema) = schema.as_object() else { return violation(at, "a schema must be an object") };
    let Some(kind) = schema.get("type") else { return violation(at, "a schema must have a type") };
    let type_at = format!("{at}/type");
    match kind.as_str() {
        Some("object" | "string" | "number" | "integer" | "boolean" | "array") => {}
        Some(other) => return violation(&type_at, format!("unknown type \"{other}\"")),
        None => return violation(&type_at, "a type must be a single name; leave optional fields out of `required`"),
    }
    for (keyword, value) in schema {
        check_keyword(schema, keyword, value, &format!("{at}/{}", escape(keyword)), depth)?;
    }
    Ok(())
}

fn check_keyword(
    schema: &Map<String, Value>,
    keyword: &str,
    value: &Value,
    at: &str,
    depth: usize,
) -> Result<(), SubsetViolation> {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (keyword, kind) {
        ("type" | "default", _) => Ok(()),
        ("description", _) if value.is_string() => Ok(()),
        ("enum", _) if value.as_array().is_some_and(|values| !values.is_empty()) => Ok(()),
        ("minimum" | "maximum", "integer" | "number") if value.is_number() => Ok(()),
        ("items", "array") => check(value, at, depth + 1),
        ("properties", "object") => check_properties(value, at, depth),
        ("required", "object") => check_required(schema, value, at),
        ("additionalProperties", "object") if value == &Value::Bool(false) => Ok(()),
        ("additionalProperties", "object") => violation(at, "only `false` is supported"),
        ("description" | "enum" | "minimum" | "maximum", _) => violation(at, "not a usable value for this keyword"),
        ("items" | "properties" | "required" | "additionalProperties", _) => {
            violation(at, format!("does not apply to type \"{kind}\""))
        }
        _ => violation(at, format!("the keyword `{keyword}` is not supported by every provider")),
    }
}

fn check_properties(properties: &Value, at: &str, depth: usize) -> Result<(), SubsetViolation> {
    let Some(properties) = properties.as_object() else { return violation(at, "must be an object of schemas") };
    properties.iter().try_for_each(|(name, schema)| check(schema, &format!("{at}/{}", escape(name)), depth + 1))
}

fn check_required(schema: &Map<String, Value>, required: &Value, at: &str) -> Result<(), SubsetViolation> {
    let Some(required) = required.as_array() else { return violation(at, "must be a list of property names") };
    for (index, name) in required.iter().enumerate() {
        let known = name.as_str().and_then(|name| schema.get("properties")?.get(name)).is_some();
        if !known {
            return violation(&format!("{at}/{index}"), format!("{name} is not one of the properties"));
        }
    }
    Ok(())
}

/// A name as a step of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn refused(schema: Value, pointer: &str) {
        assert_eq!(check_subset(&schema).unwrap_err().pointer, pointer, "{schema}");
    }

    fn object(property: Value) -> Value {
        json!({"type": "object", "properties": {"a": property}})
    }

    /// TOL-2, TOL-7: everything the subset holds.
    #[test]
    fn the_subset_is_taken() {
        let schema = json!({
            "type": "object",
            "description": "d",
            "properties": {
                "s": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "n": {"type": "number", "minimum": 0, "maximum": 1.5},
                "i": {"type": "integer", "minimum": 1},
                "b": {"type": "boolean", "default": false},
                "l": {"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": false}},
                "o": {"type": "object"},
            },
            "required": ["s"],
            "additionalProperties": false,
        });
        assert_eq!(check_subset(&schema), Ok(()));
    }

    /// TOL-2: everything else is refused, at its place.
    #[test]
    fn the_rest_is_refused_at_its_place() {
        for keyword in
            ["oneOf", "anyOf", "allOf", "$ref", "if", "then", "patternProperties", "format", "title", "const"]
        {
            refused(object(json!({"type": "string", keyword: []})), &format!("/properties/a/{keyword}"));
        }
        refused(object(json!({"type": ["string", "null"]})), "/properties/a/type");
        refused(object(json!({"type": "null"})), "/properties/a/type");
        refused(object(json!({"enum": ["a"]})), "/properties/a");
        refused(object(json!(true)), "/properties/a");
        refused(object(json!({"type": "string", "minimum": 1})), "/properties/a/minimum");
        refused(object(json!({"type": "string", "items": {"type": "string"}})), "/properties/a/items");
        refused(object(json!({"type": "array", "items": {"type": "any"}})), "/properties/a/items/type");
        refused(json!({"type": "object", "additionalProperties": true}), "/additionalProperties");
        refused(json!({"type": "object", "properties": {"a/b~": {"not": 1}}}), "/properties/a~1b~0");
        refused(json!({"type": "object", "properties": {}, "required": ["x"]}), "/required/0");
        refused(json!({"type": "string"}), "/type");
    }

    #[test]
    fn depth_is_bounded() {
        let mut schema = json!({"type": "string"});
        for _ in 0..1000 {
            schema = json!({"type": "array", "items": schema});
        }
        assert!(check_subset(&object(schema)).unwrap_err().reason.contains("deeper"));
    }
}
