use super::*;
use agent_protocol::Permission;

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "code.try".to_owned(),
        description: String::new(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "start_line": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "all": {"type": "boolean"}},
                    "required": ["old"],
                    "additionalProperties": false,
                }},
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

fn check(arguments: Value) -> Result<Value, ErrorPayload> {
    let definition = definition();
    let arguments = arguments.as_object().unwrap().clone();
    ArgumentRules::compile(&definition)?.check(&definition, arguments).map(Value::Object)
}

#[track_caller]
fn refused(arguments: Value, message: &str) {
    let error = check(arguments).unwrap_err();
    assert_eq!(error.code, ErrorCode::ValidationError);
    assert_eq!(error.message, format!("invalid arguments for code.try: {message}"));
}

/// RUN-16: off-schema arguments are answered with the path and the expectation.
#[test]
fn problems_name_place_and_expectation() {
    refused(json!({}), "`path`: is required");
    refused(json!({"path": 7}), "`path`: expected a string, got 7");
    refused(json!({"path": null}), "`path`: expected a string, got null");
    refused(json!({"path": "a", "start_line": 0}), "`start_line`: must be at least 1, got 0");
    refused(json!({"path": "a", "start_line": 10}), "`start_line`: must be at most 9, got 10");
    refused(json!({"path": "a", "start_line": 1.5}), "`start_line`: expected an integer, got 1.5");
    refused(json!({"path": "a", "mode": "c"}), "`mode`: must be one of [\"a\",\"b\"], got \"c\"");
    refused(json!({"path": "a", "edits": {"old": "x"}}), "`edits`: expected an array, got an object");
    refused(json!({"path": "a", "edits": [{"old": "x"}, {}]}), "`edits[1].old`: is required");
    refused(
        json!({"path": "a", "edits": [{"old": "x", "al": true}]}),
        "`edits[0].al`: is unknown; did you mean `all`? (known: old, all)",
    );
    refused(json!({"path": "a", "command": "ls"}), "`command`: is unknown (known: path, start_line, mode, edits)");
}

/// A long value is not echoed whole, and a flood of problems is only counted.
#[test]
fn messages_are_bounded() {
    let error = check(json!({"path": ["x".repeat(10_000)], "mode": "y".repeat(10_000)})).unwrap_err();
    assert!(error.message.len() < 400, "{}", error.message);
    let edits: Vec<Value> = (0..5000).map(|_| json!({"old": 1})).collect();
    let error = check(json!({"path": "a", "edits": edits})).unwrap_err();
    assert!(error.message.len() < 400, "{}", error.message);
    assert!(error.message.ends_with("; and 1000 more at least"), "{}", error.message);
}

/// TOL-7: null for an optional parameter is absence, at every depth.
#[test]
fn null_is_absent() {
    let checked = check(json!({"path": "a", "start_line": null, "edits": [{"old": "x", "all": null}]})).unwrap();
    assert_eq!(checked, json!({"path": "a", "edits": [{"old": "x"}]}));
}

#[test]
fn whole_floats_are_integers() {
    assert_eq!(check(json!({"path": "a", "start_line": 3.0})).unwrap(), json!({"path": "a", "start_line": 3}));
}
