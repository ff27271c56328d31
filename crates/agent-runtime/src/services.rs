//! What every run of a runtime needs and none changes.

use std::sync::{Arc, Mutex};

use agent_protocol::{AgentDefinition, ErrorPayload};
use agent_redact::SecretPatterns;
use agent_store::{ArtifactWriter, SessionStore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::broker::Broker;
use crate::definitions::Definitions;
use crate::memory::{Extractor, Memory};
use crate::models::{Models, RunModel};
use crate::raw::RawExchanges;
use crate::redact::Redactor;
use crate::settings::RuntimeSettings;
use crate::sources::FixedPart;

/// Shared by all runs; what differs from run to run is a [`RunSpec`](crate::run_spec::RunSpec).
pub(crate) struct Services {
    pub(crate) settings: Arc<RuntimeSettings>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) artifacts: ArtifactWriter,
    /// The models that runs ask.
    pub(crate) models: Models,
    pub(crate) fixed: FixedPart,
    pub(crate) broker: Broker,
    /// The agent definitions there are.
    pub(crate) definitions: Definitions,
    pub(crate) redactor: Redactor,
    pub(crate) patterns: SecretPatterns,
    /// Where what travels to and from model servers is put, if somebody debugs (PRV-14).
    pub(crate) raw: Option<RawExchanges>,
    pub(crate) memory: Option<Memory>,
    pub(crate) extractor: Option<Extractor>,
    /// What was wrong with instruction files and skills when the last run looked at them, one line each.
    pub(crate) file_problems: Mutex<Vec<String>>,
    /// Logs that made no Task when the Tasks of a session were last opened, one line each.
    pub(crate) task_problems: Mutex<Vec<String>>,
    /// All runs at work, and work on Tasks that goes on although its call is gone.
    pub(crate) runs: TaskTracker,
    /// What goes on beside the user's runs: summaries, and finding out what to remember.
    pub(crate) background: TaskTracker,
    /// Ends all of it.
    pub(crate) stop: CancellationToken,
}

impl Services {
    /// The model that agents of this definition ask; the one of the session's own agent where it has none of its own.
    pub(crate) fn model_for(&self, definition: Option<&AgentDefinition>) -> Result<Arc<RunModel>, ErrorPayload> {
        self.models.of(definition)
    }
}
