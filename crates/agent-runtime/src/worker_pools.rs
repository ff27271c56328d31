//! The workers that an Orchestrator may use: whether the configuration's pools can work at all (WRK-1).

use std::sync::Arc;

use agent_policy::DefinitionRegistry;
use agent_protocol::task::PoolId;
use agent_protocol::{AgentRole, RoleAccess, contract_tool};
use agent_redact::shown_word;
use agent_tool::{Registry, Tool};

use crate::definitions::{Definitions, NAMED};
use crate::settings::{RuntimeSettings, WorkerSettings};
use crate::some_of::some_of;

/// What begins the names of the tools of MCP servers, which are not known before their servers answer (TOL-8).
const MCP: &str = "mcp.";

/// Why no run can be started in orchestrator mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerPoolError {
    /// There is no pool, and none is implied.
    #[error(
        "orchestrator mode needs a worker pool, and the configuration has none. The smallest one, for config.toml:\n\n\
         [[agents.worker_pools]]\npool_id = \"default\"\n\n\
         [[agents.worker_pools.workers]]\nworker_id = \"worker_general_1\"\nagent_definition_id = \"default_worker_agent\""
    )]
    None,
    /// Pools that name what is not there, or what no worker may have.
    #[error("orchestrator mode cannot use the worker pools of the configuration:{}", listed(.0))]
    Invalid(Vec<String>),
}

fn listed(problems: &[String]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

/// Checks the pools of the configuration: there is one, steps can name each, the definition of each worker exists, and each of its tools is a tool that a worker may have.
/// A tool that is switched off is no fault: the worker goes without it. That ids are unique is for the configuration's own rules (CFG-6).
///
/// # Errors
/// All that is wrong, each with its key.
pub fn check_worker_pools(
    settings: &RuntimeSettings,
    definitions: &Definitions,
    tools: &Registry<Arc<dyn Tool>>,
) -> Result<(), WorkerPoolError> {
    if settings.worker_pools.is_empty() {
        return Err(WorkerPoolError::None);
    }
    let problems: Vec<_> = definitions.read(|registry| {
        let pools = settings.worker_pools.iter().enumerate();
        pools
            .flat_map(|(at, pool)| {
                let at = format!("agents.worker_pools[{at}]");
                let own = PoolId::parse(&pool.pool_id).err().map(|error| format!("{at}.pool_id: {error}"));
                let workers = pool.workers.iter().enumerate().flat_map(move |(index, worker)| {
                    of_worker(&format!("{at}.workers[{index}]"), worker, registry, tools)
                });
                own.into_iter().chain(workers)
            })
            .collect()
    });
    if problems.is_empty() { Ok(()) } else { Err(WorkerPoolError::Invalid(problems)) }
}

fn of_worker(
    at: &str,
    worker: &WorkerSettings,
    registry: &DefinitionRegistry,
    tools: &Registry<Arc<dyn Tool>>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let id = &worker.agent_definition_id;
    if registry.get(id).is_none() {
        let known = some_of(registry.iter().map(|one| &one.agent_definition_id), NAMED);
        let id = shown_word(id);
        problems.push(format!("{at}.agent_definition_id: there is no agent definition `{id}`; there are {known}"));
    }
    for name in worker.allowed_tools.iter().flatten() {
        if let Some(why) = withheld(name, tools) {
            problems.push(format!("{at}.allowed_tools names `{}`, {why}", shown_word(name)));
        }
    }
    problems
}

/// Why no worker may have a tool, in words; nothing if one may.
fn withheld(name: &str, tools: &Registry<Arc<dyn Tool>>) -> Option<&'static str> {
    let registered = tools.get(name).map(|tool| tool.descriptor().roles);
    match registered.or_else(|| contract_tool(name)) {
        Some(roles) if roles.access(AgentRole::Worker) == RoleAccess::Never => Some("which workers do not get"),
        Some(_) => None,
        None if name.starts_with(MCP) => None,
        None => Some("which is no tool"),
    }
}
