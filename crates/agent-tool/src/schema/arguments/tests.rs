use super::*;
use agent_protocol::Permission;

use crate::schema::problems::MAX_ECHO;

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
    ArgumentRules::compile(&definition)?.check(&definition, arguments, &KnownSecrets::none()).map(Value::Object)
}

#[track_caller]
fn refused(arguments: Value, message: &str) {
    let error = check(arguments).unwrap_err();
    assert_eq!(error.code, ErrorCode::ValidationError);
    let (problems, example) = error.message.split_once(". As it should be: ").unwrap();
    assert_eq!(problems, format!("invalid arguments for code.try: {message}"));
    // FND-32: the call as it should have been is one that holds up.
    check(serde_json::from_str(example).unwrap()).unwrap();
}

/// TOL-3, FND-32: a tool that takes nothing says which arguments it does not take.
#[test]
fn nothing_is_taken() {
    for schema in [
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
    ] {
        let definition = ToolDefinition { input_schema: schema, ..definition() };
        let rules = ArgumentRules::compile(&definition).unwrap();
        let arguments = json!({"source": "user"}).as_object().unwrap().clone();
        let error = rules.check(&definition, arguments, &KnownSecrets::none()).unwrap_err();
        let says = "invalid arguments for code.try: `source`: is unknown: nothing is taken here. As it should be: {}";
        assert_eq!(error.message, says);
        assert_eq!(rules.check(&definition, Object::new(), &KnownSecrets::none()), Ok(Object::new()));
    }
}

/// FND-32: bad arguments come back as the call they should have been, made of what was there.
#[test]
fn the_call_as_it_should_have_been() {
    #[track_caller]
    fn example(arguments: Value, expected: Value) {
        let message = check(arguments).unwrap_err().message;
        let (_, example) = message.split_once(". As it should be: ").unwrap();
        assert_eq!(serde_json::from_str::<Value>(example).unwrap(), expected);
    }
    example(json!({}), json!({"path": "<path>"}));
    example(json!({"file_path": "a"}), json!({"path": "a"}));
    example(json!({"Path": "a", "start_line": 0}), json!({"path": "a", "start_line": 1}));
    example(
        json!({"path": "a", "start_line": "first", "mode": "c"}),
        json!({"path": "a", "start_line": 1, "mode": "a"}),
    );
    example(json!({"path": "a", "edits": {"old": "x"}}), json!({"path": "a", "edits": [{"old": "x"}]}));
    example(
        json!({"path": "a", "edits": [{"old": "x", "al": true}]}),
        json!({"path": "a", "edits": [{"old": "x", "all": true}]}),
    );
    let long = format!("{}…", "x".repeat(60));
    example(json!({"path": "x".repeat(900), "start_line": 10}), json!({"path": long, "start_line": 9}));
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
    assert!(error.message.len() < 600, "{}", error.message);
    let edits: Vec<Value> = (0..5000).map(|_| json!({"old": 1})).collect();
    let error = check(json!({"path": "a", "edits": edits})).unwrap_err();
    assert!(error.message.len() < 600, "{}", error.message);
    assert!(error.message.contains("; and 1000 more at least. As it should be: "), "{}", error.message);
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

/// FND-25: arguments that came as JSON text reach the handler as what they stand for; text that is wanted stays text.
#[test]
fn arguments_as_json_text() {
    let checked =
        check(json!({"path": "[1]", "start_line": "2", "edits": "[{\"old\": \"true\", \"all\": \"true\"}]"})).unwrap();
    assert_eq!(checked, json!({"path": "[1]", "start_line": 2, "edits": [{"old": "true", "all": true}]}));
    assert_eq!(check(json!({"path": "a", "start_line": "null"})).unwrap(), json!({"path": "a"}));
    assert_eq!(check(json!({"path": "a", "start_line": "3.0"})).unwrap(), json!({"path": "a", "start_line": 3}));
    refused(json!({"path": "a", "start_line": "many"}), "`start_line`: expected an integer, got \"many\"");
    refused(json!({"path": "a", "start_line": "99"}), "`start_line`: must be at most 9, got 99");
}

fn any_value() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-20i64..20).prop_map(Value::from),
        (-20.0..20.0).prop_map(Value::from),
        "(a|c|true|[a-z ]{0,8}|x{100})".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let name = "(path|start_line|mode|edits|old|all|paths|file|Old)";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, cases: 512, ..Default::default() })]

    /// FND-32: whatever came, the call that is named instead holds up, and costs no more than 400 tokens.
    #[test]
    fn the_named_call_holds_up(
        fields in proptest::collection::btree_map("(path|start_line|mode|edits|old|file)", any_value(), 0..6),
    ) {
        let arguments = Value::Object(fields.into_iter().collect());
        if let Err(error) = check(arguments) {
            proptest::prop_assert!(error.message.len() <= 1600, "{}", error.message);
            if let Some((_, example)) = error.message.split_once(". As it should be: ") {
                let example = serde_json::from_str(example).unwrap();
                proptest::prop_assert!(check(example).is_ok(), "{}", error.message);
            }
        }
    }
}

/// STO-10: wherever a key lies in wrong arguments, in values, in names and in the example, no piece of it is left by a cut.
#[test]
fn cuts_show_no_piece_of_a_key() {
    const KEY: &str = "sk-Zq7Jm2Xw9Lp4Rt6Bv8Ns3";
    let secrets = KnownSecrets::new([("KEY", KEY)]).unwrap();
    let definition = definition();
    let rules = ArgumentRules::compile(&definition).unwrap();
    for before in 0..2 * MAX_ECHO {
        let text = format!("{}{KEY}{}", "a".repeat(before), "z".repeat(MAX_ECHO));
        for arguments in [
            json!({"path": "a", "start_line": text}),
            json!({"path": "a", "mode": text}),
            json!({"path": text, "start_line": 0}),
            json!({"path": "a", text.as_str(): 1}),
            json!({"edits": text}),
            json!({"path": "a", "edits": [{"old": text}, {}]}),
        ] {
            let arguments = arguments.as_object().unwrap().clone();
            let error = rules.check(&definition, arguments, &secrets).unwrap_err();
            let told = secrets.redact(&serde_json::to_string(&error).unwrap()).text.into_owned();
            assert!((4..KEY.len()).all(|length| !told.contains(&KEY[..length])), "{before}: {told}");
        }
    }
}
