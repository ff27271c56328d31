//! Databases to measure on, made through the store as runs would make them. What is said in them is the same each time.

mod long;
mod many;

pub(crate) use long::Long;
pub(crate) use many::{Many, RARE_WORD};

use std::path::Path;
use std::time::Duration;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, EndReason, NodeId, Object, RunId, RunPatch, RunStatus, SessionId, Usage,
};
use agent_store::{Clock, Commit, NewRun, NewSession, SqliteStore, StoreSettings, Write};
use uuid::Uuid;

use crate::error::BenchError;

/// A store as a runtime opens it.
pub(crate) async fn open(database: &Path, sessions_dir: &Path) -> Result<SqliteStore, BenchError> {
    let settings = StoreSettings {
        database: database.to_owned(),
        sessions_dir: sessions_dir.to_owned(),
        busy_timeout: Duration::from_secs(30),
        clock: Clock::system(),
    };
    Ok(SqliteStore::open(settings).await?)
}

/// The ids of a session, its agent and one of its runs.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    pub(crate) session_id: SessionId,
    pub(crate) agent_id: AgentId,
    pub(crate) run_id: RunId,
}

impl Ids {
    /// As a runtime makes them.
    pub(crate) fn fresh() -> Result<Self, BenchError> {
        Ok(Self {
            session_id: SessionId::parse(&fresh(SessionId::PREFIX))?,
            agent_id: AgentId::parse(&fresh(AgentId::PREFIX))?,
            run_id: RunId::parse(&fresh(RunId::PREFIX))?,
        })
    }

    /// The same session and agent, another run.
    pub(crate) fn next_run(&self) -> Result<Self, BenchError> {
        Ok(Self { run_id: RunId::parse(&fresh(RunId::PREFIX))?, ..self.clone() })
    }

    pub(crate) fn session(&self, cwd: &str) -> NewSession {
        NewSession {
            session_id: self.session_id.clone(),
            cwd: cwd.to_owned(),
            root_agent_id: self.agent_id.clone(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        }
    }

    pub(crate) fn commit(&self, writes: Vec<Write>) -> Commit {
        Commit { agent_id: self.agent_id.clone(), run_id: self.run_id.clone(), writes }
    }

    pub(crate) fn node(&self, number: usize) -> Result<NodeId, BenchError> {
        Ok(NodeId::parse(&format!("{}{}_{number}", NodeId::PREFIX, self.run_id.stem()))?)
    }

    pub(crate) fn run(&self) -> Write {
        Write::Run(NewRun {
            run_id: self.run_id.clone(),
            agent_id: self.agent_id.clone(),
            status: RunStatus::Running,
            start_node_id: None,
            metadata: Object::new(),
        })
    }

    /// What the end of a run stores: the path ends at this node.
    pub(crate) fn end(&self, turns: u32, last: &NodeId) -> [Write; 3] {
        let usage = Usage { input_tokens: Some(120_000), output_tokens: Some(2_000), ..Usage::default() };
        let patch = RunPatch {
            status: RunStatus::Completed,
            end_reason: Some(EndReason::Completed),
            end_node_id: Some(last.clone()),
            turn_count: turns,
            usage,
            error: None,
        };
        let idle = Write::AgentStatus { agent_id: self.agent_id.clone(), status: AgentStatus::Idle, result: None };
        [Write::Activate(last.clone()), Write::RunPatch(patch), idle]
    }
}

fn fresh(prefix: &str) -> String {
    format!("{prefix}{}", Uuid::now_v7().simple())
}
