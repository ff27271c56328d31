//! The models of agent definitions: `[model]` with a definition's profile laid over it (CFG-4).

use std::sync::{Arc, Mutex, PoisonError};

use agent_config::ModelConfig;
use agent_llm::SharedProviders;
use agent_protocol::{ErrorCode, ErrorPayload, ModelProfile};
use agent_runtime::{ModelProfiles, ModelServer, RawExchanges, RunModel, SharedSecrets};
use serde_json::Value;

use crate::adapters::{Adapters, Gates, Made};
use crate::environment::Environment;
use crate::error::BuildError;
use crate::location::Loaded;
use crate::settings::Roles;

/// What makes them.
pub(crate) struct Profiles {
    loaded: Arc<Loaded>,
    providers: SharedProviders,
    raw: Option<RawExchanges>,
    roles: Roles,
    /// The server that summarises, whoever is summarised.
    summaries: ModelServer,
    /// The connections of the roles, which a definition's model may share.
    made: Vec<Made>,
    gates: Gates,
    secrets: SharedSecrets,
    /// Variables with keys that `secrets` knows beyond those that the configuration names.
    keys: Mutex<Vec<String>>,
}

/// What it takes to make them, besides a configuration.
pub(crate) struct Sources {
    pub(crate) providers: SharedProviders,
    pub(crate) raw: Option<RawExchanges>,
    pub(crate) roles: Roles,
    pub(crate) summaries: ModelServer,
    pub(crate) made: Vec<Made>,
    pub(crate) gates: Gates,
}

impl Profiles {
    pub(crate) fn new(loaded: Arc<Loaded>, sources: Sources) -> Result<Self, BuildError> {
        let secrets = loaded.settings().secrets(&[])?.into();
        let Sources { providers, raw, roles, summaries, made, gates } = sources;
        Ok(Self { loaded, providers, raw, roles, summaries, made, gates, secrets, keys: Mutex::default() })
    }

    /// The values of the keys that are named anywhere, also by profiles that came later.
    pub(crate) fn secrets(&self) -> &SharedSecrets {
        &self.secrets
    }

    /// Whether a definition may have that profile; else what is wrong, to be read behind the field's name.
    pub(crate) fn check(&self, profile: &ModelProfile) -> Result<(), String> {
        self.of(profile).map(drop)
    }

    /// The model of a profile; nothing if it is `[model]` unchanged. Opens no connection.
    fn of(&self, profile: &ModelProfile) -> Result<Option<RunModel>, String> {
        let model = self.config(profile)?;
        let config = &self.loaded.config;
        if model == config.model {
            return Ok(None);
        }
        if config.runtime.max_cost.is_some() && model.price.is_none() {
            return Err("has no price, which runtime.max_cost needs".to_owned());
        }
        if let Some(key) = model.key_variable() {
            self.hide(key)?;
        }
        let settings = self.loaded.settings();
        let mut adapters =
            Adapters::new(&settings, &self.providers, self.raw.as_ref(), &self.gates).with(self.made.clone());
        let server = adapters.of(&model, "the model of an agent definition", "api_key_env of its model_profile");
        let server = server.map_err(|error| format!("is wrong: {error}"))?;
        Ok(Some(settings.run_model(&model, &self.roles, server, self.summaries.clone())))
    }

    fn config(&self, profile: &ModelProfile) -> Result<ModelConfig, String> {
        let profile = match profile {
            ModelProfile::Named(name) => agent_config::ModelProfile::Named(name.clone()),
            ModelProfile::Inline(keys) => {
                agent_config::ModelProfile::from_json(&Value::Object(keys.clone()), "the profile")
                    .map_err(|error| format!("is wrong: {error}"))?
            }
        };
        self.loaded.config.model_for(Some(&profile)).map_err(|error| format!("is wrong: {error}"))
    }

    /// Has a key's value replaced wherever it turns up, from now on (CFG-3).
    fn hide(&self, variable: &str) -> Result<(), String> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = keys.iter().any(|key| key == variable)
            || self.loaded.config.key_variables().iter().any(|key| key == variable);
        // One that is not set is looked for again with the next profile that names it.
        if is_known || Environment::variable(variable).is_none() {
            return Ok(());
        }
        keys.push(variable.to_owned());
        let secrets = self.loaded.settings().secrets(&keys).map_err(|error| {
            keys.pop();
            format!("names a key that cannot be hidden: {error}")
        })?;
        self.secrets.replace(secrets);
        Ok(())
    }
}

impl ModelProfiles for Profiles {
    fn model(&self, profile: &ModelProfile) -> Result<Option<RunModel>, ErrorPayload> {
        let wrong = |why| ErrorPayload::new(ErrorCode::ConfigError, format!("the definition's model_profile {why}"));
        self.of(profile).map_err(wrong)
    }
}
