//! Which tools there are with a configuration, and what runs may do with them.

use std::sync::Arc;

use agent_library::memory::MemoryStore;
use agent_library::skills::SkillCatalog;
use agent_llm::{ProviderRegistry, SharedProviders};
use agent_policy::{Facts, Grants, Verdict, Withheld, decide};
use agent_protocol::{AgentRole, ToolDefinition, ToolDescriptor, ToolRequirement};
use agent_runtime::MemorySettings;

use crate::adapters::{Adapters, Gates};
use crate::environment::Environment;
use crate::error::BuildError;
use crate::location::Location;
use crate::registry::registry;

/// A tool that exists, and what a run may do with it.
#[derive(Debug, Clone)]
pub struct ToolStatus {
    /// What the tool says of itself, `tools.overrides` included.
    pub definition: ToolDefinition,
    /// Why runs do not get it; nothing if they do (TOL-4).
    pub withheld: Option<Withheld>,
    /// The parts of agents that do get it; none where nobody does.
    pub offered_to: Vec<AgentRole>,
    /// Whether an ordinary call of it asks first. What touches sensitive files asks in any case.
    pub asks: bool,
    /// Why runs are not offered it at the moment although nothing forbids it: there is nothing for it to load.
    pub nothing_to_load: bool,
}

/// Every tool there is with this configuration, by name. Creates nothing.
///
/// # Errors
/// What is wrong with the configuration.
pub fn inspect(location: &Location) -> Result<Vec<ToolStatus>, BuildError> {
    let loaded = location.load_to_look(Environment::look())?;
    let settings = loaded.settings();
    let rules = Arc::new(settings.rules()?);
    let (roles, providers) = (settings.roles()?, SharedProviders::from(ProviderRegistry::with_builtin()));
    let memory = Adapters::new(&settings, &providers, None, &Gates::default()).memory(&roles)?;
    let tools = registry(&settings, &rules, &settings.overrides(), memory.as_ref(), &[])?;
    let has_skills = !SkillCatalog::scan(&settings.context_places().skills_dir).entries().is_empty();
    let has_memories = settings.memory().is_some_and(|memory| has_memories(&memory));
    let settings = settings.runtime(&roles);
    let status = |tool: &ToolDescriptor| {
        let verdict = decide(tool, &Facts::default(), &rules, &settings.policy, &Grants::new());
        ToolStatus {
            definition: tool.definition.clone(),
            withheld: settings.tool_scope(AgentRole::Main).withholds(tool),
            offered_to: {
                let has = |role: &AgentRole| settings.tool_scope(*role).withholds(tool).is_none();
                AgentRole::ALL.iter().copied().filter(has).collect()
            },
            asks: matches!(verdict, Verdict::Ask(_)),
            nothing_to_load: match tool.requires {
                Some(ToolRequirement::Skills) => !has_skills,
                Some(ToolRequirement::Memories) => !has_memories,
                None => false,
            },
        }
    };
    Ok(tools.iter().map(|tool| status(tool.descriptor())).collect())
}

/// Whether this project sees any.
fn has_memories(memory: &MemorySettings) -> bool {
    let listing = MemoryStore::open(&memory.memory_dir, &memory.home).and_then(|store| store.entries());
    listing.is_ok_and(|listing| listing.entries.iter().any(|entry| entry.is_visible_in(&memory.project)))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
