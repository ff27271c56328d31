//! Making rows anew that are lost and that others name: sessions, runs and agents. Nothing of a conversation goes because the row
//! above it cannot be read.

use rusqlite::{Connection, params};

use super::mended::Mended;
use crate::sqlite::fault::Outcome;

/// The project of a session whose own is lost. There is no such folder, so that nothing works in a wrong one.
const NO_PROJECT: &str = "/unknown-project";

/// The agent that people talk to, of a row of `sessions`: the one without a parent, or the one that began.
pub(super) const ROOT: &str = "coalesce(
    (SELECT agent_id FROM agents WHERE agents.session_id = sessions.session_id AND parent_agent_id IS NULL
     ORDER BY number LIMIT 1),
    (SELECT agent_id FROM nodes WHERE nodes.session_id = sessions.session_id ORDER BY node_seq LIMIT 1),
    (SELECT parent_agent_id FROM agents WHERE agents.session_id = sessions.session_id ORDER BY number LIMIT 1),
    (SELECT agent_id FROM runs WHERE runs.session_id = sessions.session_id ORDER BY number LIMIT 1),
    (SELECT agent_id FROM events WHERE events.session_id = sessions.session_id AND agent_id IS NOT NULL
     ORDER BY seq LIMIT 1),
    'agent_of_' || session_id)";

/// Makes all of them, from what is readable; how many.
pub(super) fn everything(conn: &Connection, now: &str, usage: &str, mended: &mut Mended<'_>) -> Outcome<u64> {
    let sessions = sessions(conn, mended)?;
    let runs = runs(conn, usage, mended)?;
    let agents = agents(conn, now, mended)?;
    for session in &sessions {
        go_on(conn, session)?;
    }
    let made = [("sessions", sessions.len() as u64), ("runs", runs), ("agents", agents)];
    for (table, made) in made {
        mended.found_again(table, made);
    }
    Ok(made.iter().map(|(_, made)| made).sum())
}

/// Sessions that agents, runs, nodes or an agent's events name. Their root agent is chosen, its row may be lost too.
fn sessions(conn: &Connection, mended: &mut Mended<'_>) -> Outcome<Vec<String>> {
    let sql = "
        SELECT session_id, min(created_at), max(created_at)
        FROM (SELECT session_id, created_at FROM agents UNION ALL SELECT session_id, created_at FROM runs
              UNION ALL SELECT session_id, created_at FROM nodes
              UNION ALL SELECT session_id, created_at FROM events WHERE agent_id IS NOT NULL)
        WHERE session_id NOT IN (SELECT session_id FROM sessions) GROUP BY session_id";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows: Vec<(String, String, String)> = rows.collect::<Result<_, _>>()?;
    let add = "
        INSERT INTO sessions (session_id, cwd, root_agent_id, status, metadata_json, created_at, updated_at, fence)
        VALUES (?1, ?2, '', 'active', '{}', ?3, ?4, 1)";
    for (session, first, last) in &rows {
        conn.prepare_cached(add)?.execute(params![session, NO_PROJECT, first, last])?;
        let root = format!("UPDATE sessions SET root_agent_id = {ROOT} WHERE session_id = ?1");
        conn.prepare_cached(&root)?.execute([session])?;
        mended.changed(format!(
            "session {session}: its row was lost and was made anew from what is left of it; its project is {NO_PROJECT} now, \
             until the session is moved to the right one"
        ));
    }
    Ok(rows.into_iter().map(|(session, ..)| session).collect())
}

/// Session, run and agent, first and last time, first and last node.
type Named = (String, String, String, String, String, Option<i64>, Option<i64>);

