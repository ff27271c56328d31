//! Arguments that came as JSON text in a string, as some models write them: `"limit": "5"`, `"edits": "[{…}]"`.

use agent_protocol::Object;
use serde_json::Value;

/// Replaces text by the value it stands for, at every depth, where the schema takes no text there and the value is of a type it
/// takes. A string that may be meant as one is never touched.
pub(super) fn unwrap(schema: &Value, value: &mut Value) {
    if let Value::String(text) = value
        && let Some(meant) = meant(schema, text)
    {
        *value = meant;
    }
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            in_fields(properties, fields);
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| unwrap(schema, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn in_fields(properties: &Object, fields: &mut Object) {
    for (name, field) in fields {
        if let Some(schema) = properties.get(name) {
            unwrap(schema, field);
        }
    }
}

/// What a text stands for, if it cannot be meant as text.
fn meant(schema: &Value, text: &str) -> Option<Value> {
    let types: Vec<&str> = match schema.get("type")? {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if types.is_empty() || types.contains(&"string") {
        return None;
    }
    let text = text.trim();
    let parsed = match text {
        // As Python writes them.
        "True" => true.into(),
        "False" => false.into(),
        "None" => Value::Null,
        text => serde_json::from_str(text).ok()?,
    };
    let is_type = |name: &&str| match (*name, &parsed) {
        ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        // For what is optional it means that it is left out.
        (_, Value::Null) => true,
        _ => false,
    };
    types.iter().any(is_type).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn unwrapped(schema: &Value, value: Value) -> Value {
        let mut value = value;
        unwrap(schema, &mut value);
        value
    }

    /// FND-25: text is unwrapped where the schema wants something else, and it is that.
    #[test]
    fn text_is_unwrapped_where_none_is_wanted() {
        let of = |kind: &str| json!({"type": kind});
        for (kind, text, meant) in [
            ("array", "[1, \"a\"]", json!([1, "a"])),
            ("object", " {\"a\": 1} ", json!({"a": 1})),
            ("integer", "2", json!(2)),
            ("integer", "2.0", json!(2.0)),
            ("number", "-1.5e3", json!(-1500.0)),
            ("boolean", "true", json!(true)),
            ("boolean", "False", json!(false)),
            ("integer", "null", Value::Null),
        ] {
            assert_eq!(unwrapped(&of(kind), json!(text)), meant, "{kind} {text}");
        }
        for (kind, text) in [
            ("array", "ls"),
            ("array", "{}"),
            ("object", "[]"),
            ("integer", "2.5"),
            ("integer", "two"),
            ("boolean", "1"),
            ("boolean", "yes"),
            ("string", "[1]"),
            ("string", "true"),
            ("number", ""),
            ("array", "[1"),
        ] {
            assert_eq!(unwrapped(&of(kind), json!(text)), json!(text), "{kind} {text}");
        }
        for schema in [json!({}), json!({"type": ["string", "array"]}), json!({"enum": [1]}), json!(true)] {
            assert_eq!(unwrapped(&schema, json!("[1]")), json!("[1]"), "{schema}");
        }
        assert_eq!(unwrapped(&json!({"type": ["array", "null"]}), json!("[1]")), json!([1]));
        let nested = json!({"type": "array", "items": {"type": "object", "properties": {
            "all": {"type": "boolean"}, "old": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}},
        }}});
        assert_eq!(
            unwrapped(&nested, json!(r#"["{\"all\":\"true\",\"old\":\"true\",\"lines\":\"[\\\"1\\\",2]\"}"]"#)),
            json!([{"all": true, "old": "true", "lines": [1, 2]}])
        );
    }

    /// A schema, and a value that it takes.
    fn pairs() -> impl Strategy<Value = (Value, Value)> {
        let leaf = prop_oneof![
            "\\PC{0,8}".prop_map(|text| (json!({"type": "string"}), json!(text))),
            Just((json!({"type": "string"}), json!("[1, 2]"))),
            Just((json!({"type": "string"}), json!("true"))),
            any::<i64>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
            (-1e6..1e6).prop_map(|number| (json!({"type": "number"}), json!(number))),
            any::<bool>().prop_map(|flag| (json!({"type": "boolean"}), json!(flag))),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                (inner.clone(), 0usize..4).prop_map(|((schema, value), count)| {
                    (json!({"type": "array", "items": schema}), vec![value; count].into())
                }),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|fields| {
                    let schemas: Object =
                        fields.iter().map(|(name, (schema, _))| (name.clone(), schema.clone())).collect();
                    let values: Object = fields.into_iter().map(|(name, (_, value))| (name, value)).collect();
                    (json!({"type": "object", "properties": schemas}), values.into())
                }),
            ]
        })
    }

    /// The value with anything in it that is no string written as text, as often as the choices say.
    fn wrapped(value: &Value, choices: &mut impl Iterator<Item = bool>) -> Value {
        let inner = match value {
            Value::Array(items) => items.iter().map(|item| wrapped(item, choices)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(name, field)| (name.clone(), wrapped(field, choices))).collect())
            }
            other => other.clone(),
        };
        let is_chosen = choices.next().unwrap_or_default();
        if is_chosen && !value.is_string() { inner.to_string().into() } else { inner }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        /// FND-25: whatever part of arguments comes as text, they are what they would have been; and what is right is left alone.
        #[test]
        fn wrapped_arguments_are_what_they_were((schema, value) in pairs(), choices in prop::collection::vec(any::<bool>(), 0..40)) {
            prop_assert_eq!(unwrapped(&schema, value.clone()), value.clone());
            let text = wrapped(&value, &mut choices.into_iter());
            prop_assert_eq!(unwrapped(&schema, text), value);
        }
    }
}
