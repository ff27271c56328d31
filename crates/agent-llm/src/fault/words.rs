//! Reads a server's error object in every shape that was seen: a string, an object, a list of one, flat or nested, JSON
//! inside a string inside JSON, a web page, or nothing.

use std::time::Duration;

use serde_json::Value;

use crate::redact::Redactor;
use crate::span;

/// How much of a server's words is kept, in characters.
const MAX_CHARS: usize = 500;
/// How deep errors are looked for inside errors.
const MAX_DEPTH: u8 = 4;

/// What a server said about its failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerWords {
    /// Its message, as it came; see [`ServerWords::shown`].
    pub(crate) message: String,
    /// `code`, where it is a word.
    pub(crate) code: Option<String>,
    /// `type`, or Google's `status`.
    pub(crate) kind: Option<String>,
    /// `details.error_code`.
    pub(crate) detail: Option<String>,
    /// The field of the request it is about.
    pub(crate) param: Option<String>,
    /// A status inside the object.
    pub(crate) status: Option<u16>,
    /// Tokens asked for and the limit, where the object has fields for them.
    pub(crate) tokens: Option<(u64, u64)>,
    /// How long to wait, where the object has a field for it.
    pub(crate) retry_after: Option<Duration>,
    /// Where to sign in.
    pub(crate) signin_url: Option<String>,
}

impl ServerWords {
    /// From the body of an error response.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        Self::from_text(&String::from_utf8_lossy(body))
    }

    /// From text that may be JSON.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut words = Self::default();
        let text = text.trim();
        words.read_text(text, 0);
        // JSON without a word we know is what there is to tell.
        if words.is_silent() {
            words.add_message(text);
        }
        words
    }

    fn is_silent(&self) -> bool {
        let words = [&self.code, &self.kind, &self.detail];
        self.message.is_empty() && self.status.is_none() && words.iter().all(|word| word.is_none())
    }

    /// Whether any of the three words is this one.
    pub(crate) fn says(&self, word: &str) -> bool {
        [&self.detail, &self.code, &self.kind].into_iter().flatten().any(|w| w.eq_ignore_ascii_case(word))
    }

    /// The message for people: no secrets, no markup, at most 500 characters; and whether a secret was taken out.
    pub(crate) fn shown(&self, redactor: &Redactor) -> (String, bool) {
        // Secrets first: a cut through the middle of one would hide it from the search.
        let (clean, redacted) = redactor.clean(&strip_markup(&self.message));
        let mut chars = clean.chars();
        let mut shown: String = chars.by_ref().take(MAX_CHARS).collect();
        if chars.next().is_some() {
            // Nor half a word, where others look for what they take for secrets by its shape.
            let whole = shown.trim_end_matches(|c: char| !c.is_whitespace()).len();
            if whole > 0 {
                shown.truncate(whole);
            }
            shown.push('…');
        }
        (shown, redacted)
    }

    fn read_text(&mut self, text: &str, depth: u8) {
        let may_be_json = depth < MAX_DEPTH && text.starts_with(['{', '[']);
        match may_be_json.then(|| serde_json::from_str::<Value>(text)) {
            Some(Ok(value)) => self.read(&value, depth),
            Some(Err(_)) | None => self.add_message(text),
        }
    }

    fn read(&mut self, value: &Value, depth: u8) {
        if depth >= MAX_DEPTH {
            return self.add_message(&value.to_string());
        }
        match value {
            Value::String(text) => self.read_text(text.trim(), depth + 1),
            Value::Array(list) => {
                if let Some(first) = list.first() {
                    self.read(first, depth + 1);
                }
            }
            Value::Object(object) => self.read_object(object, depth),
            Value::Null => {}
            Value::Bool(_) => {}
            Value::Number(_) => self.add_message(&value.to_string()),
        }
    }

    /// Inner objects are read first: their words are the more exact ones, and the first word wins.
    fn read_object(&mut self, object: &serde_json::Map<String, Value>, depth: u8) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(inner) = object.get("error") {
            self.read(inner, depth + 1);
        }
        // Azure's gateways put the cause into a field of its own.
        if let Some(inner) = object.get("innererror").and_then(Value::as_object) {
            self.read_object(inner, depth + 1);
        }
        match object.get("details") {
            Some(Value::Object(details)) => set(&mut self.detail, details.get("error_code")),
            // Google's list of details, one of which may be how long to wait.
            Some(Value::Array(details)) => {
                let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str());
                self.retry_after = self.retry_after.or_else(|| span::duration(delay?));
            }
            _ => {}
        }
        if let (Some(asked), Some(limit)) = (number(object, "n_prompt_tokens"), number(object, "n_ctx")) {
            self.tokens = Some((asked, limit));
        }
        for key in ["message", "detail", "error_description", "msg"] {
            match object.get(key) {
                Some(Value::String(text)) if self.message.is_empty() => self.read_text(text.trim(), depth + 1),
                Some(value @ (Value::Object(_) | Value::Array(_))) if self.message.is_empty() => {
                    self.add_message(&value.to_string());
                }
                _ => {}
            }
        }
        self.read_codes(object);
        // A gateway passes on what its upstream said.
        if let Some(raw) = object.get("metadata").and_then(|m| m.get("raw")).and_then(Value::as_str) {
            let mut upstream = Self::default();
            upstream.read_text(raw.trim(), depth + 1);
            self.add_message(&upstream.message);
            self.code = self.code.take().or(upstream.code);
            self.kind = self.kind.take().or(upstream.kind);
        }
    }

    fn read_codes(&mut self, object: &serde_json::Map<String, Value>) {
        for key in ["status_code", "code", "status"] {
            match object.get(key) {
                Some(Value::Number(n)) => self.set_status(n.as_u64()),
                Some(Value::String(s)) if s.parse::<u16>().is_ok_and(is_status) => self.set_status(s.parse().ok()),
                Some(word) if key == "code" => set(&mut self.code, Some(word)),
                Some(word) if key == "status" => set(&mut self.kind, Some(word)),
                _ => {}
            }
        }
        set(&mut self.kind, object.get("type").filter(|t| *t != "error"));
        set(&mut self.kind, object.get("__type"));
        set(&mut self.param, object.get("param"));
        set(&mut self.signin_url, object.get("signin_url"));
    }

    fn set_status(&mut self, number: Option<u64>) {
        let status = number.and_then(|n| u16::try_from(n).ok()).filter(|n| is_status(*n));
        self.status = self.status.or(status);
    }

    fn add_message(&mut self, text: &str) {
        if text.is_empty() || self.message.contains(text) {
            return;
        }
        if !self.message.is_empty() {
            self.message.push_str(": ");
        }
        self.message.push_str(text);
    }
}

