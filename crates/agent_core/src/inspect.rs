//! Looking at what a configuration comes to, without opening or creating anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_config::{Config, ModelConfig, Notice};
use agent_engine::Budgets;
use agent_library::AssetId;
use agent_library::instructions::{InstructionCatalog, ScanLimits};
use agent_library::memory::MemoryStore;
use agent_library::skills::SkillCatalog;
use agent_llm::ProviderRegistry;
use agent_policy::{Facts, Grants, Verdict, Withheld, decide};
use agent_protocol::ToolDefinition;
use agent_runtime::MemorySettings;

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
    /// Which model summarises older turns; nothing if that is switched off.
    pub summaries: Option<String>,
    /// Which model looks for things to remember; nothing if that is switched off.
    pub memory: Option<String>,
    /// Instruction files that runs in this project are told of.
    pub instruction_files: usize,
    /// Skills that can be loaded.
    pub skills: usize,
    /// What is wrong with instruction files and skills, one line each.
    pub file_problems: Vec<String>,
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
    let places = settings.context_places();
    let instructions = InstructionCatalog::scan(&places.instructions, ScanLimits::default());
    let skills = SkillCatalog::scan(&places.skills_dir);
    let broken = instructions.entries().iter().filter_map(|entry| Some((entry, entry.problem.as_ref()?)));
    let file_problems = broken
        .map(|(entry, problem)| format!("{}: {problem}", entry.shown))
        .chain(skills.problems().iter().map(ToString::to_string))
        .collect();
    let on = |is_on: bool, model: &ModelConfig| is_on.then(|| model.name.clone());
    Ok(ConfigReport {
        summaries: on(loaded.config.compact.enabled, &roles.compact),
        memory: on(loaded.config.memory.enabled, &roles.extract),
        instruction_files: instructions.entries().len(),
        skills: skills.entries().len(),
        file_problems,
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
    /// Why runs are not offered it at the moment although nothing forbids it: there is nothing for it to load.
    pub nothing_to_load: bool,
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
    let has_skills = !SkillCatalog::scan(&settings.context_places().skills_dir).entries().is_empty();
    let has_memories = settings.memory().is_some_and(|memory| has_memories(&memory));
    let settings = settings.runtime(&roles);
    let status = |definition: &ToolDefinition| {
        let verdict = decide(definition, &Facts::default(), &rules, &settings.policy, &Grants::new());
        ToolStatus {
            definition: definition.clone(),
            withheld: settings.tool_scope().withholds(definition),
            asks: matches!(verdict, Verdict::Ask(_)),
            nothing_to_load: match definition.name.as_str() {
                "internal.load_skill" => !has_skills,
                "internal.recall_memory" => !has_memories,
                _ => false,
            },
        }
    };
    Ok(tools.iter().map(|tool| status(tool.definition())).collect())
}

/// Whether this project sees any.
fn has_memories(memory: &MemorySettings) -> bool {
    let listing = MemoryStore::open(&memory.memory_dir, &memory.home).and_then(|store| store.entries());
    listing.is_ok_and(|listing| listing.entries.iter().any(|entry| entry.is_visible_in(&memory.project)))
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
