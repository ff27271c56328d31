//! What fuzz targets call: rules that must hold of any input, as assertions. Only with the feature `fuzzing`.

use serde_json::Value;

use crate::frontmatter::split;
use crate::shown::{self, FIELD};

/// Parts a text, reads its frontmatter, and shows every key and value as a catalog would.
///
/// # Panics
/// When a rule does not hold. That is what it is for.
pub fn frontmatter(text: &str) {
    let document = split(text);
    assert!(text.ends_with(document.body), "the body is the end of the text");
    let Some(block) = document.frontmatter else {
        let whole = text.strip_prefix('\u{feff}').unwrap_or(text);
        assert_eq!(document.body, whole, "without frontmatter everything is body");
        return;
    };
    assert!(!document.unclosed && document.body_line >= 3);
    assert!(block.text().len() + document.body.len() < text.len(), "fences belong to neither part");
    match block.fields() {
        Ok(fields) => fields.iter().for_each(|(key, value)| {
            one_line(key);
            walk(value);
        }),
        Err(error) => {
            assert!(error.line < document.body_line && error.column >= 1, "{error}");
            assert_eq!(shown::line(&error.message, FIELD), error.message, "messages are lines themselves");
        }
    }
}

fn walk(value: &Value) {
    match value {
        Value::String(text) => one_line(text),
        Value::Array(values) => values.iter().for_each(walk),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            one_line(key);
            walk(value);
        }),
        _ => {}
    }
}

fn one_line(text: &str) {
    let line = shown::line(text, FIELD);
    assert!(line.chars().count() <= FIELD);
    assert!(!line.contains(char::is_control) && !line.contains("</"), "{line:?}");
    assert_eq!(shown::line(&line, FIELD), line, "what is clean stays");
}
