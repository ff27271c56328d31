//! The ways through conversations: none ends at a node that is lost, and sessions and agents stand on nodes that are there.

use std::collections::HashMap;

use agent_protocol::{NodeId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use super::mended::Mended;
use crate::sqlite::fault::Outcome;
use crate::sqlite::path;

/// Puts nodes whose parent is lost below the last node before them, so that what was said later stays in the conversation.
pub(super) fn bridge(conn: &Connection, mended: &mut Mended<'_>) -> Outcome<()> {
    let sql = "
        SELECT session_id, agent_id, node_seq, node_id, parent_id FROM nodes
        WHERE parent_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM nodes AS parent
            WHERE parent.node_id = nodes.parent_id AND parent.session_id = nodes.session_id
                  AND parent.node_seq < nodes.node_seq
        )
        ORDER BY session_id, node_seq";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let rows: Vec<(String, String, i64, String, String)> = rows.collect::<Result<_, _>>()?;
    // Nodes below the same one stay side by side.
    let mut parents: HashMap<(String, String), Option<String>> = HashMap::new();
    for (session, agent, place, node, lost) in rows {
        let key = (agent, lost);
        let parent = match parents.get(&key) {
            Some(parent) => parent.clone(),
            None => before(conn, &session, &key.0, place)?,
        };
        conn.prepare_cached("UPDATE nodes SET parent_id = ?2 WHERE node_id = ?1")?.execute(params![node, parent])?;
        mended.changed(match &parent {
            Some(parent) => format!("node {node}: the node above it, {}, is lost, so it follows node {parent}", key.1),
            None => {
                format!("node {node}: the node above it, {}, is lost, and so is all before, so it is the first", key.1)
            }
        });
        parents.insert(key, parent);
    }
    Ok(())
}

/// The last node before a place below which an agent may have nodes: its own, or the one it was forked from, which may be
/// lost as well.
fn before(conn: &Connection, session: &str, agent: &str, place: i64) -> Outcome<Option<String>> {
    let newest = "SELECT node_id FROM nodes WHERE session_id = ?1 AND agent_id = ?2 AND node_seq < ?3
        ORDER BY node_seq DESC LIMIT 1";
    let own: Option<String> =
        conn.prepare_cached(newest)?.query_row(params![session, agent, place], |row| row.get(0)).optional()?;
    if own.is_some() {
        return Ok(own);
    }
    let forked = "SELECT parent_agent_id FROM agents WHERE agent_id = ?1 AND fork_from_node_id IS NOT NULL";
    let parent: Option<Option<String>> =
        conn.prepare_cached(forked)?.query_row([agent], |row| row.get(0)).optional()?;
    let Some(parent) = parent.flatten() else { return Ok(None) };
    let from: Option<String> =
        conn.prepare_cached(newest)?.query_row(params![session, parent, place], |row| row.get(0)).optional()?;
    conn.prepare_cached("UPDATE agents SET fork_from_node_id = ?2 WHERE agent_id = ?1")?
        .execute(params![agent, from])?;
    Ok(from)
}

/// Where sessions and agents go on must be there, and the way to it.
pub(super) fn ends(conn: &Connection, mended: &mut Mended<'_>) -> Outcome<()> {
    for (table, key, agent) in [("sessions", "session_id", "root_agent_id"), ("agents", "agent_id", "agent_id")] {
        let sql =
            format!("SELECT {key}, session_id, {agent}, active_node_id FROM {table} WHERE active_node_id IS NOT NULL");
        let mut statement = conn.prepare(&sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        let rows: Vec<(String, String, String, String)> = rows.collect::<Result<_, _>>()?;
        for (id, session, agent, active) in rows {
            let Ok(session) = SessionId::parse(&session) else { continue };
            if is_whole(conn, &session, &active) {
                continue;
            }
            let left = last_whole(conn, &session, &agent)?;
            conn.execute(&format!("UPDATE {table} SET active_node_id = ?2 WHERE {key} = ?1"), params![id, left])?;
            let left = left.map_or_else(|| "its beginning".to_owned(), |node| format!("node {node}"));
            mended.changed(format!("{table} {id}: the way to its last node is broken, so it goes on from {left}"));
        }
    }
    let gone = "
        UPDATE sessions SET last_run_id = (SELECT run_id FROM runs
                                           WHERE runs.session_id = sessions.session_id AND agent_id = root_agent_id
                                           ORDER BY number DESC LIMIT 1)
        WHERE last_run_id IS NOT NULL AND last_run_id NOT IN (SELECT run_id FROM runs) RETURNING session_id";
    let mut statement = conn.prepare(gone)?;
    let sessions: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for session in sessions {
        mended.changed(format!("session {session}: its last run is lost, so the one before counts as its last"));
    }
    Ok(())
}

fn is_whole(conn: &Connection, session: &SessionId, node: &str) -> bool {
    NodeId::parse(node).is_ok_and(|node| path::load_path(conn, session, &node).is_ok())
}

/// The newest node of an agent to which a whole way leads.
fn last_whole(conn: &Connection, session: &SessionId, agent: &str) -> Outcome<Option<String>> {
    let sql = "SELECT node_id FROM nodes WHERE session_id = ?1 AND agent_id = ?2 ORDER BY node_seq DESC";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([session.as_str(), agent])?;
    while let Some(row) = rows.next()? {
        let node: String = row.get(0)?;
        if is_whole(conn, session, &node) {
            return Ok(Some(node));
        }
    }
    Ok(None)
}
