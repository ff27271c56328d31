//! A second look at pieces that the strict reading refuses, so that a field which is only for show, of a type the protocol does
//! not know, loses no reply (DEC-5). It costs what it costs: servers that keep to their protocol never come here.

use agent_protocol::Object;
use serde_json::Value;

use super::halves;

/// The piece written anew: halves of characters marked (see [`halves`]) and fields of wrong types put right or left out by
/// `tidy`. None if it is no JSON object at all.
pub(crate) fn mend(json: &str, tidy: impl FnOnce(&mut Object)) -> Option<String> {
    let marked = halves::mark(json);
    let mut object: Object = serde_json::from_str(marked.as_deref().unwrap_or(json)).ok()?;
    tidy(&mut object);
    serde_json::to_string(&object).ok()
}

/// Leaves text in these fields: a number is written out, of an object its `text` or `type` is taken, anything else goes.
pub(crate) fn texts(object: &mut Object, fields: &[&str]) {
    for field in fields {
        let Some(value) = object.get_mut(*field) else { continue };
        let text = match value {
            Value::String(_) | Value::Null => continue,
            Value::Number(number) => Some(number.to_string()),
            Value::Object(inner) => {
                ["text", "type"].iter().find_map(|key| inner.get(*key)?.as_str().map(str::to_owned))
            }
            Value::Bool(_) | Value::Array(_) => None,
        };
        *value = text.map_or(Value::Null, Value::String);
    }
}

/// Leaves whole numbers in these fields; text that is one counts.
pub(crate) fn numbers(object: &mut Object, fields: &[&str]) {
    for field in fields {
        let Some(value) = object.get_mut(*field) else { continue };
        let number = match value {
            Value::Number(number) => whole(&number.to_string()),
            Value::String(text) => whole(text),
            _ => None,
        };
        *value = number.map_or(Value::Null, Value::from);
    }
}

/// A whole number, also where it is written as a fraction.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let float: f64 = text.parse().ok()?;
        // Beyond 2^53 a float is no count any more.
        (0.0..9.0e15).contains(&float).then_some(float as u64)
    })
}

/// Leaves only a switch in this field.
pub(crate) fn switch(object: &mut Object, field: &str) {
    if object.get(field).is_some_and(|value| !value.is_boolean()) {
        object.remove(field);
    }
}

/// The object in this field; anything else goes.
pub(crate) fn inner<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    if object.get(field).is_some_and(|value| !value.is_object()) {
        object.remove(field);
    }
    object.get_mut(field)?.as_object_mut()
}

/// The objects in the list in this field; anything else goes.
pub(crate) fn each<'a>(object: &'a mut Object, field: &str) -> impl Iterator<Item = &'a mut Object> {
    match object.get_mut(field) {
        Some(Value::Array(list)) => list.retain(Value::is_object),
        Some(_) => drop(object.remove(field)),
        None => {}
    }
    let list = object.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(json: &str, tidy: impl FnOnce(&mut Object), expected: Option<Value>) {
        let mended = mend(json, tidy).map(|text| serde_json::from_str::<Value>(&text).unwrap());
        assert_eq!(mended, expected, "{json}");
    }

    /// DEC-5: what has a wrong type is put right where it says something, and left out where it does not.
    #[test]
    fn wrong_types_are_put_right_or_left_out() {
        let fields = |object: &mut Object| texts(object, &["a", "b", "c", "d", "e"]);
        check(
            r#"{"a":"x","b":7,"c":{"type":"stop"},"d":[1],"e":null,"f":[2]}"#,
            fields,
            Some(json!({"a": "x", "b": "7", "c": "stop", "d": null, "e": null, "f": [2]})),
        );
        check(
            r#"{"a":5.0,"b":"6","c":-1,"d":"x","e":7}"#,
            |object| numbers(object, &["a", "b", "c", "d", "e"]),
            Some(json!({"a": 5, "b": 6, "c": null, "d": null, "e": 7})),
        );
        check(r#"{"done":null}"#, |object| switch(object, "done"), Some(json!({})));
        check(r#"{"done":true}"#, |object| switch(object, "done"), Some(json!({"done": true})));
        check(
            r#"{"l":[null,{"i":1},3],"m":"","o":"x"}"#,
            |object| {
                assert_eq!(each(object, "l").count(), 1);
                assert_eq!(each(object, "m").count(), 0);
                assert!(inner(object, "o").is_none());
            },
            Some(json!({"l": [{"i": 1}]})),
        );
        check("[1]", |_| {}, None);
        check("{broken", |_| {}, None);
        check(r#"{"a":"\ud83d"}"#, |_| {}, Some(json!({"a": "\u{1_0f83d}"})));
    }
}
