//! From the configuration to the settings of each part: the only file that knows both.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_code::{CodeLimits, CodeToolSettings, RUN_COMMAND};
use agent_config::{
    Config, MemoryCategory, ModelConfig, Places as ConfigPlaces, ProfileError, ToolPermission, UnattendedWrites,
    Verdict as Stance, WorkerPool,
};
use agent_engine::{BudgetConfig, Compacting, Limits, ModelSettings, Price, Recovery, Summariser, TokenCounter};
use agent_library::AssetId;
use agent_library::instructions::InstructionPlaces;
use agent_llm::{KeySource, ProviderSettings, ProxySettings, RetrySettings};
use agent_policy::{HostList, NetworkPolicy, PathRules, Places, PolicySettings};
use agent_protocol::{Object, ToolChoice, path_text};
use agent_redact::{KnownSecrets, SecretsError};
use agent_runtime::{
    BoardSettings, ChildSettings, ContextPlaces, CoreToolSettings, EventIds, MemorySettings, ModelServer, RunModel,
    RuntimeSettings, TaskSettings, WorkerPoolSettings, WorkerSettings, blocks, project_name,
};
use agent_store::{Clock, StoreSettings};
use agent_tool::ToolOverride;

use crate::environment::{Environment, resolved, today};
use crate::error::BuildError;
use crate::overrides::Overrides;

/// How long a commit waits for another program that has the database locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// A configuration and the folders it is about.
pub(crate) struct Settings<'c> {
    pub(crate) config: &'c Config,
    pub(crate) places: ConfigPlaces,
    pub(crate) environment: &'c Environment,
    pub(crate) database: Option<PathBuf>,
}

