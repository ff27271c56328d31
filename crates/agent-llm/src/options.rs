//! Checks of `provider_options`. Each adapter lists what it knows; anything else is an error that names what comes
//! nearest.

use agent_protocol::Object;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::ProviderError;
use crate::reply::InlineThinking;

/// Headers that carry keys; a key is named by `api_key_env`, never written down (CFG-3).
const KEY_HEADERS: [&str; 5] = ["authorization", "api-key", "x-api-key", "proxy-authorization", "cookie"];

/// The options of one provider, while they are read.
#[derive(Clone, Copy)]
pub(crate) struct Options<'a> {
    pub(crate) provider: &'static str,
    pub(crate) values: &'a Object,
}

impl<'a> Options<'a> {
    /// Refuses keys that are not among `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ProviderError> {
        match self.values.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(ProviderError::UnknownOption {
                provider: self.provider,
                option: key.clone(),
                nearest: nearest(key, known).map(str::to_owned),
            }),
        }
    }

    pub(crate) fn boolean(&self, option: &str) -> Result<Option<bool>, ProviderError> {
        self.read(option, "must be true or false", Value::as_bool)
    }

    pub(crate) fn object(&self, option: &str) -> Result<Option<&'a Object>, ProviderError> {
        self.read(option, "must be a table", Value::as_object)
    }

    /// One of a few words.
    pub(crate) fn word(&self, option: &str, words: &[&'static str]) -> Result<Option<&'static str>, ProviderError> {
        let reason = format!("must be one of {}", words.join(", "));
        self.read(option, &reason, |value| {
            let said = value.as_str()?;
            words.iter().find(|word| **word == said).copied()
        })
    }

    /// The table `headers`: further headers of a request, none that carry keys.
    pub(crate) fn headers(&self) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        for (name, value) in self.object("headers")?.into_iter().flatten() {
            let option = format!("headers.{name}");
            if KEY_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(
                    self.invalid(&option, "carries a key; name the variable that holds it in model.api_key_env")
                );
            }
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = value.as_str().map(HeaderValue::from_str);
            let (Ok(name), Some(Ok(value))) = (name, value) else {
                return Err(self.invalid(&option, "must be a header's name and its text"));
            };
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// The table `extra_body`: further fields of a request, none of those that the adapter writes itself.
    pub(crate) fn extra_body(&self, owned: &[&str]) -> Result<Object, ProviderError> {
        let extra = self.object("extra_body")?.cloned().unwrap_or_default();
        match extra.keys().find(|key| owned.contains(&key.as_str())) {
            None => Ok(extra),
            Some(key) => Err(self.invalid(&format!("extra_body.{key}"), "is set by a setting or an option of its own")),
        }
    }

    /// Whether thoughts are looked for at the beginning of the text.
    pub(crate) fn inline_thinking(&self) -> Result<InlineThinking, ProviderError> {
        let read = |value: &Value| match (value.as_bool(), value.as_str()) {
            (Some(true), _) => Some(InlineThinking::Opened),
            (Some(false), _) => Some(InlineThinking::Off),
            (None, Some("unopened")) => Some(InlineThinking::Unopened),
            _ => None,
        };
        Ok(self.read("inline_thinking", "must be true, false or \"unopened\"", read)?.unwrap_or_default())
    }

    /// A list of texts, none of them blank.
    pub(crate) fn texts(&self, option: &str) -> Result<Vec<String>, ProviderError> {
        let text = |value: &Value| value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let list = |value: &Value| value.as_array().and_then(|list| list.iter().map(text).collect());
        Ok(self.read(option, "must be a list of texts that are not blank", list)?.unwrap_or_default())
    }

    /// The value, if the option is set.
    pub(crate) fn read<T>(
        &self,
        option: &str,
        reason: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ProviderError> {
        match self.values.get(option) {
            None => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| self.invalid(option, reason)),
        }
    }

    pub(crate) fn invalid(&self, option: &str, reason: &str) -> ProviderError {
        ProviderError::InvalidOption { provider: self.provider, option: option.to_owned(), reason: reason.to_owned() }
    }
}

/// The options of the settings, with those of a request on top; an option is replaced as a whole.
pub(crate) fn overlay(settings: &Object, request: &Object) -> Object {
    let mut both = settings.clone();
    both.extend(request.iter().map(|(key, value)| (key.clone(), value.clone())));
    both
}

/// The known word that comes nearest, if it comes near at all.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let close = |candidate: &&&str| strsim::damerau_levenshtein(word, candidate) <= (word.chars().count() / 3).max(2);
    known.iter().filter(close).min_by_key(|candidate| strsim::damerau_levenshtein(word, candidate)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_options_name_the_nearest() {
        let values = serde_json::json!({"keep_alives": 1}).as_object().unwrap().clone();
        let options = Options { provider: "ollama", values: &values };
        let error = options.only(&["keep_alive", "think"]).unwrap_err().to_string();
        assert_eq!(error, "ollama has no option \"keep_alives\"; did you mean \"keep_alive\"?");
        assert_eq!(nearest("banana", &["keep_alive", "think"]), None);
    }
}
