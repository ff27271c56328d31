use proptest::prelude::*;

use super::*;

fn compiled(schema: Value) -> Result<OutputSchema, ErrorPayload> {
    OutputSchema::compile(schema.as_object().unwrap())
}

fn check(schema: Value, answer: &str) -> Result<Value, Mismatch> {
    compiled(schema).unwrap().check(answer, &KnownSecrets::none())
}

/// AGT-5: what cannot be used as a schema is refused with the reason, before anything is started with it.
#[test]
fn schemas_that_cannot_be_used() {
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "array", "items": deep});
    }
    // Each part refers to the one before twice: 2^24 parts in a few hundred bytes.
    let mut parts = Object::from_iter([("p0".to_owned(), json!({"type": "string"}))]);
    for n in 1..=24 {
        let before = format!("#/$defs/p{}", n - 1);
        parts.insert(format!("p{n}"), json!({"allOf": [{"$ref": before}, {"$ref": before}]}));
    }
    for (schema, why) in [
        (json!({"type": "strin"}), "strin"),
        (json!({"type": "object", "properties": 3}), "3"),
        (json!({"type": "string", "pattern": "("}), "regex"),
        (json!({"$ref": "http://127.0.0.1:1/schema.json"}), "the schema itself"),
        (json!({"$ref": "other.json#/a"}), "the schema itself"),
        (json!({"properties": {"a": {"$ref": "#/$defs/none"}}}), "the schema itself"),
        (json!({"$ref": "#"}), "refers to itself"),
        (json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}), "refers to itself"),
        (json!({"$id": "http://127.0.0.1:1/x", "type": "object"}), "$id"),
        (json!({"$dynamicRef": "#a"}), "$dynamicRef"),
        (json!({"description": "x".repeat(20_000)}), "bytes"),
        (deep, "deeper"),
        (json!({"$defs": parts, "$ref": "#/$defs/p24"}), "parts"),
    ] {
        let error = compiled(schema.clone()).expect_err(&schema.to_string());
        assert_eq!(error.code, ErrorCode::ValidationError);
        assert!(error.message.starts_with("expected_output_schema cannot be used: "), "{}", error.message);
        assert!(error.message.contains(why), "{why}: {}", error.message);
    }
}

/// AGT-5: what a model writes as a schema is taken, also where properties have the names of keywords.
#[test]
fn schemas_that_can_be_used() {
    for (schema, answer) in [
        (json!({}), "1"),
        (
            json!({"type": "object", "properties": {"$ref": {"type": "string"}, "id": {"type": "integer"}}}),
            r#"{"id": 1}"#,
        ),
        (json!({"$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}}), "[1, 2]"),
        (json!({"enum": [{"$ref": 1}, "a"]}), "\"a\""),
        (json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "minLength": 1}), "\"a\""),
        (json!({"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^a+$"}]}), "\"aaa\""),
    ] {
        assert!(check(schema.clone(), answer).is_ok(), "{schema}");
    }
}

fn rows() -> Value {
    json!({
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "line": {"type": "integer", "minimum": 1}},
            "required": ["file"], "additionalProperties": false,
        }}},
        "required": ["rows"],
    })
}

/// AGT-5: the JSON of an answer stands alone, or in a fence with words around it.
#[test]
fn answers_are_read() {
    let right = r#"{"rows": [{"file": "a.rs", "line": 1}]}"#;
    let value: Value = serde_json::from_str(right).unwrap();
    for answer in [
        right.to_owned(),
        format!("\n {right} \n"),
        format!("```json\n{right}\n```"),
        format!("Here you are:\n```JSON\n{right}\n```\nThat is all."),
        format!("```\n{right}\n```"),
        format!("```json\n{right}"),
        format!("```rust\nfn main() {{}}\n```\nand\n```json\n{right}\n```"),
    ] {
        assert_eq!(check(rows(), &answer), Ok(value.clone()), "{answer}");
    }
    for (answer, why) in [
        ("Nothing is wrong.", "expected JSON alone"),
        ("", "expected JSON alone"),
        ("{\"rows\": [", "expected JSON alone"),
        ("```json\n{\"rows\": [\n```", "cannot be read"),
        ("```json\n1\n```\n```json\n2\n```", "several fences"),
    ] {
        let mismatch = check(rows(), answer).unwrap_err();
        assert!(mismatch.to_string().contains(why), "{mismatch}");
    }
}

/// AGT-5, ERR-6: what is wrong is told with its place and what is expected there; of many problems a few.
#[test]
fn mismatches_say_path_and_expectation() {
    for (answer, says) in [
        (json!({}), "`rows`: is required"),
        (json!({"rows": 1}), "`rows`: expected an array, got 1"),
        (json!({"rows": [{"file": "a"}, {"line": 0, "file": "b"}]}), "`rows[1].line`: must be at least 1, got 0"),
        (json!({"rows": [{"file": "a", "lin": 1}]}), "`rows[0].lin`: is unknown; did you mean `line`?"),
    ] {
        let mismatch = check(rows(), &answer.to_string()).unwrap_err();
        assert!(mismatch.to_string().contains(says), "{mismatch}");
        let error = mismatch.payload();
        assert_eq!(error.code, ErrorCode::SchemaError);
        assert!(error.message.contains(says), "{}", error.message);
        assert_eq!(error.details["problems"].as_array().unwrap().len(), mismatch.problems.len());
    }
    let many: Vec<_> = (0..50).map(|n| json!({"line": n})).collect();
    let mismatch = check(rows(), &json!({"rows": many}).to_string()).unwrap_err();
    assert_eq!((mismatch.problems.len(), mismatch.more), (5, 46));
    // Behind a reference there is no word of ours for it, but a place there is.
    let schema = json!({"$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}});
    let mismatch = check(schema, "[1, \"two\"]").unwrap_err();
    assert_eq!(mismatch.problems[0].path, "[1]");
    assert!(mismatch.problems[0].expected.contains("integer"), "{mismatch}");
}

/// STO-10: what is wrong is told without known secrets.
#[test]
fn mismatches_hold_no_secret() {
    let secrets = KnownSecrets::new([("KEY", "hunter2-hunter2")]).unwrap();
    let schema =
        compiled(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false}));
    let mismatch = schema.unwrap().check(r#"{"n": "hunter2-hunter2", "hunter2-hunter2": 1}"#, &secrets).unwrap_err();
    assert!(!mismatch.to_string().contains("hunter2"), "{mismatch}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// AGT-5: whatever an answer is, it is checked without a panic, and only JSON is taken, which the schema takes.
    #[test]
    fn any_answer(answer in "(```(json)?\n)?[\\[\\]{}\",:a-z0-9 \n`你]{0,60}(\n```)?") {
        if let Ok(value) = check(rows(), &answer) {
            prop_assert!(value["rows"].is_array());
        }
    }
}
