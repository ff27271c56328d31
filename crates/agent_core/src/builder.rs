//! Building a runtime: everything is opened, or nothing is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_config::{Config, Loaded, Notice, Places};
use agent_engine::Budgets;
use agent_library::AssetId;
use agent_llm::{ProviderFactory, ProviderRegistry};
use agent_runtime::{PermissionCallback, Ports, Runtime, RuntimeSettings, check_budgets};
use agent_store::{ArtifactWriter, SqliteStore};
use agent_tools::code::code_tools;
use agent_tools::{Registry, Tool};

use crate::edges::Edges;
use crate::settings::Settings;
use crate::{AgentRuntime, BuildError};

/// Builds an [`AgentRuntime`]; everything is optional (API-2).
#[derive(Default)]
pub struct AgentRuntimeBuilder {
    project_dir: Option<PathBuf>,
    config_path: Option<PathBuf>,
    home_dir: Option<PathBuf>,
    session_db_path: Option<PathBuf>,
    permission: Option<Arc<dyn PermissionCallback>>,
    providers: Option<ProviderRegistry>,
    tools: Vec<Arc<dyn Tool>>,
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
        let model = &loaded.config.model;
        let providers = self.providers.unwrap_or_else(ProviderRegistry::with_builtin);
        let provider = providers.build(&model.provider, settings.provider())?;
        let rules = Arc::new(settings.rules()?);
        let tools = registry(code_tools(settings.code_tools(Arc::clone(&rules))).into_iter().chain(self.tools))?;
        let runtime_settings = settings.runtime();
        budgets(&runtime_settings, &tools, &loaded.file)?;
        let secrets = settings.secrets()?;
        let store = SqliteStore::open(settings.store()).await?;
        let ports = Ports {
            store: Arc::new(store),
            artifacts: ArtifactWriter::new(settings.sessions_dir()),
            provider,
            tools,
            rules,
            secrets,
            permission: self.permission,
        };
        Ok(AgentRuntime { inner: Runtime::new(runtime_settings, ports) })
    }

    fn load(&self, edges: &Edges) -> Result<LoadedConfig, BuildError> {
        load(edges, self.home_dir.as_deref(), self.config_path.as_deref(), self.project_dir.as_deref())
    }
}

struct LoadedConfig {
    config: Config,
    file: PathBuf,
    places: Places,
}

fn load(
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

fn registry(tools: impl Iterator<Item = Arc<dyn Tool>>) -> Result<Registry<Arc<dyn Tool>>, BuildError> {
    let mut registry = Registry::new();
    for tool in tools {
        registry.register(tool.definition().clone(), tool.class(), tool)?;
    }
    Ok(registry)
}

fn budgets(settings: &RuntimeSettings, tools: &Registry<Arc<dyn Tool>>, file: &Path) -> Result<Budgets, BuildError> {
    check_budgets(settings, tools).map_err(|source| BuildError::Budget { file: file.to_owned(), source })
}

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

/// Checks the configuration as [`AgentRuntimeBuilder::build`] would, and creates nothing.
///
/// # Errors
/// Everything `build` would refuse before it opens the session store.
pub fn inspect_config(project: Option<&Path>) -> Result<ConfigReport, BuildError> {
    let edges = Edges::look();
    let loaded = load(&edges, None, None, project)?;
    let settings = Settings { config: &loaded.config, places: loaded.places.clone(), edges: &edges, database: None };
    let model = &loaded.config.model;
    ProviderRegistry::with_builtin().build(&model.provider, settings.provider())?;
    let rules = Arc::new(settings.rules()?);
    let tools = registry(code_tools(settings.code_tools(rules)).into_iter())?;
    let budgets = budgets(&settings.runtime(), &tools, &loaded.file)?;
    settings.secrets()?;
    Ok(ConfigReport {
        file: loaded.file,
        provider: model.provider.clone(),
        model: model.name.clone(),
        base_url: model.base_url.clone(),
        key: model
            .key_variable()
            .map(|name| (name.to_owned(), Edges::variable(name).is_some_and(|value| !value.is_empty()))),
        budgets,
        notices: loaded.config.not_in_effect(),
    })
}
