//! Building a runtime: everything is opened, or nothing is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_code::code_tools;
use agent_config::{Config, Loaded, Places};
use agent_engine::Budgets;
use agent_llm::{ProviderFactory, ProviderRegistry};
use agent_policy::PathRules;
use agent_redact::SecretPatterns;
use agent_runtime::{
    Memory, PermissionCallback, Ports, RawExchanges, Runtime, RuntimeSettings, check_budgets, core_tools,
};
use agent_store::{ArtifactWriter, SqliteStore};
use agent_tool::{Registry, Tool};

use crate::adapters::Adapters;
use crate::edges::Edges;
use crate::overrides::Overrides;
use crate::settings::Settings;
use crate::{AgentRuntime, BuildError};

/// Tokens of definitions and system blocks that only runs with skills or memories have, rounded up.
const ONLY_IN_SOME_RUNS: u64 = 250;

/// Builds an [`AgentRuntime`]; everything is optional (API-2).
#[derive(Default)]
pub struct AgentRuntimeBuilder {
    project_dir: Option<PathBuf>,
    config_path: Option<PathBuf>,
    home_dir: Option<PathBuf>,
    session_db_path: Option<PathBuf>,
    permission: Option<Arc<dyn PermissionCallback>>,
    permission_timeout: Option<Duration>,
    providers: Option<ProviderRegistry>,
    tools: Vec<Arc<dyn Tool>>,
    debug: bool,
    short_lived: bool,
}

impl AgentRuntimeBuilder {
    /// The folder to work on; a file means its folder. The current folder if not given.
    #[must_use]
    pub fn project_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.project_dir = Some(path.into());
        self
    }

    /// The user's configuration file. `<home>/config.toml` if not given; home itself stays what it is (API-14).
    #[must_use]
    pub fn config_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.config_path = Some(path.into());
        self
    }

    /// The user's home of soong-agent. `SOONG_AGENT_HOME`, else `~/.soong-agent`, if not given.
    #[must_use]
    pub fn home_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.home_dir = Some(path.into());
        self
    }

    /// The session database. `context.session_db_path` of the configuration if not given.
    #[must_use]
    pub fn session_db_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.session_db_path = Some(path.into());
        self
    }

    /// Who is asked. Without one everything that would ask is denied.
    #[must_use]
    pub fn permission_callback(mut self, callback: Arc<dyn PermissionCallback>) -> Self {
        self.permission = Some(callback);
        self
    }

    /// How long the callback may take to answer; later the call is denied. Without it, as long as it takes: questions are
    /// put one at a time, so one that is never answered holds up all others of this runtime.
    #[must_use]
    pub fn permission_timeout(mut self, patience: Duration) -> Self {
        self.permission_timeout = Some(patience);
        self
    }

    /// Keeps what travels to and from the model server as artifacts, without secrets (PRV-14). Off if not given.
    #[must_use]
    pub fn debug(mut self, debug: bool) -> Self {
        self.debug = debug;
        self
    }

    /// The program ends soon after its run: no summary is asked for as a run ends, since it would be given up halfway. The next
    /// run asks for one when it needs it. Off if not given.
    #[must_use]
    pub fn short_lived(mut self, short_lived: bool) -> Self {
        self.short_lived = short_lived;
        self
    }

    /// The providers there are. The built-in ones if not given.
    #[must_use]
    pub fn provider_registry(mut self, registry: ProviderRegistry) -> Self {
        self.providers = Some(registry);
        self
    }

    /// Adds a provider to those there are.
    ///
    /// # Errors
    /// If the key is taken.
    pub fn register_provider(
        mut self,
        key: impl Into<String>,
        factory: ProviderFactory,
    ) -> Result<Self, agent_llm::ProviderError> {
        self.providers.get_or_insert_with(ProviderRegistry::with_builtin).register(key, factory)?;
        Ok(self)
    }

    /// Adds a tool besides the built-in ones.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Opens everything. Checks come first: what is wrong with configuration, provider or tools is said before anything
    /// is created.
    ///
    /// # Errors
    /// [`BuildError`] says what is wrong and what to do. A half-open runtime is never returned.
    pub async fn build(self) -> Result<AgentRuntime, BuildError> {
        let edges = Edges::look();
        let loaded = self.load(&edges)?;
        let settings = Settings {
            config: &loaded.config,
            places: loaded.places.clone(),
            edges: &edges,
            database: self.session_db_path.as_deref().map(|path| edges.absolute(path)).transpose()?,
        };
        let providers = self.providers.unwrap_or_else(ProviderRegistry::with_builtin);
        let raw = self.debug.then(RawExchanges::new);
        let roles = settings.roles()?;
        let mut adapters = Adapters::new(&settings, &providers, raw.as_ref());
        let provider = adapters.of(&loaded.config.model, "the main model", "model.api_key_env")?;
        let summariser = adapters.of(&roles.compact, "the model that summarises", "compact.model_profile")?;
        let memory = adapters.memory(&roles)?;
        let rules = Arc::new(settings.rules()?);
        let overrides = settings.overrides();
        let tools = registry(&settings, &rules, &overrides, memory.as_ref(), self.tools)?;
        let mut runtime_settings =
            RuntimeSettings { permission_timeout: self.permission_timeout, ..settings.runtime(&roles) };
        runtime_settings.compacting.at_end &= !self.short_lived;
        budgets(&runtime_settings, &tools, &loaded.file)?;
        let secrets = settings.secrets()?;
        let patterns = SecretPatterns::new()?;
        let store = Arc::new(SqliteStore::open(settings.store()).await?);
        let ports = Ports {
            archive: Arc::clone(&store) as _,
            store,
            artifacts: ArtifactWriter::new(settings.sessions_dir()),
            provider,
            summariser,
            memory,
            tools,
            rules,
            secrets,
            patterns,
            raw,
            permission: self.permission,
        };
        let inner = Runtime::new(runtime_settings, ports);
        Ok(AgentRuntime { archive: inner.archive(), inner, overrides })
    }

    fn load(&self, edges: &Edges) -> Result<LoadedConfig, BuildError> {
        load(edges, self.home_dir.as_deref(), self.config_path.as_deref(), self.project_dir.as_deref())
    }
}

