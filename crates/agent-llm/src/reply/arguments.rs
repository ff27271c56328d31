//! From argument text to an object, once, at the end of the stream (PRV-6). Nothing is repaired: a guess would run a tool
//! with arguments nobody wrote.

use agent_protocol::{Object, ToolCall};
use serde_json::{Deserializer, Value};

/// The arguments, or why the text is none.
pub(super) fn parse(text: &str) -> Result<Object, String> {
    parse_at(text, true)
}

fn parse_at(text: &str, may_be_encoded_twice: bool) -> Result<Object, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Object::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => Ok(object),
        // Some servers encode the text once more.
        Ok(Value::String(inner)) if may_be_encoded_twice => {
            parse_at(&inner, false).map_err(|_| not_an_object("a string"))
        }
        Ok(other) => Err(not_an_object(kind(&other))),
        Err(error) if error.is_eof() => Err(format!("{}: {error}", ToolCall::UNFINISHED)),
        Err(error) => doubled(text).ok_or_else(|| format!("the arguments are not valid JSON: {error}")),
    }
}

/// Two objects in a row where a proxy repeats the call, or sends its placeholder first.
fn doubled(text: &str) -> Option<Object> {
    let mut values = Deserializer::from_str(text).into_iter::<Object>();
    let (Some(Ok(first)), Some(Ok(second)), None) = (values.next(), values.next(), values.next()) else {
        return None;
    };
    (first.is_empty() || first == second).then_some(second)
}

fn not_an_object(kind: &str) -> String {
    format!("{}, not {kind}", ToolCall::NO_OBJECT)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ok(text: &str, expected: &str) {
        assert_eq!(parse(text).map(|object| Value::Object(object).to_string()), Ok(expected.to_owned()));
    }

    #[track_caller]
    fn bad(text: &str, reason: &str) {
        assert_eq!(parse(text), Err(reason.to_owned()));
    }

    /// PRV-6, STRM-12: no text is no argument; one level of double encoding is unwrapped; a proxy's echo is one call.
    #[test]
    fn what_is_an_object() {
        ok("", "{}");
        ok(" \n", "{}");
        ok("{}", "{}");
        ok(r#" {"path":"a"} "#, r#"{"path":"a"}"#);
        ok(r#""{\"path\":\"a\"}""#, r#"{"path":"a"}"#);
        ok(r#""""#, "{}");
        ok(r#"{}{"path":"a"}"#, r#"{"path":"a"}"#);
        ok(r#"{"path":"a"}{"path":"a"}"#, r#"{"path":"a"}"#);
    }

    /// PRV-6, STRM-02, STRM-11, STRM-12: everything else is not, with place and reason.
    #[test]
    fn what_is_none() {
        bad("null", "the arguments must be a JSON object, not null");
        bad("[]", "the arguments must be a JSON object, not an array");
        bad("3", "the arguments must be a JSON object, not a number");
        bad("true", "the arguments must be a JSON object, not a boolean");
        bad(r#""x""#, "the arguments must be a JSON object, not a string");
        bad(r#""\"{}\"""#, "the arguments must be a JSON object, not a string");
        bad(
            r#"{"path": "a"}{"path": "b"}"#,
            "the arguments are not valid JSON: trailing characters at line 1 column 14",
        );
        bad(r#"{"limit": 5,"#, "the arguments end too early: EOF while parsing a value at line 1 column 12");
        let deep = format!("{}{}", r#"{"a":"#.repeat(200), "}".repeat(200));
        assert!(parse(&deep).unwrap_err().contains("recursion limit"));
    }
}
