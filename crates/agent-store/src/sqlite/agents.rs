//! What belongs to one agent of a session.

use std::sync::Arc;

use agent_protocol::{AgentId, RunId, RuntimeEvent, SessionId};
use rusqlite::Connection;

use super::fault::Outcome;
use super::read::{self, all, first};
use super::{decode, sql};
use crate::error::StoreError;
use crate::rows::{AgentInfo, FileVersion, LastContext, LoadedAgent, RunInfo, SessionInfo};

pub(super) fn load(conn: &Connection, session_id: &SessionId, agent_id: &AgentId) -> Outcome<LoadedAgent> {
    let row = read::agent(conn, agent_id)?.filter(|row| row.session_id == *session_id).ok_or_else(|| {
        StoreError::NotInSession { session_id: session_id.clone(), kind: "agent", id: agent_id.to_string() }
    })?;
    let file_versions = file_versions(conn, session_id, agent_id)?;
    Ok(LoadedAgent { row, file_versions, last_context: last_context(conn, agent_id)? })
}

/// The agent that users of a session talk to.
pub(super) fn root(conn: &Connection, session: &SessionInfo) -> Outcome<AgentInfo> {
    let root = read::agent(conn, &session.root_agent_id)?.filter(|row| row.session_id == session.session_id);
    root.ok_or_else(|| {
        let (id, column) = (session.session_id.to_string(), "root_agent_id".to_owned());
        let source = Arc::new(NoSuchAgent(session.root_agent_id.clone()));
        StoreError::CorruptRow { table: "sessions", id, column, source }.into()
    })
}

#[derive(Debug, thiserror::Error)]
#[error("the session has no agent {0}")]
struct NoSuchAgent(AgentId);

pub(super) fn file_versions(
    conn: &Connection,
    session_id: &SessionId,
    agent_id: &AgentId,
) -> Outcome<Vec<FileVersion>> {
    all(conn, sql::FILE_VERSIONS, [session_id.as_str(), agent_id.as_str()], decode::file_version)
}

pub(super) fn written_files(conn: &Connection, session_id: &SessionId) -> Outcome<Vec<FileVersion>> {
    all(conn, sql::WRITTEN_FILES, [session_id.as_str()], decode::file_version)
}

/// The newest request of an agent, and what its run reported next.
fn last_context(conn: &Connection, agent_id: &AgentId) -> Outcome<Option<LastContext>> {
    let Some(built) = first(conn, sql::LAST_CONTEXT, [agent_id.as_str()], decode::event)? else {
        return Ok(None);
    };
    let next = match (&built.run_id, built.run_seq) {
        (Some(run_id), Some(run_seq)) => following(conn, run_id, run_seq)?,
        _ => None,
    };
    Ok(Some(LastContext { built, next }))
}

fn following(conn: &Connection, run_id: &RunId, run_seq: u64) -> Outcome<Option<RuntimeEvent>> {
    Ok(read::run_events(conn, run_id, run_seq, 1)?.pop())
}

/// Runs of the agents that a run made.
pub(super) fn children(conn: &Connection, run_id: &RunId) -> Outcome<Vec<RunInfo>> {
    all(conn, sql::CHILDREN, [run_id.as_str()], decode::run)
}