/// Runs that nodes and events name, in the order in which they began.
fn runs(conn: &Connection, usage: &str, mended: &mut Mended<'_>) -> Outcome<u64> {
    let sql = "
        SELECT session_id, run_id, min(agent_id), min(created_at), max(created_at), min(place), max(place)
        FROM (SELECT session_id, run_id, agent_id, created_at, node_seq AS place FROM nodes
              UNION ALL
              SELECT session_id, run_id, agent_id, created_at, NULL FROM events
              WHERE run_id IS NOT NULL AND agent_id IS NOT NULL)
        WHERE run_id NOT IN (SELECT run_id FROM runs)
        GROUP BY session_id, run_id ORDER BY session_id, min(created_at), min(place), run_id";
    let add = "
        INSERT OR IGNORE INTO runs (run_id, session_id, agent_id, status, start_node_id, end_node_id, turn_count, usage_json,
                                    metadata_json, created_at, updated_at, number)
        VALUES (?2, ?1, ?3, 'failed', (SELECT node_id FROM nodes WHERE session_id = ?1 AND node_seq = ?6),
                (SELECT node_id FROM nodes WHERE session_id = ?1 AND node_seq = ?7), 0, ?8, '{}', ?4, ?5,
                1 + coalesce((SELECT max(number) FROM runs WHERE session_id = ?1 AND created_at <= ?4), 0))";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    })?;
    let rows: Vec<Named> = rows.collect::<Result<_, _>>()?;
    let mut all = 0;
    for of_session in rows.chunk_by(|one, other| one.0 == other.0) {
        let mut made = 0;
        for (session, run, agent, first, last, start, end) in of_session {
            made +=
                conn.prepare_cached(add)?.execute(params![session, run, agent, first, last, start, end, usage])? as u64;
        }
        if let Some((session, ..)) = of_session.first().filter(|_| made > 0) {
            mended.changed(format!(
                "session {session}: rows of {made} of its runs were lost and were made anew from their messages and events; they \
                 count as failed, and what they used is not known"
            ));
        }
        all += made;
    }
    Ok(all)
}

/// Agents that nodes, runs and sessions name.
fn agents(conn: &Connection, now: &str, mended: &mut Mended<'_>) -> Outcome<u64> {
    // Of another session: it cannot be this one's.
    let stolen = "UPDATE sessions SET root_agent_id = 'agent_of_' || session_id
        WHERE EXISTS (SELECT 1 FROM agents
                      WHERE agents.agent_id = root_agent_id AND agents.session_id <> sessions.session_id)
        RETURNING session_id";
    let mut statement = conn.prepare(stolen)?;
    let stolen: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for session in stolen {
        mended.changed(format!("session {session}: its root agent is that of another session, so it got a new one"));
    }
    let sql = "
        SELECT session_id, agent_id
        FROM (SELECT session_id, root_agent_id AS agent_id FROM sessions UNION SELECT session_id, agent_id FROM nodes
              UNION SELECT session_id, agent_id FROM runs)
        WHERE agent_id NOT IN (SELECT agent_id FROM agents)";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    let add = "
        INSERT OR IGNORE INTO agents (agent_id, session_id, parent_agent_id, agent_type, fork_from_node_id, status,
                                      metadata_json, created_at, updated_at, number, active_node_id)
        SELECT ?2, ?1, nullif(root_agent_id, ?2), iif(root_agent_id = ?2, 'main', iif(fork IS NULL, 'sub', 'fork')), fork,
               'idle', '{}', ?3, ?3,
               iif(root_agent_id = ?2, 1, 1 + (SELECT coalesce(max(number), 1) FROM agents WHERE session_id = ?1)),
               coalesce(iif(root_agent_id = ?2, active_node_id, NULL),
                        (SELECT node_id FROM nodes WHERE session_id = ?1 AND agent_id = ?2 ORDER BY node_seq DESC LIMIT 1))
        FROM (SELECT root_agent_id, active_node_id,
                     (SELECT parent.node_id FROM nodes AS own JOIN nodes AS parent ON parent.node_id = own.parent_id
                      WHERE own.session_id = ?1 AND own.agent_id = ?2 AND parent.agent_id <> ?2 LIMIT 1) AS fork
              FROM sessions WHERE session_id = ?1)";
    let mut made = 0;
    for (session, agent) in rows {
        if conn.prepare_cached(add)?.execute(params![session, agent, now])? > 0 {
            mended.changed(format!("agent {agent} of session {session}: its row was lost and was made anew"));
            made += 1;
        }
    }
    Ok(made)
}

/// A session that was made anew goes on where its root agent does.
fn go_on(conn: &Connection, session: &str) -> Outcome<()> {
    let sql = "
        UPDATE sessions SET
            active_node_id = (SELECT active_node_id FROM agents WHERE agent_id = root_agent_id),
            used = (SELECT max(number) FROM runs WHERE runs.session_id = ?1 AND agent_id = root_agent_id),
            last_run_id = (SELECT run_id FROM runs WHERE runs.session_id = ?1 AND agent_id = root_agent_id
                           ORDER BY number DESC LIMIT 1)
        WHERE session_id = ?1";
    conn.prepare_cached(sql)?.execute([session])?;
    Ok(())
}
