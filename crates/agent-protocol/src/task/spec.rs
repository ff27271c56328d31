//! A step as the Orchestrator asks for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::{PoolId, StepId};

/// A step as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    /// The step's id: 1 to 64 characters of a-z, 0-9, _ and -, unique in the Task.
    pub step_id: StepId,
    /// What the step is, in one line of at most 200 characters.
    pub title: String,
    /// What is to be done, and what "done" means. At most 16 KiB.
    #[serde(default)]
    pub summary: String,
    /// The steps that must be completed before this one is ready.
    #[serde(default)]
    pub depends_on_step_ids: Vec<StepId>,
    /// Whether the Task needs it to be completed.
    #[serde(default = "yes")]
    pub required: bool,
    /// The pool whose workers may claim it; without one, workers of every pool may.
    #[serde(default)]
    pub worker_pool_id: Option<PoolId>,
}

fn yes() -> bool {
    true
}