pub(crate) struct LoadedConfig {
    pub(crate) config: Config,
    pub(crate) file: PathBuf,
    pub(crate) places: Places,
}

pub(crate) fn load(
    edges: &Edges,
    home: Option<&Path>,
    config: Option<&Path>,
    project: Option<&Path>,
) -> Result<LoadedConfig, BuildError> {
    let home = edges.home(home)?;
    let file = match config {
        Some(path) => edges.absolute(path)?,
        None => home.join("config.toml"),
    };
    let project = edges.project(project)?;
    let places = Places { home, project };
    let Loaded { config, file } = agent_config::load(&file, &places)?;
    Ok(LoadedConfig { config, file, places })
}

/// All tools there are at the start: core's, then the embedding program's, each as the configuration has it.
pub(crate) fn registry(
    settings: &Settings<'_>,
    rules: &Arc<PathRules>,
    overrides: &Overrides,
    memory: Option<&Memory>,
    own: Vec<Arc<dyn Tool>>,
) -> Result<Registry<Arc<dyn Tool>>, BuildError> {
    let mut other = code_tools(settings.code_tools(Arc::clone(rules)));
    other = other.into_iter().map(|tool| overrides.apply(tool)).collect();
    other.extend(memory.map(|memory| overrides.apply(memory.recall_tool())));
    for tool in own {
        other.push(overrides.foreign(tool)?);
    }
    let with_room = |skill_tokens| {
        let core = core_tools(&settings.core_tools(skill_tokens)).into_iter().map(|tool| overrides.apply(tool));
        registered(core.chain(other.iter().cloned()))
    };
    // How much room a skill has depends on what all definitions take. Where they leave none, the budgets are refused later.
    let measured = check_budgets(&settings.runtime(&settings.roles()?), &with_room(0)?);
    with_room(measured.map_or(0, |budgets| skill_room(&budgets)))
}

/// A loaded skill may stay whatever a run has besides what these budgets were derived from (CTX-4): catalogs, and what is
/// there only with skills and memories.
fn skill_room(budgets: &Budgets) -> u64 {
    budgets.messages.saturating_sub(budgets.catalogs + ONLY_IN_SOME_RUNS) / 4
}

fn registered(tools: impl Iterator<Item = Arc<dyn Tool>>) -> Result<Registry<Arc<dyn Tool>>, BuildError> {
    let mut registry = Registry::new();
    for tool in tools {
        registry.register(tool.definition().clone(), tool.class(), tool)?;
    }
    Ok(registry)
}

pub(crate) fn budgets(
    settings: &RuntimeSettings,
    tools: &Registry<Arc<dyn Tool>>,
    file: &Path,
) -> Result<Budgets, BuildError> {
    check_budgets(settings, tools).map_err(|source| BuildError::Budget { file: file.to_owned(), source })
}
