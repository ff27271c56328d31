//! Which providers there are.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::{ProviderAdapter, ProviderError, ProviderSettings, anthropic, ollama, openai};

/// Makes an adapter from settings.
pub type ProviderFactory =
    Arc<dyn Fn(ProviderSettings) -> Result<Arc<dyn ProviderAdapter>, ProviderError> + Send + Sync>;

/// Factories by the key that `model.provider` names.
#[derive(Clone, Default)]
pub struct ProviderRegistry {
    factories: BTreeMap<String, ProviderFactory>,
}

impl ProviderRegistry {
    /// A registry without any provider.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// A registry with the adapters of this crate.
    #[must_use]
    pub fn with_builtin() -> Self {
        let mut factories: BTreeMap<String, ProviderFactory> = BTreeMap::new();
        factories.insert(anthropic::KEY.to_owned(), Arc::new(anthropic::adapter));
        factories.insert(ollama::KEY.to_owned(), Arc::new(ollama::adapter));
        factories.insert(openai::KEY.to_owned(), Arc::new(openai::adapter));
        Self { factories }
    }

    /// Adds a provider.
    ///
    /// # Errors
    /// [`ProviderError::DuplicateProvider`] if the key is taken.
    pub fn register(&mut self, key: impl Into<String>, factory: ProviderFactory) -> Result<(), ProviderError> {
        let key = key.into();
        if self.factories.contains_key(&key) {
            return Err(ProviderError::DuplicateProvider { key });
        }
        self.factories.insert(key, factory);
        Ok(())
    }

    /// The keys, in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(String::as_str)
    }

    /// Builds the adapter behind a key. Opens no connection.
    ///
    /// # Errors
    /// [`ProviderError::UnknownProvider`], or what the factory finds wrong with the settings.
    pub fn build(&self, key: &str, settings: ProviderSettings) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
        self.factory(key)?(settings)
    }

    fn factory(&self, key: &str) -> Result<ProviderFactory, ProviderError> {
        self.factories.get(key).cloned().ok_or_else(|| ProviderError::UnknownProvider {
            key: key.to_owned(),
            known: self.keys().map(str::to_owned).collect(),
        })
    }
}

/// A registry that several share while it grows: what is registered through one of them, all of them find (API-5).
#[derive(Debug, Clone, Default)]
pub struct SharedProviders(Arc<RwLock<ProviderRegistry>>);

impl From<ProviderRegistry> for SharedProviders {
    fn from(registry: ProviderRegistry) -> Self {
        Self(Arc::new(RwLock::new(registry)))
    }
}

impl SharedProviders {
    /// Adds a provider, for every adapter that is built from now on.
    ///
    /// # Errors
    /// [`ProviderError::DuplicateProvider`] if the key is taken.
    pub fn register(&self, key: impl Into<String>, factory: ProviderFactory) -> Result<(), ProviderError> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).register(key, factory)
    }

    /// Builds the adapter behind a key. Opens no connection. The factory runs outside the lock, so that it may register others.
    ///
    /// # Errors
    /// As [`ProviderRegistry::build`].
    pub fn build(&self, key: &str, settings: ProviderSettings) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
        let factory = self.0.read().unwrap_or_else(PoisonError::into_inner).factory(key)?;
        factory(settings)
    }
}

impl std::fmt::Debug for ProviderRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ProviderRegistry").field(&self.factories.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use agent_protocol::{ErrorCode, ErrorPayload};

    use super::*;

    /// PRV-1: an unknown key is a `config_error` that names the known ones; a key is taken once.
    #[test]
    fn keys_are_known_or_refused() {
        let mut registry = ProviderRegistry::with_builtin();
        let settings = ProviderSettings::new("http://127.0.0.1:1");
        let error = registry.build("olama", settings.clone()).err().unwrap();
        assert_eq!(error.payload().code, ErrorCode::ConfigError);
        assert_eq!(error.to_string(), "no provider is called \"olama\"; known are anthropic, ollama, openai");
        for key in ["anthropic", "ollama", "openai"] {
            assert_eq!(registry.build(key, settings.clone()).unwrap().key(), key);
        }

        let own: ProviderFactory = Arc::new(|_| {
            Err(ProviderError::External(ErrorPayload::new(ErrorCode::UnsupportedCapability, "no tools here")))
        });
        registry.register("own", own.clone()).unwrap();
        let taken = registry.register("ollama", own).unwrap_err();
        assert_eq!(taken.payload().code, ErrorCode::ConfigError);
        let error = registry.build("own", settings).err().unwrap();
        assert_eq!(
            (error.payload().code, error.to_string().as_str()),
            (ErrorCode::UnsupportedCapability, "no tools here")
        );
    }
    /// API-5: a provider that is registered later is there for all who share the registry; its key is taken once. A factory may
    /// itself register.
    #[test]
    fn a_shared_registry_grows() {
        let shared = SharedProviders::from(ProviderRegistry::with_builtin());
        let settings = || ProviderSettings::new("http://127.0.0.1:1");
        let other = shared.clone();
        assert_eq!(other.build("own", settings()).err().unwrap().payload().code, ErrorCode::ConfigError);
        let within = shared.clone();
        let own: ProviderFactory = Arc::new(move |settings| {
            within.register("inner", Arc::new(ollama::adapter))?;
            within.build("inner", settings)
        });
        shared.register("own", Arc::clone(&own)).unwrap();
        assert_eq!(other.build("own", settings()).unwrap().key(), "ollama");
        let taken = other.register("own", own).unwrap_err();
        assert!(taken.to_string().contains("own"), "{taken}");
    }
}
