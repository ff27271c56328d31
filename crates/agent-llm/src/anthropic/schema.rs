//! Schemas of tools, as the API takes them.

use std::borrow::Cow;

use agent_protocol::{Object, ToolDefinition};
use serde_json::Value;

use crate::wire_form;

/// What the API refuses at the root of a schema — with the whole request.
const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// A tool's description and schema. Combinators at the root become words in the description, and the properties they name
/// properties of the root: so the model still sees all of them, and the arguments are checked against the real schema anyway.
pub(super) fn of_tool(tool: &ToolDefinition) -> (Cow<'_, str>, Cow<'_, Value>) {
    let plain = wire_form::parameters(&tool.input_schema);
    let Some(schema) = plain.as_object().filter(|schema| COMBINATORS.iter().any(|key| schema.contains_key(*key)))
    else {
        return (Cow::Borrowed(&tool.description), plain);
    };
    let mut flat = schema.clone();
    let mut said = Object::new();
    for key in COMBINATORS {
        if let Some(branches) = flat.shift_remove(key) {
            for branch in branches.as_array().into_iter().flatten() {
                adopt(&mut flat, branch, key == "allOf");
            }
            said.insert(key.to_owned(), branches);
        }
    }
    let blank = if tool.description.is_empty() { "" } else { "\n\n" };
    let description =
        format!("{}{blank}The arguments must also match this schema: {}", tool.description, Value::Object(said));
    (Cow::Owned(description), Cow::Owned(Value::Object(flat)))
}

/// Takes over the properties of a branch; what it requires only where every branch holds.
fn adopt(root: &mut Object, branch: &Value, always: bool) {
    if let (Some(Value::Object(known)), Some(more)) = (root.get_mut("properties"), branch["properties"].as_object()) {
        for (name, schema) in more {
            known.entry(name.as_str()).or_insert_with(|| schema.clone());
        }
    }
    if let (true, Some(more)) = (always, branch["required"].as_array()) {
        let required = root.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(required) = required {
            let new: Vec<Value> = more.iter().filter(|name| !required.contains(name)).cloned().collect();
            required.extend(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::tool;

    #[track_caller]
    fn check(schema: Value, expected: Value, said: &str) {
        let tool = ToolDefinition { input_schema: schema, ..tool("a.b") };
        let (description, schema) = of_tool(&tool);
        assert_eq!((description.as_ref(), schema.as_ref()), (said, &expected));
    }

    /// PRV-3: no combinator is left at the root, which the API refuses; what it said is still said.
    #[test]
    fn roots_are_flat() {
        let plain = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}});
        check(plain.clone(), plain, "does a.b");
        check(json!({}), json!({"type": "object", "properties": {}}), "does a.b");
        check(
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {}, "b": {}}}),
            "does a.b\n\nThe arguments must also match this schema: {\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
        );
        check(
            json!({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}], "required": ["z"],
                   "oneOf": [{"properties": {"a": {"type": "number"}, "b": {}}, "required": ["b"]}, 7]}),
            json!({"required": ["z", "a"], "type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
            "does a.b\n\nThe arguments must also match this schema: {\"allOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},\
             \"required\":[\"a\"]}],\"oneOf\":[{\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{}},\"required\":[\"b\"]},7]}",
        );
    }
}