impl Settings<'_> {
    /// How the adapter of a model is set up. `what` and `key` name the model and the configuration's key of its secret.
    pub(crate) fn provider(&self, model: &ModelConfig, what: &str, key: &str) -> ProviderSettings {
        let mut settings = ProviderSettings::new(model.base_url.clone());
        settings.api_key = model.key_variable().map(|variable| {
            let name = variable.to_owned();
            KeySource::new(variable, what, key, move || {
                Environment::variable(&name).and_then(|value| value.into_string().ok())
            })
        });
        settings.context_window = model.context_window;
        settings.timeout = Duration::from_millis(model.timeout_ms);
        settings.retry = RetrySettings {
            max_attempts: model.retry.max_attempts,
            initial_backoff: Duration::from_millis(model.retry.initial_backoff_ms),
            max_backoff: Duration::from_millis(model.retry.max_backoff_ms),
        };
        settings.provider_options = model.provider_options.of(&model.provider).cloned().unwrap_or_default();
        settings.proxy = ProxySettings {
            https_proxy: self.environment.https_proxy.clone(),
            no_proxy: self.environment.no_proxy.clone(),
        };
        settings.allow_insecure = model.allow_insecure;
        settings
    }

    pub(crate) fn store(&self) -> StoreSettings {
        store_settings(self.database())
    }

    pub(crate) fn sessions_dir(&self) -> PathBuf {
        sessions_dir(&self.database())
    }

    fn database(&self) -> PathBuf {
        let configured = || self.config.context.session_db_path.resolve(&self.places);
        resolved(&self.database.clone().unwrap_or_else(configured))
    }

    /// The folders decisions depend on, and what is known about paths.
    pub(crate) fn rules(&self) -> Result<PathRules, BuildError> {
        let config = self.config;
        let at = |path: &agent_config::PathValue| resolved(&path.resolve(&self.places));
        let places = Places {
            project: self.places.project.clone(),
            write_roots: config.tools.allowed_write_roots.iter().map(at).collect(),
            tmp: config.tools.allow_tmp_write.then(|| resolved(&self.environment.tmp)),
            home: self.places.home.clone(),
            user_home: self.environment.user_home.as_deref().filter(|home| home.is_absolute()).map(resolved),
            memory_dir: at(&config.memory.memory_dir),
            wal_dir: at(&config.task.wal_dir),
            session_db: self.database(),
            sessions_dir: self.sessions_dir(),
            plans_dir: at(&config.plan.default_dir),
        };
        let mut rules = PathRules::new(places, &config.tools.sensitive_paths)?;
        // A sensitive folder that is a link: what it leads to is as sensitive.
        for anchor in rules.anchors().to_vec() {
            if let Some(real) = anchor.canonicalize().ok().filter(|real| *real != anchor) {
                rules.also_at(&anchor, &real);
            }
        }
        Ok(rules)
    }

    pub(crate) fn code_tools(&self, rules: Arc<PathRules>) -> CodeToolSettings {
        let tools = &self.config.tools;
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let own = tools.overrides.get(RUN_COMMAND).and_then(|change| change.timeout_ms).unwrap_or(u64::MAX);
        let timeout = |millis: u64| Duration::from_millis(millis.min(own));
        CodeToolSettings {
            rules,
            path_var: self.environment.path.clone(),
            env: self.command_env(),
            reading_is_free: self.config.permissions.readonly_default == Stance::Allow,
            limits: CodeLimits {
                result_bytes: self.result_bytes(),
                artifact_max_bytes: tools.artifact_max_bytes,
                stdout_bytes: bytes(tools.stdout_limit_bytes),
                stderr_bytes: bytes(tools.stderr_limit_bytes),
                default_timeout: timeout(tools.default_timeout_ms),
                max_timeout: timeout(tools.max_timeout_ms),
            },
        }
    }

    /// What core's own tools work with; a skill may take so many tokens.
    pub(crate) fn core_tools(&self, skill_tokens: u64) -> CoreToolSettings {
        let plan = &self.config.plan;
        CoreToolSettings {
            project: self.places.project.clone(),
            skills_dir: self.places.home.join("skills"),
            skill_tokens,
            plan_template: plan.template_name.clone(),
            plans_dir: resolved(&plan.default_dir.resolve(&self.places)),
        }
    }

    /// From what size on a result becomes an artifact: about four bytes a token, the smaller threshold counts.
    fn result_bytes(&self) -> usize {
        let by_tokens = self.config.artifact_threshold_tokens().saturating_mul(4);
        usize::try_from(self.config.tools.artifact_threshold_bytes.min(by_tokens)).unwrap_or(usize::MAX)
    }

    /// What commands get of our environment: what the allowlist names, and nothing else.
    fn command_env(&self) -> Vec<(OsString, OsString)> {
        let names = &self.config.tools.env_allowlist;
        names.iter().filter_map(|name| Some((OsString::from(name), Environment::variable(name)?))).collect()
    }

    /// Values that must never be stored or shown: those of every variable that the configuration names as holding a key, and of
    /// `more` (STO-10).
    pub(crate) fn secrets(&self, more: &[String]) -> Result<KnownSecrets, SecretsError> {
        let value = |name: &str| Environment::variable(name)?.into_string().ok();
        let mut names = self.config.key_variables();
        for name in more {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        KnownSecrets::new(
            names
                .into_iter()
                .filter_map(|name| Some((value(&name)?, name)))
                .filter(|(value, _)| !value.trim().is_empty())
                .map(|(value, name)| (name, value)),
        )
    }

    /// The models of the roles besides the main one.
    ///
    /// # Errors
    /// If a profile names no model.
    pub(crate) fn roles(&self) -> Result<Roles, ProfileError> {
        let config = self.config;
        Ok(Roles {
            compact: config.model_for(config.compact.model_profile.as_ref())?,
            extract: config.model_for(config.memory.extract_model_profile.as_ref())?,
            recall: config.model_for(config.memory.recall_model_profile.as_ref())?,
        })
    }

    /// Where instruction files and skills are (INS-1, SKL-1).
    pub(crate) fn context_places(&self) -> ContextPlaces {
        ContextPlaces {
            instructions: InstructionPlaces {
                home: Some(self.places.home.clone()),
                project: Some(self.places.project.clone()),
                user_home: self.environment.user_home.clone(),
            },
            skills_dir: self.places.home.join("skills"),
        }
    }

    /// A model as runs ask it.
    pub(crate) fn run_model(
        &self,
        model: &ModelConfig,
        roles: &Roles,
        server: ModelServer,
        summariser: ModelServer,
    ) -> RunModel {
        RunModel {
            server,
            summariser,
            settings: model_settings(model),
            budgets: self.budgets(model, roles),
            compacting: self.compacting(model, roles),
            price: model.price.as_ref().map(price),
            model_retries: model_retries(model.retry.max_attempts),
        }
    }

    /// When and how older turns of conversations with a model are summarised (CMP-5, CMP-8).
    fn compacting(&self, model: &ModelConfig, roles: &Roles) -> Compacting {
        let (compact, settings) = (&roles.compact, &self.config.compact);
        let ahead = settings.enabled && settings.auto_background;
        let several = model.effective_parallel_requests() > 1;
        let by = (!compact.same_model_as(model)).then(|| {
            let system = blocks([AssetId::DefaultCompactAgent]);
            let told: u64 = system.blocks.iter().map(|block| block.token_count).sum();
            let output = compact.max_output_tokens.min(compact.context_window / 4);
            let request = TokenCounter.text(AssetId::CompactRequest.load().text);
            Summariser {
                model: model_settings(compact),
                system: Arc::new(system),
                // Its tokenizer and its form of the text are not those that were estimated.
                room: compact.context_window.saturating_sub(output + told + request) / 4 * 3,
                max_output_tokens: output,
                price: compact.price.as_ref().map(price),
            }
        });
        Compacting {
            background: ahead && several,
            at_end: ahead && !several,
            recovery: match (settings.enabled, settings.recovery_sync) {
                (true, true) => Recovery::Summary,
                (true, false) => Recovery::End,
                (false, _) => Recovery::Slide,
            },
            request: AssetId::CompactRequest.load().text.into(),
            by,
            temperature: Some(compact.temperature),
        }
    }

    /// How memories are kept; nothing if they are switched off (MEM-8).
    pub(crate) fn memory(&self) -> Option<MemorySettings> {
        let memory = self.config.memory.enabled.then_some(&self.config.memory)?;
        Some(MemorySettings {
            home: self.places.home.clone(),
            memory_dir: memory.memory_dir.resolve(&self.places),
            project: project_name(&self.places.project),
            categories: memory.categories.iter().map(|category| kind(*category)).collect(),
            every_messages: memory.extract_every_messages.into(),
            every_tokens: memory.extract_every_tokens,
            idle: Duration::from_secs(memory.idle_seconds),
            catalog_tokens: memory.catalog_max_tokens,
            recall_top_k: usize::try_from(memory.recall_top_k).unwrap_or(usize::MAX),
            // What one call brings must leave room for the work.
            recall_tokens: memory.memory_context_token_budget.min(self.config.model.context_window / 10),
        })
    }

    pub(crate) fn runtime(&self, roles: &Roles) -> RuntimeSettings {
        let config = self.config;
        RuntimeSettings {
            project: self.places.project.clone(),
            model: model_settings(&config.model),
            budgets: self.budgets(&config.model, roles),
            places: self.context_places(),
            compacting: self.compacting(&config.model, roles),
            limits: self.limits(),
            cancel_timeout: Duration::from_millis(config.runtime.cancel_timeout_ms),
            children: ChildSettings {
                sub_definition: config.agents.default_sub_agent_definition.clone(),
                fork_definition: config.agents.default_fork_agent_definition.clone(),
                per_run: usize::try_from(config.agents.max_children_per_run).unwrap_or(usize::MAX),
                per_session: usize::try_from(config.agents.max_concurrent_children_per_session).unwrap_or(usize::MAX),
                timeout: Duration::from_millis(config.agents.default_child_timeout_ms),
                cancel_timeout: Duration::from_millis(config.agents.child_cancel_timeout_ms),
            },
            worker_pools: config.agents.worker_pools.iter().map(worker_pool).collect(),
            tasks: Arc::new(self.tasks()),
            disabled_tools: config.tools.disabled.iter().cloned().collect(),
            policy: self.policy(),
            permission_timeout: None,
            result_bytes: self.result_bytes(),
            environment: environment(&self.places.project),
            today,
        }
    }

    /// Where Tasks are kept, and how long a worker keeps a step.
    fn tasks(&self) -> TaskSettings {
        let wal_dir = resolved(&self.config.task.wal_dir.resolve(&self.places));
        let shown = wal_dir.strip_prefix(&self.places.project).unwrap_or(&wal_dir);
        TaskSettings {
            shown_dir: path_text(shown),
            step_lease: Duration::from_millis(self.config.task.step_lease_timeout_ms),
            clock: Clock::system(),
            event_ids: EventIds::unique(),
            board: BoardSettings {
                tokens: self.config.context.task_board_token_budget,
                changes: self.config.context.task_recent_changes_limit as usize,
                window: Duration::from_secs(60 * u64::from(self.config.context.task_recent_changes_window_minutes)),
            },
            wal_dir,
        }
    }

    fn policy(&self) -> PolicySettings {
        let permissions = &self.config.permissions;
        let (policy, limit) = (&permissions.network_policy, &self.config.tools.network);
        PolicySettings {
            session_grants: permissions.allow_for_session_enabled,
            readonly: stance(permissions.readonly_default),
            unattended_writes: permissions.write_without_callback == UnattendedWrites::Allow,
            network: NetworkPolicy {
                default: stance(policy.default),
                trusted: HostList::new(&policy.allowed_hosts, &policy.allowed_domains),
                limit: HostList::new(&limit.allowed_hosts, &limit.allowed_domains),
            },
        }
    }

    /// What `tools.overrides` changes. Commands have their time limit from the start of the call on ([`Self::code_tools`]).
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides::new(self.config.tools.overrides.iter().map(|(name, change)| {
            let timeout = change.timeout_ms.filter(|_| name != RUN_COMMAND).map(Duration::from_millis);
            let write = change.permission == Some(ToolPermission::Write);
            (name.clone(), ToolOverride { write, tags: change.tags.clone(), timeout })
        }))
    }

    fn budgets(&self, model: &ModelConfig, roles: &Roles) -> BudgetConfig {
        let config = self.config;
        BudgetConfig {
            context_window: model.context_window,
            max_output_tokens: model.max_output_tokens,
            reserve_output_tokens: config.context.reserve_output_tokens,
            dynamic_system: config.context.dynamic_system_budget,
            compact_reserve: config.compact.reserve_tokens,
            keep_recent: config.compact.keep_recent_tokens,
            max_summary: config.compact.max_summary_tokens.min(roles.compact.max_output_tokens),
        }
    }

    fn limits(&self) -> Limits {
        let runtime = &self.config.runtime;
        Limits {
            max_turns: runtime.max_turns,
            model_retries: model_retries(self.config.model.retry.max_attempts),
            max_tokens: runtime.max_tokens,
            max_cost: runtime.max_cost,
            price: self.config.model.price.as_ref().map(price),
            ..Limits::default()
        }
    }
}

