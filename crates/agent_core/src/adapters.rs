//! The connections to model servers, for every role that asks a model. Roles that one connection serves share it.

use std::sync::Arc;

use agent_config::ModelConfig;
use agent_engine::ModelSettings;
use agent_llm::{ProviderAdapter, ProviderError, SharedProviders};
use agent_runtime::{Memory, MemoryModel, RawExchanges};

use crate::settings::{Roles, Settings, model_settings};

/// The connections of every role.
pub(crate) struct RoleAdapters {
    pub(crate) main: Arc<dyn ProviderAdapter>,
    pub(crate) summaries: Arc<dyn ProviderAdapter>,
    /// None where memories are switched off.
    pub(crate) memory: Option<Memory>,
}

/// Makes connections, each once.
pub(crate) struct Adapters<'a> {
    settings: &'a Settings<'a>,
    providers: &'a SharedProviders,
    raw: Option<&'a RawExchanges>,
    made: Vec<(ModelConfig, Arc<dyn ProviderAdapter>)>,
}

impl<'a> Adapters<'a> {
    pub(crate) fn new(
        settings: &'a Settings<'a>,
        providers: &'a SharedProviders,
        raw: Option<&'a RawExchanges>,
    ) -> Self {
        Self { settings, providers, raw, made: Vec::new() }
    }

    /// Those of every role. Whoever only checks a configuration asks for the same, so that nothing is found first by a run.
    pub(crate) fn of_roles(&mut self, roles: &Roles) -> Result<RoleAdapters, ProviderError> {
        Ok(RoleAdapters { main: self.main()?, summaries: self.summaries(roles)?, memory: self.memory(roles)? })
    }

    /// The one of the main model.
    pub(crate) fn main(&mut self) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
        self.of(&self.settings.config.model, "the main model", "model.api_key_env")
    }

    /// The one of the model that summarises.
    pub(crate) fn summaries(&mut self, roles: &Roles) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
        self.of(&roles.compact, "the model that summarises", "compact.model_profile")
    }

    /// The one of a model. `what` and `key` name the model and the configuration's key of its secret.
    fn of(&mut self, model: &ModelConfig, what: &str, key: &str) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
        if let Some((_, adapter)) = self.made.iter().find(|(other, _)| model.same_adapter_as(other)) {
            return Ok(Arc::clone(adapter));
        }
        let mut provider = self.settings.provider(model, what, key);
        provider.raw = self.raw.map(RawExchanges::sink);
        let adapter = self.providers.build(&model.provider, provider)?;
        self.made.push((model.clone(), Arc::clone(&adapter)));
        Ok(adapter)
    }

    /// The memories, unless they are switched off (MEM-8).
    pub(crate) fn memory(&mut self, roles: &Roles) -> Result<Option<Memory>, ProviderError> {
        let Some(settings) = self.settings.memory() else { return Ok(None) };
        let extract = self.model(
            &roles.extract,
            "the model that finds out what is to be remembered",
            "memory.extract_model_profile",
        )?;
        let recall = self.model(&roles.recall, "the model that recalls memories", "memory.recall_model_profile")?;
        Ok(Some(Memory::new(settings, extract, recall)))
    }

    /// Those that were made, each with a model it serves.
    pub(crate) fn into_made(self) -> Vec<(ModelConfig, Arc<dyn ProviderAdapter>)> {
        self.made
    }

    fn model(&mut self, model: &ModelConfig, what: &str, key: &str) -> Result<MemoryModel, ProviderError> {
        // These answer in JSON, the same way each time, unless their profile has a temperature of its own.
        let own = model.temperature != self.settings.config.model.temperature;
        let temperature = Some(if own { model.temperature } else { 0.0 });
        Ok(MemoryModel {
            provider: self.of(model, what, key)?,
            settings: ModelSettings { temperature, ..model_settings(model) },
            context_window: model.context_window,
            max_output_tokens: model.max_output_tokens,
        })
    }
}
