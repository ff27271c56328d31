//! The connections to model servers, for every role that asks a model. Roles that one connection serves share it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_config::ModelConfig;
use agent_engine::ModelSettings;
use agent_llm::{ProviderError, SharedProviders};
use agent_runtime::{Memory, MemoryModel, ModelServer, RawExchanges, RequestGate};

use crate::settings::{Roles, Settings, model_settings};

/// The connections of every role.
pub(crate) struct RoleAdapters {
    pub(crate) main: ModelServer,
    pub(crate) summaries: ModelServer,
    /// None where memories are switched off.
    pub(crate) memory: Option<Memory>,
}

/// A connection and a model that it serves.
pub(crate) type Made = (ModelConfig, ModelServer);

/// The gates of the servers that are in use: one for each, whatever leads there. A clone has the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gates(Arc<Mutex<HashMap<String, Weak<RequestGate>>>>);

impl Gates {
    /// The one of a model's server. Where models that lead there disagree about its places, the smallest number counts.
    fn of(&self, model: &ModelConfig) -> Arc<RequestGate> {
        let places = model.effective_parallel_requests();
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates.retain(|_, gate| gate.strong_count() > 0);
        let server = model.server();
        if let Some(gate) = gates.get(&server).and_then(Weak::upgrade) {
            gate.at_most(places);
            return gate;
        }
        let gate = Arc::new(RequestGate::new(places));
        gates.insert(server, Arc::downgrade(&gate));
        gate
    }
}

/// Makes connections, each once.
pub(crate) struct Adapters<'a> {
    settings: &'a Settings<'a>,
    providers: &'a SharedProviders,
    raw: Option<&'a RawExchanges>,
    gates: &'a Gates,
    made: Vec<Made>,
}

impl<'a> Adapters<'a> {
    pub(crate) fn new(
        settings: &'a Settings<'a>,
        providers: &'a SharedProviders,
        raw: Option<&'a RawExchanges>,
        gates: &'a Gates,
    ) -> Self {
        Self { settings, providers, raw, gates, made: Vec::new() }
    }

    /// Connections that there are already.
    pub(crate) fn with(self, made: Vec<Made>) -> Self {
        Self { made, ..self }
    }

    /// Those of every role. Whoever only checks a configuration asks for the same, so that nothing is found first by a run.
    pub(crate) fn of_roles(&mut self, roles: &Roles) -> Result<RoleAdapters, ProviderError> {
        Ok(RoleAdapters { main: self.main()?, summaries: self.summaries(roles)?, memory: self.memory(roles)? })
    }

    /// The one of the main model.
    pub(crate) fn main(&mut self) -> Result<ModelServer, ProviderError> {
        self.of(&self.settings.config.model, "the main model", "model.api_key_env")
    }

    /// The one of the model that summarises.
    pub(crate) fn summaries(&mut self, roles: &Roles) -> Result<ModelServer, ProviderError> {
        self.of(&roles.compact, "the model that summarises", "compact.model_profile")
    }

    /// The one of a model. `what` and `key` name the model and the configuration's key of its secret.
    pub(crate) fn of(&mut self, model: &ModelConfig, what: &str, key: &str) -> Result<ModelServer, ProviderError> {
        // Also where the connection is there: this model may know of fewer places.
        let gate = self.gates.of(model);
        if let Some((_, server)) = self.made.iter().find(|(other, _)| model.same_adapter_as(other)) {
            return Ok(server.clone());
        }
        let mut provider = self.settings.provider(model, what, key);
        provider.raw = self.raw.map(RawExchanges::sink);
        let adapter = self.providers.build(&model.provider, provider)?;
        let server = ModelServer::new(adapter, gate);
        self.made.push((model.clone(), server.clone()));
        Ok(server)
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
    pub(crate) fn into_made(self) -> Vec<Made> {
        self.made
    }

    fn model(&mut self, model: &ModelConfig, what: &str, key: &str) -> Result<MemoryModel, ProviderError> {
        // These answer in JSON, the same way each time, unless their profile has a temperature of its own.
        let own = model.temperature != self.settings.config.model.temperature;
        let temperature = Some(if own { model.temperature } else { 0.0 });
        Ok(MemoryModel {
            server: self.of(model, what, key)?,
            settings: ModelSettings { temperature, ..model_settings(model) },
            context_window: model.context_window,
            max_output_tokens: model.max_output_tokens,
        })
    }
}
