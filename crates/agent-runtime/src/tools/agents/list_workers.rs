//! `agent.list_workers` (WRK-3).

use agent_protocol::{ErrorPayload, Object, ToolClass, ToolRoles};
use agent_tool::{CallContext, ToolOutput, WorkerInfo, WorkerStatus};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::roles::{ORCHESTRATOR, TAGS};
use crate::tools::arguments::invalid;
use crate::tools::ids;
use crate::tools::port_tool::PortTool;
use crate::tools::room::{Room, json_len};

/// Lists the workers there are, and whether they are idle.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    worker_pool_id: Option<String>,
}

pub(super) struct ListWorkers;

impl PortTool for ListWorkers {
    type Input = Input;
    const NAME: &'static str = "agent.list_workers";
    const TAGS: &'static [&'static str] = TAGS;
    const ROLES: ToolRoles = ORCHESTRATOR;
    const CLASS: ToolClass = ToolClass::Readonly;

    fn about(input: &Input) -> String {
        input.worker_pool_id.clone().unwrap_or_default()
    }

    fn run(input: Input, context: CallContext) -> BoxFuture<'static, Result<ToolOutput, ErrorPayload>> {
        async move {
            let pool_id = ids::pool_id("worker_pool_id", input.worker_pool_id.as_deref());
            let pool_id = pool_id.map_err(|wrong| invalid(Self::NAME, &wrong))?;
            let workers = context.workers.list(pool_id).await?;
            let idle = workers.iter().filter(|worker| worker.status == WorkerStatus::Idle).count();
            let line = format!("{idle} of {} idle", workers.len());
            Ok(ToolOutput::value(shown(&workers, &Room::of(&context))).summary(line))
        }
        .boxed()
    }
}

/// As many workers as there is room for, each with its description first and then without; the others are counted.
fn shown(workers: &[WorkerInfo], room: &Room) -> Value {
    let short = |worker: &WorkerInfo| {
        let mut entry = json!(worker);
        if let Some(entry) = entry.as_object_mut() {
            for key in ["description", "suggested_tools", "tags"] {
                entry.remove(key);
            }
        }
        entry
    };
    let is_whole = json_len(&json!(workers)) <= room.bytes();
    let (mut used, mut listed) = (0, Vec::new());
    for worker in workers {
        let entry = if is_whole { json!(worker) } else { short(worker) };
        used += json_len(&entry) + 1;
        if used > room.bytes() {
            break;
        }
        listed.push(entry);
    }
    let left_out = workers.len() - listed.len();
    let mut result = Object::from_iter([("workers".to_owned(), listed.into())]);
    if !is_whole {
        result.insert("descriptions_left_out".to_owned(), true.into());
    }
    if left_out > 0 {
        result.insert("workers_left_out".to_owned(), left_out.into());
        result.insert("next".to_owned(), "list one pool at a time: worker_pool_id".into());
    }
    result.into()
}

#[cfg(test)]
mod tests {
    use agent_protocol::AgentId;
    use agent_protocol::task::PoolId;
    use agent_tool::testing::context;

    use super::*;

    fn worker(n: usize) -> WorkerInfo {
        WorkerInfo {
            worker_agent_id: AgentId::parse(&format!("agent_{n:032}")).unwrap(),
            worker_id: format!("worker_{n}"),
            agent_definition_id: "default_worker_agent".to_owned(),
            name: "Worker".to_owned(),
            description: "Does things. ".repeat(20),
            worker_pool_id: PoolId::parse("default").unwrap(),
            status: WorkerStatus::Idle,
            unavailable_reason: None,
            suggested_tools: Vec::new(),
            tags: Vec::new(),
            current_run_id: None,
            current_step_id: None,
        }
    }

    /// WRK-3, ART-2: whatever the room, a list is no bigger; descriptions give way before workers do, and nobody is dropped in silence.
    #[test]
    fn many_workers_fit() {
        let all: Vec<_> = (0..40).map(worker).collect();
        for bytes in [600, 3_000, 12_000, 60_000] {
            let mut context = context();
            context.result_bytes = bytes + 256;
            let shown = shown(&all, &Room::of(&context));
            assert!(json_len(&shown) <= bytes + 160, "{bytes}: {}", json_len(&shown));
            let listed = shown["workers"].as_array().unwrap();
            let left_out = shown["workers_left_out"].as_u64().unwrap_or(0);
            assert_eq!(listed.len() + usize::try_from(left_out).unwrap(), all.len(), "{bytes}");
            assert_eq!(listed[0].get("description").is_some(), bytes == 60_000, "{bytes}");
            assert_eq!(left_out > 0, bytes < 12_000, "{bytes}");
        }
    }
}
