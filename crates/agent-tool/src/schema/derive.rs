//! Input schemas from input structs, so that what the model reads and what the code takes have one source.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// What a tool's definition says of its input.
#[derive(Debug, Clone, PartialEq)]
pub struct InputSchema {
    /// The doc comment of the type: what the tool does.
    pub description: String,
    /// The schema, with a description at each field that has a doc comment.
    pub schema: Value,
}

/// The schema of an input struct, reduced to the subset where it says the same there: no `$schema`, `title` or
/// `format`, and fields that may be null are merely optional.
///
/// What has no such form is left as it is and refused at registration.
#[must_use]
pub fn input_schema<T: JsonSchema>() -> InputSchema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    reduce(&mut schema);
    let description = match schema.as_object_mut().and_then(|schema| schema.remove("description")) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    InputSchema { description, schema }
}

fn reduce(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    for keyword in ["$schema", "title", "format"] {
        schema.remove(keyword);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    drop_null(schema);
    if let Some(items) = schema.get_mut("items") {
        reduce(items);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(reduce);
    }
}

/// `["string", "null"]` with a null default is how an optional field is derived; being absent says the same.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::subset::check_subset;
    use serde::Deserialize;
    use serde_json::json;

    /// Does it.
    /// All of it.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Input {
        /// Where.
        path: String,
        /// How often.
        #[serde(default = "three")]
        #[schemars(range(min = 1, max = 9))]
        times: u32,
        wait: Option<u64>,
        parts: Vec<Part>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Part {
        /// Its name.
        name: String,
        #[serde(default)]
        all: bool,
    }

    fn three() -> u32 {
        3
    }

    /// TOL-7: optional fields are plain, and the whole is in the subset.
    #[test]
    fn structs_become_subset_schemas() {
        let input = input_schema::<Input>();
        assert_eq!(input.description, "Does it. All of it.");
        assert_eq!(
            input.schema,
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "Where.", "type": "string"},
                    "times": {"description": "How often.", "type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                    "wait": {"type": "integer", "minimum": 0},
                    "parts": {"type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "name": {"description": "Its name.", "type": "string"},
                            "all": {"type": "boolean", "default": false},
                        },
                        "additionalProperties": false,
                        "required": ["name"],
                    }},
                },
                "additionalProperties": false,
                "required": ["path", "parts"],
            })
        );
        assert_eq!(check_subset(&input.schema), Ok(()));
    }
}
