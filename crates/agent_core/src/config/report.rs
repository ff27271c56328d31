//! Looking at what a configuration comes to, without opening or creating anything.

use std::sync::Arc;

use agent_config::{Config, ModelConfig, Notice};
use agent_engine::{BudgetError, Budgets};
use agent_library::AssetId;
use agent_library::instructions::{InstructionCatalog, ScanLimits};
use agent_library::skills::SkillCatalog;
use agent_llm::{ProviderRegistry, SharedProviders};
use agent_protocol::{AgentDefinitionInfo, RunMode};
use agent_runtime::{WorkerPoolError, WorkerPoolSettings, check_budgets, check_worker_pools, unavailable_to_children};

use super::hooks::{near_hooks, refuse_hooks};
use crate::adapters::{Adapters, Gates, RoleAdapters};
use crate::definitions::definitions;
use crate::environment::Environment;
use crate::error::BuildError;
use crate::location::Location;
use crate::profiles::{Profiles, Sources};
use crate::registry::{budgets, registry};

/// What a look at the configuration found.
#[derive(Debug)]
pub struct ConfigReport {
    /// The configuration's file, or what else it came from.
    pub origin: String,
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
    /// Variables whose values are too short or too long to be replaced where they turn up (STO-10).
    pub keys_not_hidden: Vec<String>,
    /// Variables whose values look like ordinary words, which are replaced wherever they stand.
    pub keys_that_are_words: Vec<String>,
    /// How the context window is shared out, with every share clamped to what fits (CFG-8).
    pub budgets: Budgets,
    /// Which model summarises older turns; nothing if that is switched off.
    pub summaries: Option<String>,
    /// Which model looks for things to remember; nothing if that is switched off.
    pub memory: Option<String>,
    /// Instruction files that runs in this project are told of.
    pub instruction_files: usize,
    /// Skills that can be loaded.
    pub skills: usize,
    /// The agent definitions there are, the user's files among them.
    pub agent_definitions: Vec<AgentDefinitionInfo>,
    /// The worker pools, each with the ids of its workers.
    pub worker_pools: Vec<(String, Vec<String>)>,
    /// What is wrong with them, where there are some: no run can be started in orchestrator mode.
    pub wrong_pools: Option<WorkerPoolError>,
    /// The same shares in runs of the Orchestrator, whose tools and board take more; none where there are no pools.
    pub orchestrator_budgets: Option<Budgets>,
    /// Where the context window is too small for that mode alone.
    pub no_room_to_orchestrate: Option<BudgetError>,
    /// What is wrong with instruction files and skills, one line each.
    pub file_problems: Vec<String>,
    /// Keys that are set but have no effect in this version.
    pub notices: Vec<Notice>,
}

/// The packaged configuration to start from.
#[must_use]
pub fn template() -> &'static str {
    AssetId::TemplateConfig.load().text
}

/// Checks the configuration as [`AgentRuntimeBuilder::build`](crate::runtime::AgentRuntimeBuilder::build) would, and creates
/// nothing.
///
/// # Errors
/// Everything `build` would refuse before it opens the session store.
pub fn inspect(location: &Location) -> Result<ConfigReport, BuildError> {
    let loaded = Arc::new(location.load_to_look(Environment::look())?);
    refuse_hooks(&loaded.config, &loaded.places.home)?;
    let settings = loaded.settings();
    let model = &loaded.config.model;
    let (roles, providers) = (settings.roles()?, SharedProviders::from(ProviderRegistry::with_builtin()));
    let gates = Gates::default();
    let mut adapters = Adapters::new(&settings, &providers, None, &gates);
    let RoleAdapters { summaries, memory, .. } = adapters.of_roles(&roles)?;
    let made = adapters.into_made();
    let rules = Arc::new(settings.rules()?);
    let tools = registry(&settings, &rules, &settings.overrides(), memory.as_ref(), &[])?;
    let runtime = settings.runtime(&roles);
    let budgets = budgets(&runtime, &tools, &loaded.origin, RunMode::Normal)?;
    let on = |is_on: bool, model: &ModelConfig| is_on.then(|| model.name.clone());
    let summarised_by = on(loaded.config.compact.enabled, &roles.compact);
    let remembered_by = on(loaded.config.memory.enabled, &roles.extract);
    let sources = Sources { providers, raw: None, roles, summaries, made, gates };
    let profiles = Profiles::new(Arc::clone(&loaded), sources)?;
    let definitions = definitions((&loaded.places.home, &loaded.config.agents), &profiles, &tools)?;
    let secrets = profiles.secrets().known();
    let pools = runtime.worker_pools.iter();
    let worker_ids = |pool: &WorkerPoolSettings| pool.workers.iter().map(|worker| worker.worker_id.clone()).collect();
    let places = settings.context_places();
    let instructions = InstructionCatalog::scan(&places.instructions, ScanLimits::default());
    let skills = SkillCatalog::scan(&places.skills_dir);
    let of_skills = skills.problems().iter().map(ToString::to_string);
    let near_hooks = near_hooks(&loaded.config, &loaded.places.home);
    let file_problems = near_hooks.into_iter().chain(instructions.problems()).chain(of_skills).collect();
    let (orchestrator_budgets, no_room_to_orchestrate) = match check_budgets(&runtime, &tools, RunMode::Orchestrator) {
        Ok(budgets) => (Some(budgets).filter(|_| !runtime.worker_pools.is_empty()), None),
        Err(error) => (None, Some(error)),
    };
    Ok(ConfigReport {
        summaries: summarised_by,
        memory: remembered_by,
        instruction_files: instructions.entries().len(),
        skills: skills.entries().len(),
        agent_definitions: definitions.list(&|name| unavailable_to_children(&runtime, &tools, name)),
        worker_pools: pools.map(|pool| (pool.pool_id.clone(), worker_ids(pool))).collect(),
        wrong_pools: match check_worker_pools(&runtime, &definitions, &tools) {
            Ok(()) | Err(WorkerPoolError::None) => None,
            Err(wrong) => Some(wrong),
        },
        orchestrator_budgets,
        no_room_to_orchestrate,
        file_problems,
        origin: loaded.origin.clone(),
        provider: model.provider.clone(),
        model: model.name.clone(),
        base_url: model.base_url.clone(),
        address_of_ollama: model.provider != "ollama" && model.base_url == Config::default().model.base_url,
        key: model
            .key_variable()
            .map(|name| (name.to_owned(), Environment::variable(name).is_some_and(|value| !value.is_empty()))),
        keys_not_hidden: secrets.ignored().to_vec(),
        keys_that_are_words: secrets.ordinary().to_vec(),
        budgets,
        notices: loaded.config.not_in_effect(),
    })
}
