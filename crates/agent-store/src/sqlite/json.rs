//! JSON columns. What is written can be read back: the parser's limit on nesting is held when writing, too.

use serde::Serialize;

use super::fault::{Fault, Outcome};

/// The deepest nesting of arrays and objects that the parser takes.
const MAX_DEPTH: usize = 127;

#[derive(Debug, thiserror::Error)]
#[error("{column} is nested deeper than {MAX_DEPTH} levels")]
struct TooDeep {
    column: &'static str,
}

/// The text of a JSON column.
pub(super) fn encode<T: Serialize + ?Sized>(column: &'static str, value: &T) -> Outcome<String> {
    let text = serde_json::to_string(value).map_err(|e| Fault::rejected("write JSON", e))?;
    if depth(&text) > MAX_DEPTH {
        return Err(Fault::rejected("write JSON", TooDeep { column }));
    }
    Ok(text)
}

/// How deep arrays and objects are nested in valid JSON.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        for (value, expected) in [
            (json!(1), 0),
            (json!("[[{"), 0),
            (json!("\"[\\"), 0),
            (json!([]), 1),
            (json!({"a\"[": [1, {"b": "]"}], "c": [[]]}), 3),
        ] {
            assert_eq!(depth(&value.to_string()), expected, "{value}");
        }
    }

    /// What is stored can be read back: exactly what the parser takes is let through.
    #[test]
    fn the_limit_is_the_parsers() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let text = encode("payload_json", &nested(MAX_DEPTH)).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        assert!(encode("payload_json", &nested(MAX_DEPTH + 1)).is_err());
        assert!(serde_json::from_str::<Value>(&format!("[{text}]")).is_err());
    }
}
