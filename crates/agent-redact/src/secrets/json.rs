//! Known secrets in JSON values.

use serde_json::Value;

use super::KnownSecrets;
use crate::keys::redact_keys;

impl KnownSecrets {
    /// Replaces every known value in all strings and keys; true if there was one. Unlike redacting the text of a JSON document,
    /// this cannot break it (a value of digits may stand there as a number; numbers stay).
    pub fn redact_json(&self, value: &mut Value) -> bool {
        let mut hit = false;
        // A list of work instead of recursion: values may be nested as deep as their maker likes.
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => hit |= self.redact_string(text),
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => {
                    hit |= redact_keys(fields, |key| self.redact(key));
                    open.extend(fields.values_mut());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        hit
    }

    fn redact_string(&self, text: &mut String) -> bool {
        let redacted = self.redact(text);
        if redacted.hit {
            *text = redacted.text.into_owned();
            return true;
        }
        false
    }
}