/// The models of the roles besides the main one (CFG-4, CFG-9).
pub(crate) struct Roles {
    /// Summarises.
    pub(crate) compact: ModelConfig,
    /// Finds out what is to be remembered.
    pub(crate) extract: ModelConfig,
    /// Chooses what is brought back.
    pub(crate) recall: ModelConfig,
}

fn price(price: &agent_config::Price) -> Price {
    Price {
        input: price.input_per_million,
        cache_read: price.cache_read_per_million.unwrap_or(price.input_per_million),
        cache_write: price.cache_write_per_million.unwrap_or(price.input_per_million),
        output: price.output_per_million,
    }
}

/// How often a reply that broke off is asked for again: no oftener than `max_attempts` allows, and never oftener than RUN-23 does.
fn model_retries(max_attempts: u32) -> u32 {
    max_attempts.saturating_sub(1).min(Limits::default().model_retries)
}

pub(crate) fn model_settings(model: &ModelConfig) -> ModelSettings {
    ModelSettings {
        name: model.name.clone(),
        temperature: Some(model.temperature),
        tool_choice: ToolChoice::Auto,
        // The adapter has its options from its own settings.
        provider_options: Object::new(),
    }
}

/// How a session database is opened.
pub(crate) fn store_settings(database: PathBuf) -> StoreSettings {
    StoreSettings {
        sessions_dir: sessions_dir(&database),
        database,
        busy_timeout: BUSY_TIMEOUT,
        clock: Clock::system(),
    }
}

