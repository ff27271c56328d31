//! The workers of a configuration: who they are in a session, and what each may use (WRK-2, WRK-3, WRK-8).

use std::collections::HashSet;
use std::sync::Arc;

use agent_protocol::task::PoolId;
use agent_protocol::{
    AgentDefinition, AgentId, AgentRole, ErrorCode, ErrorPayload, SessionId, SuggestedTool, UnavailableReason,
};
use agent_store::ContentHash;

use crate::services::Services;
use crate::settings::{RuntimeSettings, WorkerSettings};
use crate::some_of::some_of;
use crate::sources::{Tools, why_not_there};

/// So many digits of a hash are an id that no other worker has.
const DIGITS: usize = 32;
/// So many tools are named with what is in their way.
const NAMED: usize = 6;

/// The workers of a session at one moment, in the order of the configuration.
pub(super) struct Roster {
    pub(super) workers: Vec<Worker>,
}

/// A worker.
pub(super) struct Worker {
    pub(super) agent_id: AgentId,
    pub(super) pool_id: PoolId,
    pub(super) worker_id: String,
    pub(super) definition_id: String,
    /// What it is made from, where that is there.
    pub(super) definition: Option<Arc<AgentDefinition>>,
    /// Its entry's tools: its ceiling, and what it gets by default; absent: those of the role.
    pub(super) tools: Option<HashSet<String>>,
    /// Why it cannot be sent at all.
    pub(super) unavailable: Option<String>,
    pub(super) suggested_tools: Vec<SuggestedTool>,
}

/// The id of a worker in a session: the same whenever it is asked for, in whichever process (WRK-2).
pub(super) fn worker_agent_id(session_id: &SessionId, pool_id: &str, worker_id: &str) -> AgentId {
    // None of these has a line break in it.
    let hash = ContentHash::of(format!("{session_id}\n{pool_id}\n{worker_id}").as_bytes());
    match AgentId::parse(&format!("{}{}", AgentId::PREFIX, &hash.as_str()[..DIGITS])) {
        Ok(id) => id,
        Err(error) => unreachable!("digits are safe in an id: {error}"),
    }
}

impl Roster {
    /// As the configuration, the definitions and the tools are now.
    pub(super) fn of(session_id: &SessionId, services: &Services) -> Self {
        let tools = services.fixed.registered().snapshot();
        let settings = &services.settings;
        let workers = settings.worker_pools.iter().flat_map(|pool| {
            // Others are refused before a run starts (WRK-1).
            let pool_id = PoolId::parse(&pool.pool_id).ok();
            pool_id.into_iter().flat_map(|pool_id| pool.workers.iter().map(move |entry| (pool_id.clone(), entry)))
        });
        let worker = |(pool_id, entry): (PoolId, &WorkerSettings)| {
            let id = &entry.agent_definition_id;
            let definition = services.definitions.read(|registry| registry.get(id).cloned()).map(Arc::new);
            let unavailable = match &definition {
                None => Some(format!("there is no agent definition `{id}`")),
                Some(_) => no_tool_is_left(entry, settings, &tools),
            };
            let own = entry.allowed_tools.as_ref().map(|names| names.iter().cloned().collect());
            let suggested = definition.iter().flat_map(|definition| &definition.suggested_tools);
            Worker {
                agent_id: worker_agent_id(session_id, pool_id.as_str(), &entry.worker_id),
                pool_id,
                worker_id: entry.worker_id.clone(),
                definition_id: id.clone(),
                suggested_tools: suggested.map(|name| suggested_tool(name, own.as_ref(), settings, &tools)).collect(),
                definition,
                tools: own,
                unavailable,
            }
        };
        Self { workers: workers.map(worker).collect() }
    }

    /// The workers of a pool, or of all.
    ///
    /// # Errors
    /// If there is no such pool.
    pub(super) fn of_pool(&self, pool_id: Option<&PoolId>) -> Result<Vec<&Worker>, ErrorPayload> {
        let is_in = |worker: &&Worker| pool_id.is_none_or(|pool| worker.pool_id == *pool);
        let workers: Vec<_> = self.workers.iter().filter(is_in).collect();
        match pool_id {
            Some(pool) if workers.is_empty() => {
                let mut pools: Vec<_> = self.workers.iter().map(|worker| worker.pool_id.as_str()).collect();
                pools.dedup();
                let message = format!("there is no worker pool `{pool}`; there are: {}", pools.join(", "));
                Err(ErrorPayload::new(ErrorCode::ValidationError, message))
            }
            _ => Ok(workers),
        }
    }
}

/// Why none of the tools that an entry names can be used now; nothing where one can.
fn no_tool_is_left(entry: &WorkerSettings, settings: &RuntimeSettings, tools: &Tools) -> Option<String> {
    let names = entry.allowed_tools.as_ref()?;
    let scope = settings.tool_scope(AgentRole::Worker);
    let mut in_the_way = Vec::new();
    for name in names {
        let why = match tools.get(name) {
            Some(tool) => scope.excludes(tool.descriptor())?.to_string(),
            None if settings.disabled_tools.contains(name) => "tools.disabled names it".to_owned(),
            None => "it is not there".to_owned(),
        };
        in_the_way.push(format!("{name} ({why})"));
    }
    Some(match in_the_way.as_slice() {
        [] => "its entry allows no tool at all".to_owned(),
        all => format!("none of the tools of its entry can be used: {}", some_of(all, NAMED)),
    })
}

/// A tool that the definition likes, and whether this worker has it (AGD-3).
fn suggested_tool(
    name: &str,
    own: Option<&HashSet<String>>,
    settings: &RuntimeSettings,
    tools: &Tools,
) -> SuggestedTool {
    let scope = agent_policy::ToolScope { requested: own, ..settings.tool_scope(AgentRole::Worker) };
    let unavailable_reason = match tools.get(name) {
        Some(tool) => {
            let withheld = scope.withholds(tool.descriptor());
            withheld.map(|withheld| withheld.unavailable().unwrap_or(UnavailableReason::PolicyRestricted))
        }
        None => Some(why_not_there(settings, name)),
    };
    SuggestedTool { name: name.to_owned(), available: unavailable_reason.is_none(), unavailable_reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WRK-2: a worker's id is a valid id, the same each time, and another one for each session, pool and worker.
    #[test]
    fn ids_of_workers() {
        let session = |name: &str| SessionId::parse(&format!("sess_{name}")).unwrap();
        let mut seen = HashSet::new();
        for name in ["a", "b"] {
            for pool in ["a", "b", "a-b"] {
                for worker in ["a", "b", "b-a", "worker_general_1"] {
                    let id = worker_agent_id(&session(name), pool, worker);
                    assert_eq!(id, worker_agent_id(&session(name), pool, worker));
                    assert_eq!(AgentId::parse(id.as_str()), Ok(id.clone()));
                    assert!(seen.insert(id), "{name} {pool} {worker}");
                }
            }
        }
        let id = worker_agent_id(&session("1"), "default", "worker_general_1");
        assert_eq!(id.as_str(), "agent_28c9d54206b91e8ddff9be204a2853cc", "sessions that are stored hold it");
    }
}
