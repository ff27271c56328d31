//! What `task_update` can change (TSK-9, TSK-17). The same types are the tool's input and the log's payload.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::name::{PoolId, StepId};
use super::spec::StepSpec;
use super::status::TaskStatus;

/// One change to a Task. The operations of a call are applied in their order, all or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Changes the Task itself.
    UpdateTask {
        /// A new title, in one line of at most 200 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// A new summary, at most 16 KiB.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// `blocked` stops the Task, `pending` lets a blocked Task go on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TaskStatus>,
    },
    /// Adds a step.
    AddStep {
        /// The step.
        step: StepSpec,
    },
    /// Changes what a step asks for.
    UpdateStep {
        /// The step.
        step_id: StepId,
        /// What to change; at least one field.
        fields: StepFields,
    },
    /// Removes a pending, ready or cancelled step that no other step depends on.
    DeleteStep {
        /// The step.
        step_id: StepId,
    },
    /// Makes a step wait for another one.
    AddDependency {
        /// The step that waits.
        step_id: StepId,
        /// The step that must be completed first.
        depends_on_step_id: StepId,
    },
    /// Lets a step no longer wait for another one.
    RemoveDependency {
        /// The step that waited.
        step_id: StepId,
        /// The step that it waited for.
        depends_on_step_id: StepId,
    },
    /// Gives up a pending or ready step.
    CancelStep {
        /// The step.
        step_id: StepId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Makes a blocked or failed step pending again.
    ReopenStep {
        /// The step.
        step_id: StepId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// The fields of a step that `update_step` can change. A field that is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFields {
    /// A new title, in one line of at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A new summary, at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the Task needs the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The pool whose workers may claim it; `null` for every pool.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PoolId>")]
    pub worker_pool_id: Option<Option<PoolId>>,
}

impl StepFields {
    /// Whether nothing is to be changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A field that is there, `null` included.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Operation {
    /// The word of the contract.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::UpdateTask { .. } => "update_task",
            Self::AddStep { .. } => "add_step",
            Self::UpdateStep { .. } => "update_step",
            Self::DeleteStep { .. } => "delete_step",
            Self::AddDependency { .. } => "add_dependency",
            Self::RemoveDependency { .. } => "remove_dependency",
            Self::CancelStep { .. } => "cancel_step",
            Self::ReopenStep { .. } => "reopen_step",
        }
    }
}