/// Locks and artifacts lie beside their database, since a lock that two homes look for in two places is none: `sessions` for
/// `sessions.sqlite`, `other.sqlite.sessions` for any other name.
pub(crate) fn sessions_dir(database: &Path) -> PathBuf {
    match database.file_name() {
        Some(name) if name != "sessions.sqlite" => {
            let mut name = name.to_owned();
            name.push(".sessions");
            database.with_file_name(name)
        }
        _ => database.with_file_name("sessions"),
    }
}

fn worker_pool(pool: &WorkerPool) -> WorkerPoolSettings {
    let workers = pool.workers.iter().zip(pool.worker_ids()).map(|(worker, worker_id)| WorkerSettings {
        worker_id,
        agent_definition_id: worker.agent_definition_id.clone(),
        allowed_tools: worker.allowed_tools.clone(),
    });
    WorkerPoolSettings { pool_id: pool.pool_id.clone(), workers: workers.collect() }
}

fn kind(category: MemoryCategory) -> agent_library::memory::MemoryCategory {
    use agent_library::memory::MemoryCategory as Kind;
    match category {
        MemoryCategory::User => Kind::User,
        MemoryCategory::Feedback => Kind::Feedback,
        MemoryCategory::Reference => Kind::Reference,
    }
}

fn stance(word: Stance) -> agent_policy::Stance {
    match word {
        Stance::Allow => agent_policy::Stance::Allow,
        Stance::Confirm => agent_policy::Stance::Ask,
        Stance::Deny => agent_policy::Stance::Deny,
    }
}

/// What the model is told about where it works.
fn environment(project: &Path) -> String {
    format!(
        "# Where you work\nProject folder: {}\nPlatform: {} {}",
        project.display(),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RUN-23: `max_attempts` bounds replies that break off, too; the default asks twice more, and more is never asked.
    #[test]
    fn attempts_bound_broken_replies() {
        let found: Vec<_> = [0, 1, 2, 3, 4, 20].map(model_retries).into();
        assert_eq!(found, [0, 0, 1, 2, 2, 2]);
    }
}
