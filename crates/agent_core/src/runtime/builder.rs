//! Building a runtime: everything is opened, or nothing is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_code::clear_drafts;
use agent_llm::{ProviderError, ProviderFactory, ProviderRegistry, SharedProviders};
use agent_protocol::RunMode;
use agent_redact::SecretPatterns;
use agent_runtime::{PermissionCallback, Ports, RawExchanges, RunModel, Runtime, RuntimeSettings};
use agent_store::{ArtifactWriter, SessionStore, SqliteStore};
use agent_tool::{Tool, ToolRegistry};

use super::agent::AgentRuntime;
use crate::adapters::{Adapters, Gates, RoleAdapters};
use crate::config::hooks::{near_hooks, refuse_hooks};
use crate::definitions::definitions;
use crate::environment::Environment;
use crate::error::BuildError;
use crate::location::{ConfigSource, Location};
use crate::profiles::{Profiles, Sources};
use crate::registry::{budgets, registry};
use crate::task_logs::TaskLogs;

/// Builds an [`AgentRuntime`]; everything is optional (API-2).
#[derive(Default)]
pub struct AgentRuntimeBuilder {
    location: Location,
    permission: Option<Arc<dyn PermissionCallback>>,
    permission_timeout: Option<Duration>,
    providers: Option<ProviderRegistry>,
    tools: Vec<Arc<dyn Tool>>,
    debug: bool,
    short_lived: bool,
    between: Option<StoreBetween>,
}

/// What tests and measures put between a runtime and its store.
type StoreBetween = Box<dyn FnOnce(Arc<dyn SessionStore>) -> Arc<dyn SessionStore> + Send>;

impl AgentRuntimeBuilder {
    /// Where home, configuration, project and database are. Takes the place of what was said of them before.
    #[must_use]
    pub fn location(mut self, location: Location) -> Self {
        self.location = location;
        self
    }

    /// [`Location::project_dir`].
    #[must_use]
    pub fn project_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.location = self.location.project_dir(path);
        self
    }

    /// [`Location::config_path`].
    #[must_use]
    pub fn config_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.location = self.location.config_path(path);
        self
    }

    /// [`Location::config`].
    #[must_use]
    pub fn config(mut self, source: ConfigSource) -> Self {
        self.location = self.location.config(source);
        self
    }

    /// [`Location::home_dir`].
    #[must_use]
    pub fn home_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.location = self.location.home_dir(path);
        self
    }

    /// [`Location::session_db_path`].
    #[must_use]
    pub fn session_db_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.location = self.location.session_db_path(path);
        self
    }

    /// Who is asked: a closure `|request: PermissionRequest| async move { … }`, or a type that implements
    /// [`PermissionCallback`]. Without one everything that would ask is denied.
    #[must_use]
    pub fn permission_callback(mut self, callback: impl PermissionCallback + 'static) -> Self {
        self.permission = Some(Arc::new(callback));
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
    ) -> Result<Self, ProviderError> {
        self.providers.get_or_insert_with(ProviderRegistry::with_builtin).register(key, factory)?;
        Ok(self)
    }

    /// The tools of the embedding program, besides the built-in ones and those added with [`tool`](Self::tool).
    #[must_use]
    pub fn tool_registry(mut self, registry: &ToolRegistry) -> Self {
        self.tools.extend(registry.tools().map(Arc::clone));
        self
    }

    /// Adds a tool besides the built-in ones.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Puts something between the runtime and its store: a store that fails, or one that counts.
    #[doc(hidden)]
    #[must_use]
    pub fn store_between(
        mut self,
        between: impl FnOnce(Arc<dyn SessionStore>) -> Arc<dyn SessionStore> + Send + 'static,
    ) -> Self {
        self.between = Some(Box::new(between));
        self
    }

    /// Opens everything. Checks come first: what is wrong with configuration, provider or tools is said before anything
    /// is created.
    ///
    /// # Errors
    /// [`BuildError`] says what is wrong and what to do. A half-open runtime is never returned.
    pub async fn build(self) -> Result<AgentRuntime, BuildError> {
        let loaded = Arc::new(self.location.load(Environment::look())?);
        refuse_hooks(&loaded.config, &loaded.places.home)?;
        let near_hooks = near_hooks(&loaded.config, &loaded.places.home).into();
        let settings = loaded.settings();
        let providers = SharedProviders::from(self.providers.unwrap_or_else(ProviderRegistry::with_builtin));
        let raw = self.debug.then(RawExchanges::new);
        let roles = settings.roles()?;
        let gates = Gates::default();
        let mut adapters = Adapters::new(&settings, &providers, raw.as_ref(), &gates);
        let RoleAdapters { main, summaries, memory } = adapters.of_roles(&roles)?;
        let made = adapters.into_made();
        let rules = Arc::new(settings.rules()?);
        let overrides = settings.overrides();
        let tools = registry(&settings, &rules, &overrides, memory.as_ref(), &self.tools)?;
        let mut runtime_settings =
            RuntimeSettings { permission_timeout: self.permission_timeout, ..settings.runtime(&roles) };
        runtime_settings.compacting.at_end &= !self.short_lived;
        budgets(&runtime_settings, &tools, &loaded.origin, RunMode::Normal)?;
        let model = RunModel {
            compacting: runtime_settings.compacting.clone(),
            ..settings.run_model(&loaded.config.model, &roles, main, summaries.clone())
        };
        let sources = Sources { providers: providers.clone(), raw: raw.clone(), roles, summaries, made, gates };
        let profiles = Arc::new(Profiles::new(Arc::clone(&loaded), sources)?);
        let definitions = definitions((&loaded.places.home, &loaded.config.agents), &profiles, &tools)?;
        let secrets = profiles.secrets().clone();
        let task_logs = TaskLogs::new(&settings, secrets.clone());
        let patterns = SecretPatterns::new()?;
        let store = Arc::new(SqliteStore::open(settings.store()).await?);
        clear_drafts(&settings.places.home);
        let ports = Ports {
            archive: Arc::clone(&store) as _,
            store: match self.between {
                Some(between) => between(store),
                None => store,
            },
            artifacts: ArtifactWriter::new(settings.sessions_dir()),
            model,
            profiles: Arc::clone(&profiles) as _,
            memory,
            tools,
            definitions,
            rules,
            secrets,
            patterns,
            raw,
            permission: self.permission,
        };
        let inner = Runtime::new(runtime_settings, ports);
        let (archive, overrides) = (inner.archive(), Arc::new(overrides));
        Ok(AgentRuntime { archive, inner, overrides, providers, profiles, near_hooks, task_logs })
    }
}

impl AgentRuntime {
    /// Begins to build one. Everything is optional.
    #[must_use]
    pub fn builder() -> AgentRuntimeBuilder {
        AgentRuntimeBuilder::default()
    }
}
