//! What can be asked.

use std::path::Path;
use std::sync::Arc;

use agent_protocol::{AgentId, ArtifactId, Node, NodeId, RunId, RuntimeEvent, SessionId};
use rusqlite::{Connection, Params, Row};

use super::decode;
use super::fault::Outcome;
use super::fields::Fields;
use super::sql;
use crate::{AgentRow, ArtifactRow, ContentHash, FileVersion, RunRow, SessionRow, StoreError};

pub(super) fn session(conn: &Connection, session_id: &SessionId) -> Outcome<Option<SessionRow>> {
    first(conn, sql::SESSION, [session_id.as_str()], decode::session)
}

pub(super) fn agent(conn: &Connection, agent_id: &AgentId) -> Outcome<Option<AgentRow>> {
    first(conn, sql::AGENT, [agent_id.as_str()], decode::agent)
}

pub(super) fn run(conn: &Connection, run_id: &RunId) -> Outcome<Option<RunRow>> {
    first(conn, sql::RUN, [run_id.as_str()], decode::run)
}

pub(super) fn unfinished_runs(conn: &Connection, session_id: &SessionId) -> Outcome<Vec<RunRow>> {
    all(conn, sql::UNFINISHED_RUNS, [session_id.as_str()], decode::run)
}

pub(super) fn artifact(conn: &Connection, sessions_dir: &Path, id: &ArtifactId) -> Outcome<Option<ArtifactRow>> {
    first(conn, sql::ARTIFACT, [id.as_str()], |row| decode::artifact(row, sessions_dir))
}

pub(super) fn events(conn: &Connection, session_id: &SessionId, after: u64, limit: u32) -> Outcome<Vec<RuntimeEvent>> {
    all(conn, sql::EVENTS, (session_id.as_str(), after, limit), decode::event)
}

pub(super) fn run_events(conn: &Connection, run_id: &RunId, after: u64, limit: u32) -> Outcome<Vec<RuntimeEvent>> {
    all(conn, sql::RUN_EVENTS, (run_id.as_str(), after, limit), decode::event)
}

pub(super) fn file_versions(conn: &Connection, session_id: &SessionId) -> Outcome<Vec<FileVersion>> {
    all(conn, sql::FILE_VERSIONS, [session_id.as_str()], decode::file_version)
}

pub(super) fn blob(conn: &Connection, session_id: &SessionId, hash: &ContentHash) -> Outcome<Option<Arc<[u8]>>> {
    first(conn, sql::BLOB, [session_id.as_str(), hash.as_str()], decode::blob)
}

/// One node of the path without its body.
struct Vertebra {
    node_id: NodeId,
    parent_id: Option<NodeId>,
    node_seq: u64,
}

/// Nodes of other paths that are passed over rather than looked around.
const MAX_GAP: u64 = 8;

pub(super) fn load_path(conn: &Connection, session_id: &SessionId, leaf: &NodeId) -> Outcome<Vec<Node>> {
    if first(conn, sql::NODE_IS_HERE, [leaf.as_str(), session_id.as_str()], |_| Ok(()))?.is_none() {
        let (session_id, id) = (session_id.clone(), leaf.to_string());
        return Err(StoreError::NotInSession { session_id, kind: "node", id }.into());
    }
    let spine = spine(conn, leaf)?;
    let mut path = Vec::with_capacity(spine.len());
    // A path lies mostly in one piece: one scan for each piece costs a third of one lookup for each node.
    for piece in spine.chunk_by(|before, after| after.node_seq - before.node_seq <= MAX_GAP) {
        load_piece(conn, session_id, piece, &mut path)?;
    }
    Ok(path)
}

/// Adds the bodies of vertebrae whose places lie close together.
fn load_piece(conn: &Connection, session_id: &SessionId, piece: &[Vertebra], path: &mut Vec<Node>) -> Outcome<()> {
    let (Some(from), Some(to)) = (piece.first(), piece.last()) else {
        return Ok(());
    };
    let mut statement = conn.prepare_cached(sql::NODES)?;
    let mut rows = statement.query((session_id.as_str(), from.node_seq, to.node_seq))?;
    let mut wanted = piece.iter().peekable();
    while let Some(row) = rows.next()? {
        // Rows beside the path are not even decoded.
        if wanted
            .next_if(|vertebra| row.get_ref(0).is_ok_and(|id| id.as_str() == Ok(vertebra.node_id.as_str())))
            .is_some()
        {
            path.push(decode::node(row)?);
        }
    }
    match wanted.next() {
        Some(lost) => Err(broken(&lost.node_id).into()),
        None => Ok(()),
    }
}

/// From the root to the leaf, out of the covering index alone (PERF-5). Places grow along it.
fn spine(conn: &Connection, leaf: &NodeId) -> Outcome<Vec<Vertebra>> {
    let mut spine = all(conn, sql::SPINE, [leaf.as_str()], |row| {
        let mut fields = Fields::of("nodes", row);
        Ok(Vertebra {
            node_id: fields.parsed(NodeId::parse)?,
            parent_id: fields.optional(NodeId::parse)?,
            node_seq: fields.count()?,
        })
    })?;
    spine.reverse();
    match spine.first() {
        Some(Vertebra { parent_id: None, .. }) => Ok(spine),
        Some(Vertebra { node_id, .. }) => Err(broken(node_id).into()),
        None => Err(broken(leaf).into()),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the path to the root is broken here")]
struct BrokenPath;

fn broken(node_id: &NodeId) -> StoreError {
    let (id, column) = (node_id.to_string(), "parent_id".to_owned());
    StoreError::CorruptRow { table: "nodes", id, column, source: Arc::new(BrokenPath) }
}

fn first<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    decode: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Outcome<Option<T>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    Ok(rows.next()?.map(decode).transpose()?)
}

fn all<T>(
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
