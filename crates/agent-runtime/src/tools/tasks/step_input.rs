//! Steps in arguments.

use agent_tasks::StepSpec;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::ids::{self, Wrong};

/// A step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepInput {
    /// a-z, 0-9, _ and -.
    step_id: String,
    /// One line.
    title: String,
    /// What to do, and when it is done.
    #[serde(default)]
    summary: String,
    /// Steps that must be completed before.
    #[serde(default)]
    depends_on_step_ids: Vec<String>,
    /// Whether the task needs it.
    #[serde(default = "yes")]
    required: bool,
    /// Whose workers may claim it; without: all.
    worker_pool_id: Option<String>,
}

fn yes() -> bool {
    true
}

impl StepInput {
    /// `at` says where in the arguments it stands.
    pub(super) fn read(self, at: &str) -> Result<StepSpec, Wrong> {
        let Self { step_id, title, summary, depends_on_step_ids, required, worker_pool_id } = self;
        Ok(StepSpec {
            step_id: ids::step_id(&format!("{at}.step_id"), &step_id)?,
            depends_on_step_ids: ids::step_ids(&format!("{at}.depends_on_step_ids"), &depends_on_step_ids)?,
            worker_pool_id: ids::pool_id(&format!("{at}.worker_pool_id"), worker_pool_id.as_deref())?,
            title,
            summary,
            required,
        })
    }
}
