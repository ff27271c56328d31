//! What stands for known values where somebody decides by it: found in what a call would do, and shown as nothing else.

use std::{borrow::Cow, fmt::Write};

use agent_protocol::Object;
use serde_json::Value;

use super::KnownSecrets;

impl KnownSecrets {
    /// A placeholder of a known value that a text holds: `[secret NAME]`, as [`redact`](Self::redact) writes it. What stands
    /// for no value that is known here is an ordinary text.
    #[must_use]
    pub fn placeholder_in(&self, text: &str) -> Option<&str> {
        self.0.placeholders.texts().find(|placeholder| text.contains(placeholder))
    }

    /// The same for all strings and keys of a JSON object.
    #[must_use]
    pub fn placeholder_within(&self, object: &Object) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        let mut open: Vec<&Value> = Vec::new();
        let mut fields = Some(object);
        loop {
            if let Some(object) = fields.take() {
                if let found @ Some(_) = object.keys().find_map(|key| self.placeholder_in(key)) {
                    return found;
                }
                open.extend(object.values());
            }
            match open.pop()? {
                Value::String(text) => {
                    if let found @ Some(_) = self.placeholder_in(text) {
                        return found;
                    }
                }
                Value::Array(items) => open.extend(items),
                Value::Object(object) => fields = Some(object),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// Replaces known values for somebody who decides by what is shown: no two texts become the same (PRM-6). Where the words
    /// of a placeholder stand in the text itself they become `[secret NAME as text]`, and other forms of a value than its
    /// own have a number: `[secret NAME, form 2]`.
    #[must_use]
    pub fn for_question<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() || !self.matches(text.as_bytes()).any(|_| true) && !text.contains("[secret ") {
            return Cow::Borrowed(text);
        }
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (start, end, marker) in self.matches(text.as_bytes()).filter(|(_, _, marker)| marker.secret) {
            self.0.placeholders.push_marked(&text[done..start], &mut out);
            out.push_str(marker.text.trim_end_matches(']'));
            if marker.form > 1 {
                // Writing to a string cannot fail.
                let _ = write!(out, ", form {}", marker.form);
            }
            out.push(']');
            done = end;
        }
        self.0.placeholders.push_marked(&text[done..], &mut out);
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests;
