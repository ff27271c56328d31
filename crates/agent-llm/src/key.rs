//! Keys are named in the configuration and read where they are used, each time they are used (CFG-3).

use std::fmt;
use std::sync::Arc;

use crate::ProviderError;
use crate::secret::Secret;

/// Where a key comes from: the name of an environment variable, and a way to read it that its owner hands in.
#[derive(Clone)]
pub struct KeySource {
    variable: Arc<str>,
    wanted_by: Arc<str>,
    named_by: Arc<str>,
    read: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl KeySource {
    /// `variable` is read through `read` for `wanted_by` (such as `the main model`), because the configuration key
    /// `named_by` (such as `model.api_key_env`) says so. The names end up in the message when the variable is not set.
    pub fn new(
        variable: impl Into<Arc<str>>,
        wanted_by: impl Into<Arc<str>>,
        named_by: impl Into<Arc<str>>,
        read: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { variable: variable.into(), wanted_by: wanted_by.into(), named_by: named_by.into(), read: Arc::new(read) }
    }

    /// Where a refused key came from.
    pub(crate) fn hint(&self) -> String {
        format!("The key is read from {}, which {} names.", self.variable, self.named_by)
    }

    /// The key of this moment. A variable that is empty or holds only blanks counts as not set.
    pub(crate) fn resolve(&self, provider: &str) -> Result<Secret, ProviderError> {
        let value = (self.read)().unwrap_or_default();
        match value.trim() {
            "" => Err(ProviderError::MissingKey {
                provider: provider.to_owned(),
                variable: self.variable.to_string(),
                wanted_by: self.wanted_by.to_string(),
                named_by: self.named_by.to_string(),
            }),
            key => Ok(Secret::new(key)),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySource").field("variable", &self.variable).field("named_by", &self.named_by).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(value: Option<&'static str>) -> KeySource {
        KeySource::new("OPENAI_API_KEY", "the compact model", "model_overrides.compact.api_key_env", move || {
            value.map(str::to_owned)
        })
    }

    /// CFG-3: a missing variable is reported by its name, who wanted it and which key named it.
    #[test]
    fn a_missing_variable_is_named() {
        for value in [None, Some(""), Some("  ")] {
            let error = source(value).resolve("openai").unwrap_err().to_string();
            for part in ["OPENAI_API_KEY", "the compact model", "model_overrides.compact.api_key_env"] {
                assert!(error.contains(part), "{error}");
            }
        }
        assert_eq!(source(Some(" k ")).resolve("openai").unwrap().expose(), "k");
    }

    /// CFG-3: no `Debug` output holds the key.
    #[test]
    fn a_key_is_not_debugged() {
        let source = source(Some("sk-secret"));
        let secret = source.resolve("openai").unwrap();
        assert!(!format!("{source:?}{secret:?}").contains("sk-secret"));
    }
}
