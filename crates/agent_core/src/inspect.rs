//! Looking at what a configuration comes to, without opening or creating anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_config::{Config, Notice};
use agent_engine::Budgets;
use agent_library::AssetId;
use agent_llm::ProviderRegistry;
use agent_policy::{Facts, Grants, Verdict, Withheld, decide};
use agent_protocol::ToolDefinition;

use crate::BuildError;
use crate::adapters::Adapters;
use crate::builder::{budgets, load, registry};
use crate::edges::Edges;
use crate::settings::Settings;

/// What a look at the configuration found.
#[derive(Debug)]
pub struct ConfigReport {
    /// The file.
    pub file: PathBuf,
    /// The provider and model it names.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Where the model's server is.
    pub base_url: String,
    /// Whether that is the packaged address, which is a local Ollama's, though another protocol is spoken there.
    pub address_of_ollama: bool,
    /// The variable the key comes from, and whether it is set now; none if the server wants no key.
    pub key: Option<(String, bool)>,
    /// How the context window is shared out, with every share clamped to what fits (CFG-8).
    pub budgets: Budgets,
    /// Keys that are set but have no effect in this version.
    pub notices: Vec<Notice>,
}

/// Where the configuration is looked for, whether it exists or not.
///
/// # Errors
/// If there is neither `SOONG_AGENT_HOME` nor a home folder.
pub fn config_path() -> Result<PathBuf, BuildError> {
    Ok(Edges::look().home(None)?.join("config.toml"))
}

/// The packaged configuration to start from.
#[must_use]
pub fn config_template() -> &'static str {
    AssetId::TemplateConfig.load().text
}

/// Checks the configuration as [`AgentRuntimeBuilder::build`](crate::AgentRuntimeBuilder::build) would, and creates nothing.
///
/// # Errors
/// Everything `build` would refuse before it opens the session store.
pub fn inspect_config(project: Option<&Path>) -> Result<ConfigReport, BuildError> {
    let edges = Edges::look();
    let loaded = load(&edges, None, None, project)?;
    let settings = Settings { config: &loaded.config, places: loaded.places.clone(), edges: &edges, database: None };
    let model = &loaded.config.model;
    let (roles, providers) = (settings.roles()?, ProviderRegistry::with_builtin());
    let mut adapters = Adapters::new(&settings, &providers, None);
    adapters.of(model, "the main model", "model.api_key_env")?;
    let memory = adapters.memory(&roles)?;
    let rules = Arc::new(settings.rules()?);
    let tools = registry(&settings, &rules, &settings.overrides(), memory.as_ref(), Vec::new())?;
    let budgets = budgets(&settings.runtime(&roles), &tools, &loaded.file)?;
    settings.secrets()?;
    Ok(ConfigReport {
        file: loaded.file,
        provider: model.provider.clone(),
        model: model.name.clone(),
        base_url: model.base_url.clone(),
        address_of_ollama: model.provider != "ollama" && model.base_url == Config::default().model.base_url,
        key: model
            .key_variable()
            .map(|name| (name.to_owned(), Edges::variable(name).is_some_and(|value| !value.is_empty()))),
        budgets,
        notices: loaded.config.not_in_effect(),
    })
}

/// A tool that exists, and what a run may do with it.
#[derive(Debug, Clone)]
pub struct ToolStatus {
    /// What the tool says of itself, `tools.overrides` included.
    pub definition: ToolDefinition,
    /// Why runs do not get it; nothing if they do (TOL-4).
    pub withheld: Option<Withheld>,
    /// Whether an ordinary call of it asks first. What touches sensitive files asks in any case.
    pub asks: bool,
}

/// Every tool there is with this configuration, by name. Creates nothing.
///
/// # Errors
/// What is wrong with the configuration.
pub fn inspect_tools(project: Option<&Path>) -> Result<Vec<ToolStatus>, BuildError> {
    let edges = Edges::look();
    let loaded = load(&edges, None, None, project)?;
    let settings = Settings { config: &loaded.config, places: loaded.places.clone(), edges: &edges, database: None };
    let rules = Arc::new(settings.rules()?);
    let (roles, providers) = (settings.roles()?, ProviderRegistry::with_builtin());
    let memory = Adapters::new(&settings, &providers, None).memory(&roles)?;
    let tools = registry(&settings, &rules, &settings.overrides(), memory.as_ref(), Vec::new())?;
    let settings = settings.runtime(&roles);
    let status = |definition: &ToolDefinition| {
        let verdict = decide(definition, &Facts::default(), &rules, &settings.policy, &Grants::new());
        ToolStatus {
            definition: definition.clone(),
            withheld: settings.tool_scope().withholds(definition),
            asks: matches!(verdict, Verdict::Ask(_)),
        }
    };
    Ok(tools.iter().map(|tool| status(tool.definition())).collect())
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
