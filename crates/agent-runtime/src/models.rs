//! The models that runs ask: the one of the configuration, and those of agent definitions that have one of their own (CFG-4).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_engine::{BudgetConfig, Compacting, Limits, ModelSettings, Price};
use agent_protocol::{AgentDefinition, ErrorPayload, ModelProfile};

use crate::model_server::ModelServer;

/// So many models of definitions are kept; a program may hand over definitions that it never registers.
const KEPT: usize = 64;

/// A model as runs ask it.
#[derive(Debug, Clone)]
pub struct RunModel {
    /// Its server.
    pub server: ModelServer,
    /// The server that summarises conversations with this model.
    pub summariser: ModelServer,
    /// Which model, and how it is asked.
    pub settings: ModelSettings,
    /// How the context window is meant to be shared out.
    pub budgets: BudgetConfig,
    /// When and how older turns are summarised.
    pub compacting: Compacting,
    /// What its tokens cost, if that is known.
    pub price: Option<Price>,
    /// How often a reply that broke off is asked for again.
    pub model_retries: u32,
}

impl RunModel {
    /// What tokens of a summary cost.
    pub(crate) fn summary_price(&self) -> Option<Price> {
        self.compacting.by.as_ref().map_or(self.price, |by| by.price)
    }

    /// Where its runs stop by themselves.
    pub(crate) fn limits(&self, limits: &Limits) -> Limits {
        Limits { price: self.price, model_retries: self.model_retries, ..limits.clone() }
    }
}

/// Knows the models behind profiles.
pub trait ModelProfiles: Send + Sync {
    /// The model of a profile; nothing if it is the one of the configuration, unchanged.
    ///
    /// # Errors
    /// What is wrong with the profile.
    fn model(&self, profile: &ModelProfile) -> Result<Option<RunModel>, ErrorPayload>;
}

/// The models of a runtime, each made once.
pub(crate) struct Models {
    main: Arc<RunModel>,
    profiles: Arc<dyn ModelProfiles>,
    made: Mutex<Vec<(ModelProfile, Arc<RunModel>)>>,
}

impl Models {
    pub(crate) fn new(main: RunModel, profiles: Arc<dyn ModelProfiles>) -> Self {
        Self { main: Arc::new(main), profiles, made: Mutex::default() }
    }

    /// The one of the session's own agent, and of all who have none of their own.
    pub(crate) fn main(&self) -> &Arc<RunModel> {
        &self.main
    }

    /// The one that agents of this definition ask. Which it is, is the definition's and the configuration's alone: no argument of a
    /// call gets here.
    pub(crate) fn of(&self, definition: Option<&AgentDefinition>) -> Result<Arc<RunModel>, ErrorPayload> {
        let Some(profile) = definition.and_then(|definition| definition.model_profile.as_ref()) else {
            return Ok(Arc::clone(&self.main));
        };
        let known = |made: &[(ModelProfile, Arc<RunModel>)]| {
            made.iter().find(|(of, _)| of == profile).map(|(_, model)| Arc::clone(model))
        };
        if let Some(model) = known(&self.made()) {
            return Ok(model);
        }
        let model = self.profiles.model(profile)?.map_or_else(|| Arc::clone(&self.main), Arc::new);
        let mut made = self.made();
        if let Some(model) = known(&made) {
            return Ok(model);
        }
        if made.len() == KEPT {
            made.remove(0);
        }
        made.push((profile.clone(), Arc::clone(&model)));
        Ok(model)
    }

    fn made(&self) -> MutexGuard<'_, Vec<(ModelProfile, Arc<RunModel>)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes their connections.
    pub(crate) async fn close(&self) {
        let made: Vec<_> = self.made().drain(..).map(|(_, model)| model).collect();
        for model in made.iter().chain([&self.main]) {
            model.server.adapter().close().await;
            model.summariser.adapter().close().await;
        }
    }
}
