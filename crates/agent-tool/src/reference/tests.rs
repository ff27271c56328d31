use agent_protocol::Object;
use serde_json::json;

use super::*;

/// Every part of the schema subset has its words.
#[test]
fn every_kind_of_parameter() {
    let definition = ToolDefinition {
        name: "user.x".to_owned(),
        description: "Does x.\n".to_owned(),
        input_schema: json!({
            "type": "object",
            "required": ["path", "list"],
            "properties": {
                "path": { "type": "string", "description": "Where." },
                "mode": { "type": "string", "enum": ["a", "b"], "default": "a" },
                "n": { "type": "integer", "minimum": 1, "maximum": 9 },
                "x": { "type": "number", "minimum": 0.5 },
                "y": { "type": "number", "maximum": 2 },
                "list": { "type": "array", "items": { "type": "object", "required": ["old"],
                    "properties": { "old": { "type": "string" } } } },
                "nested": { "type": "object", "properties": { "on": { "type": "boolean", "default": false } } },
            },
        }),
        permission: Permission::Write,
        tags: vec!["network".to_owned()],
        metadata: Object::new(),
    };
    let expected = "\
## user.x

writes; tags: network

Does x.

- `path` (string, required): Where.
- `mode` (\"a\" or \"b\", default \"a\")
- `n` (integer, 1 to 9, optional)
- `x` (number, at least 0.5, optional)
- `y` (number, at most 2, optional)
- `list` (list of objects, required)
  - `old` (string, required)
- `nested` (object, optional)
  - `on` (boolean, default false)
";
    assert_eq!(reference(&definition), expected);
}
