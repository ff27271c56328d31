//! Secrets in JSON values, where a name and its value are apart.

use serde_json::Value as Json;

use super::extent::Value;
use super::header::{self, Header};
use super::pair::Place;
use super::{SecretPatterns, marker, name, value};
use crate::keys::redact_keys;

/// Longer keys are no names; bytes.
const MAX_KEY: usize = 96;

impl SecretPatterns {
    /// Replaces what looks like a secret in all strings and keys; true if there was one. A string is looked at by
    /// itself and as the value of its key (of `password`, of `Cookie`; an item of a list, of the list's; `value` of
    /// what `name` or `key` beside it says; and what follows an option, of that). Numbers stay.
    pub fn redact_json(&self, value: &mut Json) -> bool {
        let mut hit = false;
        // A list of work instead of recursion: values may be nested as deep as their maker likes.
        let mut open: Vec<(Name, &mut Json)> = vec![(Name::none(), value)];
        while let Some((name, value)) = open.pop() {
            match value {
                Json::String(text) => hit |= self.redact_named(&name, text),
                Json::Array(items) => {
                    let mut before = None;
                    for item in items {
                        let option = before.take().unwrap_or(name);
                        before = item.as_str().and_then(Name::of_option);
                        open.push((option, item));
                    }
                }
                Json::Object(fields) => {
                    hit |= redact_keys(fields, |key| self.redact(key));
                    let beside = ["name", "Name", "key", "Key"].iter().find_map(|key| fields.get(*key)?.as_str());
                    let beside = beside.map(Name::of_key);
                    for (key, field) in fields.iter_mut() {
                        let is_value = key.eq_ignore_ascii_case("value");
                        let name = beside.filter(|_| is_value).unwrap_or_else(|| Name::of_key(key));
                        open.push((name, field));
                    }
                }
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
        hit
    }

    fn redact_named(&self, name: &Name, text: &mut String) -> bool {
        if let Some(found) = name.redact(text) {
            *text = found;
            return true;
        }
        let redacted = self.redact(text);
        if redacted.hit {
            *text = redacted.text.into_owned();
            return true;
        }
        false
    }
}

/// What the place of a string says about it.
#[derive(Debug, Clone, Copy)]
struct Name {
    kind: Option<name::Kind>,
    place: Place,
    header: Option<Header>,
}

impl Name {
    fn none() -> Self {
        Self { kind: None, place: Place::Plain, header: None }
    }

    fn of_key(key: &str) -> Self {
        let key = key.as_bytes();
        if key.len() > MAX_KEY {
            return Self::none();
        }
        Self { kind: name::kind(key), place: Place::Plain, header: Header::of(key) }
    }

    fn of_option(text: &str) -> Option<Self> {
        let option = text.strip_prefix('-')?;
        let kind = name::kind(option.as_bytes()).filter(|_| option.len() <= MAX_KEY)?;
        Some(Self { kind: Some(kind), place: Place::Option, header: None })
    }

    /// The text without the secret that only its name tells.
    fn redact(&self, text: &str) -> Option<String> {
        if text.starts_with('[') && marker::length(text.as_bytes()) == Some(text.len()) {
            return None;
        }
        if self.kind.is_some_and(|kind| value::is_secret(kind, self.place, &Value::of_string(text))) {
            return Some(marker::PLAIN.to_owned());
        }
        let mut cuts = Vec::new();
        let marker = |at: usize| marker::length(text.as_bytes().get(at..)?);
        header::cookies(text.as_bytes(), 0, self.header?, marker, |range| cuts.push(range));
        let mut out = text.to_owned();
        for range in cuts.iter().rev() {
            out.replace_range(range.clone(), marker::PLAIN);
        }
        (!cuts.is_empty()).then_some(out)
    }
}
