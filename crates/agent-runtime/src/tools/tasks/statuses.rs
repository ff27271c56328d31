//! States as arguments: the schema names those that may be given.

use agent_tasks::{StepStatus, TaskStatus};
use schemars::{Schema, SchemaGenerator, json_schema};

/// States of Tasks.
pub(super) fn of_tasks(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
    json_schema!({ "type": "string", "enum": words })
}

/// States that `update_task` sets.
pub(super) fn set_on_tasks(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": [TaskStatus::Blocked.as_str(), TaskStatus::Pending.as_str()] })
}

/// States of steps, any number of them.
pub(super) fn lists_of_steps(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = StepStatus::ALL.iter().map(|status| status.as_str()).collect();
    json_schema!({ "type": "array", "items": { "type": "string", "enum": words } })
}

/// States that `task_update_step` sets.
pub(super) fn set_on_steps(_: &mut SchemaGenerator) -> Schema {
    let set =
        [StepStatus::Running, StepStatus::Blocked, StepStatus::Completed, StepStatus::Failed, StepStatus::Cancelled];
    json_schema!({ "type": "string", "enum": set.map(StepStatus::as_str) })
}
