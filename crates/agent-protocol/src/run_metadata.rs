//! What the metadata of a run's row say: how the session's own agent works in it, or where a child's run stands among the others.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::FieldError;
use crate::task::{PoolId, StepId, TaskId};
use crate::{AgentRole, Object, RunId, RunMode, ToolCallId};

/// Who asked for a child's run, and what the child is in it. An agent that lives on, such as a worker, has a run for each call that
/// asks for one, so this is the run's and not the agent's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildOrigin {
    /// The run that asked for it.
    pub parent_run_id: RunId,
    /// The call that did.
    pub parent_tool_call_id: ToolCallId,
    /// The part that the agent plays: sub, fork or worker.
    pub role: AgentRole,
    /// The definition that the agent is made from.
    pub agent_definition_id: String,
    /// What a worker was sent for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerOrigin>,
}

/// What a worker was sent for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerOrigin {
    /// Its entry in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// Its pool.
    pub worker_pool_id: PoolId,
    /// The Task.
    pub task_id: TaskId,
    /// The only steps that it may claim; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_step_ids: Option<BTreeSet<StepId>>,
}

impl ChildOrigin {
    /// The key in the metadata of the run's row.
    pub const KEY: &'static str = "child";

    /// The metadata of the run's row.
    #[must_use]
    pub fn into_metadata(self) -> Object {
        // Words and ids: they can always be written down.
        Object::from_iter([(Self::KEY.to_owned(), serde_json::to_value(self).unwrap_or(Value::Null))])
    }

    /// What the metadata of a run's row says; `None` where the run is no child's, or of an older build.
    ///
    /// # Errors
    /// [`FieldError`] where it says something that cannot be read.
    pub fn read(metadata: &Object) -> Result<Option<Self>, FieldError> {
        let Some(origin) = metadata.get(Self::KEY) else { return Ok(None) };
        let read = Self::deserialize(origin);
        read.map(Some).map_err(|error| FieldError { field: Some(Self::KEY.to_owned()), message: error.to_string() })
    }
}

impl RunMode {
    /// The key in the metadata of the row of a run by the session's own agent; a row without it is that of a normal run.
    pub const KEY: &'static str = "mode";

    /// What the metadata of such a row say.
    ///
    /// # Errors
    /// [`FieldError`] where that is no mode.
    pub fn of_run(metadata: &Object) -> Result<Self, FieldError> {
        let Some(stored) = metadata.get(Self::KEY) else { return Ok(Self::Normal) };
        let mode = stored.as_str().and_then(Self::from_stored);
        mode.ok_or_else(|| FieldError { field: Some(Self::KEY.to_owned()), message: format!("{stored} is no mode") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WRK-1: a run's row names its mode where that is not normal, and a mode that nobody knows is taken for none.
    #[test]
    fn a_mode_is_read_as_it_was_written() {
        let row = |mode: Value| Object::from_iter([(RunMode::KEY.to_owned(), mode)]);
        assert_eq!(RunMode::of_run(&Object::new()), Ok(RunMode::Normal));
        for mode in RunMode::ALL {
            assert_eq!(RunMode::of_run(&row(mode.as_str().into())), Ok(*mode));
        }
        for damaged in [Value::Null, Value::from("other"), Value::from(1)] {
            assert!(RunMode::of_run(&row(damaged)).unwrap_err().to_string().contains("mode"));
        }
    }

    /// STO-2, STO-9: what a run's row says of a child is read as it was written; a row without it is no child's, and one that cannot be
    /// read is an error.
    #[test]
    fn an_origin_is_read_as_it_was_written() {
        let sub = ChildOrigin {
            parent_run_id: RunId::parse("run_1").unwrap(),
            parent_tool_call_id: ToolCallId::parse("call_1").unwrap(),
            role: AgentRole::Sub,
            agent_definition_id: "default_sub_agent".to_owned(),
            worker: None,
        };
        let worker = WorkerOrigin {
            worker_id: Some("builder".to_owned()),
            worker_pool_id: PoolId::parse("code").unwrap(),
            task_id: TaskId::parse("release").unwrap(),
            allowed_step_ids: Some(BTreeSet::from([StepId::parse("build").unwrap()])),
        };
        let worker = ChildOrigin { role: AgentRole::Worker, worker: Some(worker), ..sub.clone() };
        for origin in [sub, worker] {
            assert_eq!(ChildOrigin::read(&origin.clone().into_metadata()), Ok(Some(origin)));
        }
        assert_eq!(ChildOrigin::read(&Object::new()), Ok(None));
        for damaged in [Value::Null, Value::from("run_1"), serde_json::json!({"parent_run_id": "run_1"})] {
            let metadata = Object::from_iter([(ChildOrigin::KEY.to_owned(), damaged)]);
            assert!(ChildOrigin::read(&metadata).unwrap_err().to_string().contains("child"));
        }
    }
}