fn is_status(number: u16) -> bool {
    (400..600).contains(&number)
}

fn set(place: &mut Option<String>, value: Option<&Value>) {
    if let (None, Some(text)) = (&place, value.and_then(Value::as_str).filter(|t| !t.is_empty())) {
        *place = Some(text.to_owned());
    }
}

fn number(object: &serde_json::Map<String, Value>, key: &str) -> Option<u64> {
    object.get(key).and_then(Value::as_u64)
}

/// The text of a web page; other text as it is, with blanks folded.
fn strip_markup(text: &str) -> String {
    // ASCII lower case keeps offsets.
    let lower = text.to_ascii_lowercase();
    if !["<html", "<!doctype", "<head", "<body"].iter().any(|tag| lower.contains(tag)) {
        return fold_blanks(text);
    }
    let mut plain = String::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|i| at + i) {
        plain.push_str(&text[at..open]);
        plain.push(' ');
        let hidden = ["script", "style"].iter().find(|tag| lower[open + 1..].starts_with(**tag));
        let end = match hidden {
            Some(tag) => lower[open..].find(&format!("</{tag}")).map(|i| open + i + 1),
            None => text[open..].find('>').map(|i| open + i + 1),
        };
        at = end.unwrap_or(text.len());
        if hidden.is_some() {
            at = text[at..].find('>').map_or(text.len(), |i| at + i + 1);
        }
    }
    plain.push_str(&text[at..]);
    fold_blanks(&plain)
}

fn fold_blanks(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

#[cfg(test)]
mod tests;
