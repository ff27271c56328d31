//! What can be asked.

use std::path::Path;
use std::sync::Arc;

use agent_protocol::{AgentId, ArtifactId, EventType, Node, NodeId, RunId, RuntimeEvent, SessionId};
use rusqlite::{Connection, Params, Row};

use super::decode;
use super::fault::Outcome;
use super::sql;
use crate::error::StoreError;
use crate::hash::ContentHash;
use crate::rows::{AgentInfo, ArtifactInfo, RunInfo, SessionInfo};

pub(super) fn session(conn: &Connection, session_id: &SessionId) -> Outcome<Option<SessionInfo>> {
    first(conn, sql::SESSION, [session_id.as_str()], decode::session)
}

pub(super) fn agent(conn: &Connection, agent_id: &AgentId) -> Outcome<Option<AgentInfo>> {
    first(conn, sql::AGENT, [agent_id.as_str()], decode::agent)
}

pub(super) fn node(conn: &Connection, node_id: &NodeId) -> Outcome<Option<Node>> {
    first(conn, sql::NODE, [node_id.as_str()], decode::node)
}

pub(super) fn run(conn: &Connection, run_id: &RunId) -> Outcome<Option<RunInfo>> {
    first(conn, sql::RUN, [run_id.as_str()], decode::run)
}

/// The run of a session's root agent that began last.
pub(super) fn last_run(conn: &Connection, session_id: &SessionId) -> Outcome<Option<RunInfo>> {
    first(conn, sql::LAST_RUN, [session_id.as_str()], decode::run)
}

pub(super) fn unfinished_runs(conn: &Connection, session_id: &SessionId) -> Outcome<Vec<RunInfo>> {
    all(conn, sql::UNFINISHED_RUNS, [session_id.as_str()], decode::run)
}

pub(super) fn artifact(conn: &Connection, sessions_dir: &Path, id: &ArtifactId) -> Outcome<Option<ArtifactInfo>> {
    first(conn, sql::ARTIFACT, [id.as_str()], |row| decode::artifact(row, sessions_dir))
}

pub(super) fn events(conn: &Connection, session_id: &SessionId, after: u64, limit: u32) -> Outcome<Vec<RuntimeEvent>> {
    all(conn, sql::EVENTS, (session_id.as_str(), within(after), limit), decode::event)
}

pub(super) fn run_events(conn: &Connection, run_id: &RunId, after: u64, limit: u32) -> Outcome<Vec<RuntimeEvent>> {
    all(conn, sql::RUN_EVENTS, (run_id.as_str(), within(after), limit), decode::event)
}

/// A place that the database can be asked for: there is none beyond.
fn within(place: u64) -> u64 {
    place.min(i64::MAX.unsigned_abs())
}

/// Types that have an index of their own, since they are rare and asked for by name; those of [`sql::LAST_RARE_EVENT`].
fn is_rare(event_type: EventType) -> bool {
    ["compact_", "memory_extraction_"].iter().any(|beginning| event_type.as_str().starts_with(beginning))
}

pub(super) fn last_event(
    conn: &Connection,
    session_id: &SessionId,
    event_type: EventType,
) -> Outcome<Option<RuntimeEvent>> {
    let sql = if is_rare(event_type) { sql::LAST_RARE_EVENT } else { sql::LAST_EVENT };
    first(conn, sql, [session_id.as_str(), event_type.as_str()], decode::event)
}

/// Nodes between two places, both included; no more than so many.
pub(super) fn nodes_between(
    conn: &Connection,
    session_id: &SessionId,
    from: u64,
    to: u64,
    limit: u32,
) -> Outcome<Vec<Node>> {
    let (from, to) = (within(from), within(to));
    let mut statement = conn.prepare_cached(sql::NODES)?;
    let mut rows = statement.query((session_id.as_str(), from, to))?;
    let mut nodes = Vec::new();
    while nodes.len() < limit as usize
        && let Some(row) = rows.next()?
    {
        nodes.push(decode::node(row)?);
    }
    Ok(nodes)
}

pub(super) fn blob(conn: &Connection, session_id: &SessionId, hash: &ContentHash) -> Outcome<Option<Arc<[u8]>>> {
    first(conn, sql::BLOB, [session_id.as_str(), hash.as_str()], decode::blob)
}

/// Whether a statement finds a row.
pub(super) fn exists(conn: &Connection, sql: &str, params: impl Params) -> Outcome<bool> {
    Ok(first(conn, sql, params, |_| Ok(()))?.is_some())
}

/// The first row of a statement.
pub(super) fn first<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    decode: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Outcome<Option<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    Ok(rows.next()?.map(decode).transpose()?)
}

/// All rows of a statement.
pub(super) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    mut decode: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Outcome<Vec<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        values.push(decode(row)?);
    }
    Ok(values)
}
