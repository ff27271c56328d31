//! The operations of `agent.task_update` (TSK-17): one flat form for the schema, since providers take no alternatives in one; what
//! goes with which operation is checked here.

use agent_tasks::{Operation, StepFields, StepId, TaskStatus};
use schemars::JsonSchema;
use serde::Deserialize;

use super::statuses;
use super::step_input::StepInput;
use crate::tools::ids::{self, Wrong};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Op {
    UpdateTask,
    AddStep,
    UpdateStep,
    DeleteStep,
    AddDependency,
    RemoveDependency,
    CancelStep,
    ReopenStep,
}

/// update_task: title, summary, status. add_step: step. update_step: step_id, fields. delete_step: step_id. add_dependency,
/// remove_dependency: step_id, depends_on_step_id. cancel_step, reopen_step: step_id, reason.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OperationInput {
    op: Op,
    step_id: Option<String>,
    depends_on_step_id: Option<String>,
    step: Option<StepInput>,
    fields: Option<FieldsInput>,
    title: Option<String>,
    summary: Option<String>,
    /// blocked stops the task, pending lets it go on.
    #[serde(default)]
    #[schemars(schema_with = "statuses::set_on_tasks")]
    status: Option<TaskStatus>,
    reason: Option<String>,
}

/// What `update_step` changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FieldsInput {
    title: Option<String>,
    summary: Option<String>,
    required: Option<bool>,
    /// "" for every pool.
    worker_pool_id: Option<String>,
}

impl Op {
    /// The word of the contract, and the arguments that it needs and takes.
    fn form(self) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
        match self {
            Self::UpdateTask => ("update_task", &[], &["title", "summary", "status"]),
            Self::AddStep => ("add_step", &["step"], &[]),
            Self::UpdateStep => ("update_step", &["step_id", "fields"], &[]),
            Self::DeleteStep => ("delete_step", &["step_id"], &[]),
            Self::AddDependency => ("add_dependency", &["step_id", "depends_on_step_id"], &[]),
            Self::RemoveDependency => ("remove_dependency", &["step_id", "depends_on_step_id"], &[]),
            Self::CancelStep => ("cancel_step", &["step_id"], &["reason"]),
            Self::ReopenStep => ("reopen_step", &["step_id"], &["reason"]),
        }
    }
}

impl OperationInput {
    /// The operation, which stands at this place of the list.
    pub(super) fn read(self, at: usize) -> Result<Operation, Wrong> {
        let (name, needs, takes) = self.op.form();
        let place = |field: &str| format!("operations[{at}].{field}");
        self.check(at)?;
        let missing = |field: &str| format!("`{}` is missing: {name} needs {}", place(field), list(needs));
        let step_id = |text: Option<String>, field: &str| -> Result<StepId, Wrong> {
            ids::step_id(&place(field), &text.ok_or_else(|| missing(field))?)
        };
        let Self { op, step_id: id, depends_on_step_id, step, fields, title, summary, status, reason } = self;
        Ok(match op {
            Op::UpdateTask if title.is_none() && summary.is_none() && status.is_none() => {
                return Err(format!("`operations[{at}]`: update_task changes nothing: give {}", list(takes)));
            }
            Op::UpdateTask => Operation::UpdateTask { title, summary, status },
            Op::AddStep => {
                let step = step.ok_or_else(|| {
                    let form = r#"{"op": "add_step", "step": {"step_id": "…", "title": "…", "summary": "…"}}"#;
                    format!("{}. Its form is {form}", missing("step"))
                })?;
                Operation::AddStep { step: step.read(&place("step"))? }
            }
            Op::UpdateStep => {
                let step_id = step_id(id, "step_id")?;
                let FieldsInput { title, summary, required, worker_pool_id } =
                    fields.ok_or_else(|| missing("fields"))?;
                let pool = ids::pool_id(&place("fields.worker_pool_id"), worker_pool_id.as_deref())?;
                let worker_pool_id = worker_pool_id.map(|_| pool);
                Operation::UpdateStep { step_id, fields: StepFields { title, summary, required, worker_pool_id } }
            }
            Op::DeleteStep => Operation::DeleteStep { step_id: step_id(id, "step_id")? },
            Op::AddDependency => Operation::AddDependency {
                step_id: step_id(id, "step_id")?,
                depends_on_step_id: step_id(depends_on_step_id, "depends_on_step_id")?,
            },
            Op::RemoveDependency => Operation::RemoveDependency {
                step_id: step_id(id, "step_id")?,
                depends_on_step_id: step_id(depends_on_step_id, "depends_on_step_id")?,
            },
            Op::CancelStep => Operation::CancelStep { step_id: step_id(id, "step_id")?, reason },
            Op::ReopenStep => Operation::ReopenStep { step_id: step_id(id, "step_id")?, reason },
        })
    }

    /// Whether there is nothing that the operation does not take: it would be lost unseen.
    fn check(&self, at: usize) -> Result<(), Wrong> {
        let (name, needs, takes) = self.op.form();
        let given = [
            ("step_id", self.step_id.is_some()),
            ("depends_on_step_id", self.depends_on_step_id.is_some()),
            ("step", self.step.is_some()),
            ("fields", self.fields.is_some()),
            ("title", self.title.is_some()),
            ("summary", self.summary.is_some()),
            ("status", self.status.is_some()),
            ("reason", self.reason.is_some()),
        ];
        let known = |field: &&str| needs.contains(field) || takes.contains(field);
        let Some(other) = given.into_iter().filter(|(_, given)| *given).map(|(field, _)| field).find(|it| !known(it))
        else {
            return Ok(());
        };
        let inner = match (self.op, other) {
            (Op::UpdateStep, "title" | "summary") => ": put it into fields",
            (Op::AddStep, "step_id" | "title" | "summary") => ": put it into step",
            (_, "status") => ": agent.task_update_step sets the state of a step",
            _ => "",
        };
        let all: Vec<&str> = needs.iter().chain(takes).copied().collect();
        Err(format!("`operations[{at}].{other}` does not go with {name}{inner} (it takes {})", list(&all)))
    }
}

fn list(fields: &[&str]) -> String {
    fields.join(", ")
}
