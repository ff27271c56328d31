//! Whether the model servers that a configuration names are there.

use std::time::Duration;

use agent_llm::{ProviderRegistry, SharedProviders};
use futures::future::join_all;

use crate::adapters::{Adapters, Gates};
use crate::environment::Environment;
use crate::error::BuildError;
use crate::location::Location;

/// How long a server may take to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// What was found where a configured model server should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    /// The provider.
    pub provider: String,
    /// Its address.
    pub base_url: String,
    /// Whether a key is configured for it.
    pub has_key: bool,
    /// What it said.
    pub reached: Reached,
}

/// What a model server said when it was asked for its list of models, without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// It answered, with this status of HTTP.
    Answered(u16),
    /// It did not, for this reason.
    Failed(String),
    /// The provider has no such question.
    NotAsked,
}

/// Asks the servers of all models that the configuration names whether they are there: each once, all at the same time, for at most
/// two seconds. No key is sent and no model is asked.
///
/// # Errors
/// What is wrong with the configuration, as [`inspect`](super::inspect) says it.
pub async fn reach_servers(location: &Location) -> Result<Vec<ServerReport>, BuildError> {
    let loaded = location.load_to_look(Environment::look())?;
    let settings = loaded.settings();
    let (roles, providers) = (settings.roles()?, SharedProviders::from(ProviderRegistry::with_builtin()));
    let gates = Gates::default();
    let mut adapters = Adapters::new(&settings, &providers, None, &gates);
    adapters.main()?;
    if loaded.config.compact.enabled {
        adapters.summaries(&roles)?;
    }
    adapters.memory(&roles)?;
    let mut servers: Vec<(ServerReport, _)> = Vec::new();
    for (model, adapter) in adapters.into_made() {
        let has_key = model.key_variable().is_some();
        let server =
            ServerReport { provider: model.provider, base_url: model.base_url, has_key, reached: Reached::NotAsked };
        // Models with settings of their own may share a server.
        if servers.iter().all(|(known, _)| *known != server) {
            servers.push((server, adapter));
        }
    }
    let asked = servers.into_iter().map(async |(server, adapter)| {
        let reached = match tokio::time::timeout(LIMIT, adapter.adapter().reach()).await {
            Ok(None) => Reached::NotAsked,
            Ok(Some(Ok(status))) => Reached::Answered(status),
            Ok(Some(Err(error))) => Reached::Failed(error.to_string()),
            Err(_) => {
                let (provider, url, limit) = (&server.provider, &server.base_url, LIMIT.as_secs());
                Reached::Failed(format!("{provider} at {url} did not answer within {limit} s"))
            }
        };
        ServerReport { reached, ..server }
    });
    Ok(join_all(asked).await)
}
