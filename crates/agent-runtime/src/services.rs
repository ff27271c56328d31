//! What every run of a runtime needs and none changes.

use std::sync::{Arc, Mutex};

use agent_redact::SecretPatterns;
use agent_store::{ArtifactWriter, SessionStore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::broker::Broker;
use crate::definitions::Definitions;
use crate::memory::{Extractor, Memory};
use crate::raw::RawExchanges;
use crate::redact::Redactor;
use crate::run_spec::RunModel;
use crate::settings::RuntimeSettings;
use crate::sources::FixedPart;

/// Shared by all runs; what differs from run to run is a [`RunSpec`](crate::run_spec::RunSpec).
pub(crate) struct Services {
    pub(crate) settings: Arc<RuntimeSettings>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) artifacts: ArtifactWriter,
    /// The model of the session's own agent, and of all who have none of their own.
    pub(crate) main_model: Arc<RunModel>,
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
