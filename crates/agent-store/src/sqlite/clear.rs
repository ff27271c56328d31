//! Deleting rows, so that what they held does not stay in the file.

use agent_protocol::{ArtifactId, SessionId};
use rusqlite::{Connection, params};

use super::fault::Outcome;
use super::overwrite::overwriting;
use super::{search, sql};

/// How many rows a session had.
pub(super) struct Rows {
    pub(super) nodes: u64,
    pub(super) events: u64,
    pub(super) runs: u64,
    pub(super) agents: u64,
    pub(super) artifacts: u64,
}

/// Deletes all rows of a session.
pub(super) fn session(tx: &Connection, session_id: &SessionId) -> Outcome<Rows> {
    overwriting(tx, || {
        search::forget(tx, session_id)?;
        let delete = |sql| -> Outcome<u64> { Ok(tx.prepare_cached(sql)?.execute([session_id.as_str()])? as u64) };
        delete(sql::DELETE_CHECKPOINTS)?;
        let rows = Rows {
            nodes: delete(sql::DELETE_NODES)?,
            events: delete(sql::DELETE_EVENTS)?,
            runs: delete(sql::DELETE_RUNS)?,
            agents: delete(sql::DELETE_AGENTS)?,
            artifacts: delete(sql::DELETE_ARTIFACTS)?,
        };
        delete(sql::DELETE_BLOBS)?;
        delete(sql::DELETE_FILE_VERSIONS)?;
        delete(sql::DELETE_SESSION)?;
        Ok(rows)
    })
}

/// Deletes the rows of artifacts of a session and returns those that were there, each once.
pub(super) fn artifacts(tx: &Connection, session_id: &SessionId, ids: &[ArtifactId]) -> Outcome<Vec<ArtifactId>> {
    overwriting(tx, || {
        let mut statement = tx.prepare_cached(sql::DELETE_ARTIFACT)?;
        let mut gone = Vec::new();
        for id in ids {
            if statement.execute(params![id.as_str(), session_id.as_str()])? == 1 {
                gone.push(id.clone());
            }
        }
        Ok(gone)
    })
}
