//! What the metadata of rows say.

use std::sync::Arc;

use agent_protocol::internal::{DEFINITION, PURPOSE, WORKER, WORKER_POOL};
use agent_protocol::{ChildOrigin, FieldError, RunId, RunMode};
use agent_store::{AgentInfo, RunInfo, StoreError};
use serde_json::Value;

/// How a run of the session's own agent works.
pub(crate) fn mode_of(run: &RunInfo) -> Result<RunMode, StoreError> {
    RunMode::of_run(&run.metadata).map_err(|why| damaged("runs", run.run_id.as_str(), why))
}

/// What a child's run says of its place; nothing where an older build stored it, or it is no child's.
pub(crate) fn origin_of(run: &RunInfo) -> Result<Option<ChildOrigin>, StoreError> {
    ChildOrigin::read(&run.metadata).map_err(|why| damaged("runs", run.run_id.as_str(), why))
}

/// The run that asked for this one: as the run itself says, or, of older builds, the one that made its agent.
pub(crate) fn parent_of(origin: Option<&ChildOrigin>, agent: Option<&AgentInfo>) -> Option<RunId> {
    origin.map(|origin| origin.parent_run_id.clone()).or_else(|| agent?.created_by_run_id.clone())
}

/// What an agent's row says of who it is.
#[derive(Debug, Default)]
pub(crate) struct Who {
    pub(crate) purpose: Option<String>,
    pub(crate) definition: Option<String>,
    pub(crate) worker: Option<String>,
    pub(crate) worker_pool: Option<String>,
}

impl Who {
    pub(crate) fn of(agent: &AgentInfo) -> Result<Self, StoreError> {
        let text = |key| word(agent, key);
        Ok(Self {
            purpose: text(PURPOSE)?,
            definition: text(DEFINITION)?,
            worker: text(WORKER)?,
            worker_pool: text(WORKER_POOL)?,
        })
    }
}

fn word(agent: &AgentInfo, key: &str) -> Result<Option<String>, StoreError> {
    match agent.metadata.get(key) {
        None => Ok(None),
        Some(Value::String(word)) => Ok(Some(word.clone())),
        Some(other) => {
            let why = FieldError { field: Some(key.to_owned()), message: format!("{other} is no text") };
            Err(damaged("agents", agent.agent_id.as_str(), why))
        }
    }
}

fn damaged(table: &'static str, id: &str, why: FieldError) -> StoreError {
    StoreError::CorruptRow { table, id: id.to_owned(), column: "metadata_json".to_owned(), source: Arc::new(why) }
}
