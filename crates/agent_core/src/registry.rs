//! The tools there are at the start, and whether they fit into the context window.

use std::sync::Arc;

use agent_code::code_tools;
use agent_engine::Budgets;
use agent_policy::PathRules;
use agent_protocol::{RunMode, ToolOrigin};
use agent_runtime::{Memory, RuntimeSettings, check_budgets, core_tools};
use agent_tool::{Registry, Tool};

use crate::error::BuildError;
use crate::overrides::Overrides;
use crate::settings::Settings;

/// Tokens of definitions and system blocks that only runs with skills or memories have, rounded up.
const ONLY_IN_SOME_RUNS: u64 = 250;

/// All tools there are at the start: core's, then the embedding program's, each as the configuration has it.
pub(crate) fn registry(
    settings: &Settings<'_>,
    rules: &Arc<PathRules>,
    overrides: &Overrides,
    memory: Option<&Memory>,
    own: &[Arc<dyn Tool>],
) -> Result<Registry<Arc<dyn Tool>>, BuildError> {
    let packaged = code_tools(settings.code_tools(Arc::clone(rules)));
    let recall = memory.map(Memory::recall_tool);
    let with_room = |skill_tokens| {
        let mut registry = Registry::new();
        let core = core_tools(&settings.core_tools(skill_tokens)).into_iter().chain(recall.clone());
        let core = core.map(|tool| (ToolOrigin::Core, tool));
        let packaged = packaged.iter().map(|tool| (ToolOrigin::Builtin, Arc::clone(tool)));
        let own = own.iter().map(|tool| (ToolOrigin::Program, Arc::clone(tool)));
        for (origin, tool) in core.chain(packaged).chain(own) {
            registry.add(origin, overrides.apply(tool))?;
        }
        Ok::<_, BuildError>(registry)
    };
    // How much room a skill has depends on what all definitions take. Where they leave none, the budgets are refused later.
    let measured = check_budgets(&settings.runtime(&settings.roles()?), &with_room(0)?, RunMode::Normal);
    with_room(measured.map_or(0, |budgets| skill_room(&budgets)))
}

/// A loaded skill may stay whatever a run has besides what these budgets were derived from (CTX-4): catalogs, and what is
/// there only with skills and memories.
fn skill_room(budgets: &Budgets) -> u64 {
    budgets.messages.saturating_sub(budgets.catalogs + ONLY_IN_SOME_RUNS) / 4
}

/// How the context window of runs in a mode is shared out with these tools.
pub(crate) fn budgets(
    settings: &RuntimeSettings,
    tools: &Registry<Arc<dyn Tool>>,
    origin: &str,
    mode: RunMode,
) -> Result<Budgets, BuildError> {
    check_budgets(settings, tools, mode).map_err(|source| BuildError::Budget { origin: origin.to_owned(), source })
}
