//! A call as it should have been, made of one that did not hold up.

use agent_protocol::Object;
use serde_json::{Number, Value};

use crate::near::near_names;

/// Longer texts are cut in an example. Characters.
const TEXT: usize = 60;
/// More entries of a list are left out.
const ITEMS: usize = 2;
/// A longer example helps nobody. Bytes.
const MOST: usize = 900;

/// The arguments with everything put right that is wrong with them: what is missing is a placeholder, what is unknown is left out
/// or has the name that was probably meant. Nothing where that would be too long.
pub(super) fn example(schema: &Value, arguments: &Value) -> Option<String> {
    let text = fitted("arguments", schema, Some(arguments)).to_string();
    (text.len() <= MOST).then_some(text)
}

/// A value for this place: the given one as far as it fits.
fn fitted(name: &str, schema: &Value, given: Option<&Value>) -> Value {
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && let Some(first) = values.first()
    {
        return given.filter(|given| values.contains(given)).unwrap_or(first).clone();
    }
    match (schema.get("type").and_then(Value::as_str), given) {
        (Some("object"), _) => object(schema, given.and_then(Value::as_object)).into(),
        (Some("array"), _) => list(name, schema, given).into(),
        (Some("integer" | "number"), _) => number(schema, given),
        (Some("boolean"), Some(Value::Bool(flag))) => (*flag).into(),
        (Some("boolean"), _) => schema.get("default").filter(|flag| flag.is_boolean()).cloned().unwrap_or(true.into()),
        (Some("string"), Some(Value::String(text))) => shortened(text).into(),
        (Some("string"), Some(other @ (Value::Number(_) | Value::Bool(_)))) => other.to_string().into(),
        (Some("string"), _) => format!("<{name}>").into(),
        // A schema of somebody else's, which may want anything.
        (_, Some(given)) => given.clone(),
        (_, None) => format!("<{name}>").into(),
    }
}

fn object(schema: &Value, given: Option<&Object>) -> Object {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let takes_any = schema.get("additionalProperties") != Some(&Value::Bool(false));
        return given.filter(|_| takes_any).cloned().unwrap_or_default();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let mut meant = Object::new();
    for (name, value) in given.into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let ending = || properties.keys().find(|known| name.ends_with(&format!("_{known}"))).map(String::as_str);
        let known = || near_names(name, properties.keys().map(String::as_str)).into_iter().next().or_else(ending);
        let name = if properties.contains_key(name) { Some(name.as_str()) } else { known() };
        if let Some(name) = name
            && (properties.contains_key(name) && !meant.contains_key(name))
        {
            meant.insert(name.to_owned(), value.clone());
        }
    }
    let wanted = properties.iter().filter(|(name, _)| is_required(name) || meant.contains_key(*name));
    wanted.map(|(name, schema)| (name.clone(), fitted(name, schema, meant.get(name)))).collect()
}

fn list(name: &str, schema: &Value, given: Option<&Value>) -> Vec<Value> {
    let items = schema.get("items");
    let item = |given: Option<&Value>| match items {
        Some(schema) => fitted(name, schema, given),
        None => given.cloned().unwrap_or(Value::Null),
    };
    let wants_text = items.and_then(|items| items.get("type")).is_some_and(|kind| kind == "string");
    match given {
        Some(Value::Array(given)) => given.iter().take(ITEMS).map(|one| item(Some(one))).collect(),
        // A line of words where a list of them is wanted.
        Some(Value::String(line)) if wants_text && !line.trim().is_empty() && is_plain(line) => {
            line.split_whitespace().map(|word| shortened(word).into()).collect()
        }
        Some(one) => vec![item(Some(one))],
        None => vec![item(None)],
    }
}

/// Whether splitting at blanks gives the words that are meant.
fn is_plain(line: &str) -> bool {
    !line.contains(['\'', '"', '\\', '[', '{'])
}

fn number(schema: &Value, given: Option<&Value>) -> Value {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    let default = schema.get("default").and_then(Value::as_f64);
    let wanted = given.and_then(Value::as_f64).or(default).or(least).unwrap_or(1.0);
    let wanted = if schema.get("type").is_some_and(|kind| kind == "integer") { wanted.round() } else { wanted };
    let within = least.map_or(wanted, |least| wanted.max(least));
    let within = most.map_or(within, |most| within.min(most));
    // Within 2^53 every integer has exactly one float.
    #[allow(clippy::cast_possible_truncation)]
    if within.fract() == 0.0 && within.abs() <= 9_007_199_254_740_992.0 {
        return (within as i64).into();
    }
    Number::from_f64(within).map_or(Value::Null, Value::Number)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
