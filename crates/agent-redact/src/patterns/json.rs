//! Secrets in JSON values, where a name and its value are apart.

use agent_protocol::Object;
use serde_json::Value as Json;

use super::extent::Value;
use super::header::{self, Header};
use super::place::Place;
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
                    let tells = fields.keys().any(|key| self.may_tell(key));
                    hit |= tells && redact_keys(fields, |key| self.redact(key));
                    let beside = name_beside_value(fields);
                    for (key, field) in fields.iter_mut() {
                        if matches!(field, Json::Null | Json::Bool(_) | Json::Number(_)) {
                            continue;
                        }
                        let beside = beside.filter(|_| is_value(key));
                        let told = || if tells { Name::of_key(key) } else { Name::none() };
                        open.push((beside.unwrap_or_else(told), field));
                    }
                }
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
        hit
    }

    /// Whether a key can say something about its value, or be a secret itself. Most cannot, and that is told with one look.
    fn may_tell(&self, key: &str) -> bool {
        let end = key.as_bytes();
        let digits = end.iter().rev().take_while(|&&byte| byte.is_ascii_digit() || byte == b'_').count();
        // The one name that is too short for a keyword.
        let is_pw = end[..end.len() - digits].last_chunk::<2>().is_some_and(|last| last.eq_ignore_ascii_case(b"pw"));
        is_pw || self.search.is_match(key)
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

fn is_value(key: &str) -> bool {
    key.eq_ignore_ascii_case("value")
}

/// What `name` or `key` says about the `value` beside it.
fn name_beside_value(fields: &Object) -> Option<Name> {
    if !fields.keys().any(|key| is_value(key)) {
        return None;
    }
    ["name", "Name", "key", "Key"].iter().find_map(|key| fields.get(*key)?.as_str()).map(Name::of_key)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// STO-10: the quick look at keys passes over none that tells something.
    #[test]
    fn keys_that_tell_are_looked_at() {
        let patterns = SecretPatterns::new().unwrap();
        let ends = [
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "passwort",
            "pass",
            "pwd",
            "pw",
            "token",
            "key",
            "secret",
            "credential",
            "credentials",
            "authorization",
            "auth",
            "secret_key_base",
            "cookie",
            "Cookie",
            "set-cookie",
            "Set-Cookie2",
            "name",
            "path",
            "value",
            "text",
            "",
        ];
        let mut told = 0;
        for begin in ["", "db", "db_", "DB-", "api", "access_", "aws.", "x-", "my", "ü"] {
            for end in ends {
                for digits in ["", "2", "_", "_1_"] {
                    for key in [format!("{begin}{end}{digits}"), format!("{begin}{end}{digits}").to_uppercase()] {
                        let name = Name::of_key(&key);
                        let tells = name.kind.is_some() || name.header.is_some() || patterns.redact(&key).hit;
                        assert!(!tells || patterns.may_tell(&key), "{key}");
                        told += usize::from(tells);
                    }
                }
            }
        }
        assert!(told > 500, "{told}");
        assert!(["turn", "request", "text", "node_id", "arguments"].iter().all(|key| !patterns.may_tell(key)));
    }
}
