//! What a worker is told of what it was sent for, behind its instruction (WRK-5, AGD-4).

use agent_library::shown;
use agent_protocol::ContentBlock;
use agent_tool::WorkerScope;

use crate::some_of::some_of;

/// Columns of a title.
const TITLE: usize = 200;
/// So many steps are named; the others are found by a query.
const NAMED: usize = 50;

/// The words of core. What stands in the Task was written by a model: it is shown as such, on one line.
pub(super) fn told(scope: &WorkerScope, title: &str) -> ContentBlock {
    let WorkerScope { task_id, pool_id, allowed_step_ids } = scope;
    let title = shown::line(title, TITLE);
    let steps = match allowed_step_ids {
        None => String::new(),
        Some(ids) => format!(" You may claim only: {}.", some_of(ids, NAMED)),
    };
    ContentBlock::text(format!(
        "[You are a worker of pool {pool_id}, sent for one step of task `{task_id}`: {title}.{steps} Claim one ready step, do it, and set its \
         status before you end. The Orchestrator's instruction stands above.]"
    ))
}
