//! JSON values.

use serde_json::json;

use super::*;

#[track_caller]
fn check(mut value: serde_json::Value, expected: serde_json::Value) {
    let changed = value != expected;
    assert_eq!(patterns().redact_json(&mut value), changed, "{value}");
    assert_eq!(value, expected);
    assert!(!patterns().redact_json(&mut value), "twice: {value}");
    assert_eq!(value, expected);
}

fn key() -> String {
    "aB3dE9xY".repeat(4)
}

/// STO-10: in values, the key says what the string is.
#[test]
fn keys_name_their_values() {
    check(json!({"password": "swordfish", "user": "me"}), json!({"password": "[redacted]", "user": "me"}));
    check(json!({"api_key": key(), "id": key()}), json!({"api_key": "[redacted]", "id": key()}));
    check(json!({"password": 12345}), json!({"password": 12345}));
    check(json!({"password": {"type": "string"}}), json!({"password": {"type": "string"}}));
    check(json!({"tokens": 12, "token": "…"}), json!({"tokens": 12, "token": "…"}));
    let headers =
        json!({"Cookie": "a=bcde; e=[secret X]", "Authorization": format!("Bearer {}", key()), "x-api-key": key()});
    let shown = json!({"Cookie": "a=[redacted]; e=[secret X]", "Authorization": "Bearer [redacted]", "x-api-key": "[redacted]"});
    check(headers, shown);
    check(
        json!({"set-cookie": ["a=bcde; Path=/", "e=fghi"]}),
        json!({"set-cookie": ["a=[redacted]; Path=/", "e=[redacted]"]}),
    );
}

/// STO-10: arguments of commands, and variables as lists of names and values.
#[test]
fn lists_of_arguments_and_variables() {
    check(json!(["tool", "--password", "hunter2", "x1y2z3"]), json!(["tool", "--password", "[redacted]", "x1y2z3"]));
    check(json!(["--api-key", key()]), json!(["--api-key", "[redacted]"]));
    check(json!(["-e", "DB_PASSWORD=swordfish"]), json!(["-e", "DB_PASSWORD=[redacted]"]));
    check(json!(["password", "hunter2"]), json!(["password", "hunter2"]));
    let variables = json!([{"name": "DB_PASSWORD", "value": "swordfish"}, {"name": "MODE", "value": "swordfish"}]);
    check(variables, json!([{"name": "DB_PASSWORD", "value": "[redacted]"}, {"name": "MODE", "value": "swordfish"}]));
}

/// STO-10: strings and keys at any depth.
#[test]
fn strings_anywhere() {
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    check(
        json!({"a": [{&token: format!("x {token}")}], "n": null}),
        json!({"a": [{"[redacted github token]": "x [redacted github token]"}], "n": null}),
    );
    let mut deep = json!(token);
    for _ in 0..10_000 {
        deep = serde_json::Value::Array(vec![deep]);
    }
    assert!(patterns().redact_json(&mut deep));
    // Unwrapped by hand: dropping it in one piece would recurse.
    while let serde_json::Value::Array(items) = &mut deep {
        deep = items.pop().unwrap();
    }
    assert_eq!(deep, json!("[redacted github token]"));
}
