//! Making what was copied one whole: rows that cannot be read go, or get a neutral value where others depend on them.

use agent_protocol::{SessionId, Usage};
use rusqlite::{Connection, Row, params};

use crate::error::StoreError;
use crate::settings::Clock;
use crate::sqlite::fault::Outcome;
use crate::sqlite::json::encode;
use crate::sqlite::read::all;
use crate::sqlite::{decode, path, sql};

type Lost = Vec<(&'static str, u64)>;

/// What a column gets that cannot be read, of a row that others depend on. Ids and what is not named here cannot be made up.
const NEUTRAL: &[(&str, &str)] = &[
    ("metadata_json", "'{}'"),
    ("error_json", "NULL"),
    ("result_json", "NULL"),
    ("end_reason", "NULL"),
    ("turn_count", "0"),
    ("created_at", "?2"),
    ("updated_at", "?2"),
    ("usage_json", "?3"),
    ("parent_session_id", "NULL"),
    ("active_node_id", "NULL"),
    ("start_node_id", "NULL"),
    ("end_node_id", "NULL"),
    ("parent_agent_id", "NULL"),
    ("created_by_run_id", "NULL"),
    ("fork_from_node_id", "NULL"),
    ("owner_pid", "NULL"),
    ("owner_host", "NULL"),
    ("owner_since", "NULL"),
    ("agent_type", "'main'"),
];

/// Mends everything, in the transaction of the copy.
pub(super) fn everything(conn: &Connection, clock: &Clock, lost: &mut Lost, mended: &mut Vec<String>) -> Outcome<()> {
    let (now, usage) = (clock.now().as_str().to_owned(), encode("usage_json", &Usage::default())?);
    for &(table, key, statement, read) in ROWS {
        let neutral = Neutral { conn, table, key, now: &now, usage: &usage };
        for id in unreadable(conn, key, statement, read)? {
            neutral.mend(&id, statement, read, lost, mended)?;
        }
    }
    orphans(conn, lost)?;
    ends(conn, mended)
}

type ReadRow = fn(&Row<'_>) -> Result<(), StoreError>;

/// Tables whose rows are read back: what tells their rows apart, and all of their rows.
const ROWS: &[(&str, &str, &str, ReadRow)] = &[
    ("sessions", "session_id", sql::REPAIRED_SESSIONS, |row| decode::session(row).map(drop)),
    ("agents", "agent_id", sql::REPAIRED_AGENTS, |row| decode::agent(row).map(drop)),
    ("runs", "run_id", sql::REPAIRED_RUNS, |row| decode::run(row).map(drop)),
    ("nodes", "node_id", sql::REPAIRED_NODES, |row| decode::node(row).map(drop)),
    ("events", "event_id", sql::REPAIRED_EVENTS, |row| decode::event(row).map(drop)),
    ("artifacts", "artifact_id", sql::REPAIRED_ARTIFACTS, |row| {
        decode::artifact(row, std::path::Path::new("/")).map(drop)
    }),
    ("blobs", "session_id || ' ' || hash", sql::REPAIRED_BLOBS, |row| decode::blob(row).map(drop)),
    ("file_versions", "session_id || ' ' || agent_id || ' ' || path", sql::REPAIRED_FILE_VERSIONS, |row| {
        decode::file_version(row).map(drop)
    }),
];

/// The keys of rows that cannot be read.
fn unreadable(conn: &Connection, key: &str, statement: &str, read: ReadRow) -> Outcome<Vec<String>> {
    let rows = all(conn, &format!("SELECT *, {key} AS row_key FROM ({statement})"), [], |row| {
        let failed = read(row).is_err();
        Ok(row.get::<_, String>("row_key").ok().filter(|_| failed))
    });
    Ok(rows?.into_iter().flatten().collect())
}

struct Neutral<'c> {
    conn: &'c Connection,
    table: &'static str,
    key: &'static str,
    now: &'c str,
    usage: &'c str,
}

impl Neutral<'_> {
    fn mend(&self, id: &str, statement: &str, read: ReadRow, lost: &mut Lost, mended: &mut Vec<String>) -> Outcome<()> {
        let one = format!("SELECT * FROM ({statement}) WHERE {} = ?1", self.key);
        let depended_on = matches!(self.table, "sessions" | "agents" | "runs");
        // Each column once at most.
        for _ in NEUTRAL {
            let damaged = all(self.conn, &one, [id], |row| Ok(read(row).err()))?.into_iter().flatten().next();
            let Some(StoreError::CorruptRow { column, .. }) = damaged else { return Ok(()) };
            let value = match (self.table, column.as_str()) {
                ("sessions", "status") => Some("'active'"),
                ("agents", "status") => Some("'idle'"),
                ("runs", "status") => Some("'failed'"),
                (_, column) => NEUTRAL.iter().find(|(name, _)| *name == column).map(|(_, value)| *value),
            };
            let Some(value) = value.filter(|_| depended_on) else { break };
            let set = if column.starts_with("owner_") {
                "owner_pid = NULL, owner_host = NULL, owner_since = NULL".to_owned()
            } else {
                format!("{column} = {value}")
            };
            let sql = format!(
                "UPDATE {} SET {set} WHERE {} = ?1 AND ?2 IS NOT NULL AND ?3 IS NOT NULL",
                self.table, self.key
            );
            self.conn.execute(&sql, params![id, self.now, self.usage])?;
            mended.push(format!("{} {id}: {column} could not be read and was set to a neutral value", self.table));
        }
        let gone = self.conn.execute(&format!("DELETE FROM {} WHERE {} = ?1", self.table, self.key), [id])?;
        count(lost, self.table, gone);
        Ok(())
    }
}

fn count(lost: &mut Lost, table: &'static str, rows: usize) {
    match lost.iter_mut().find(|(name, _)| *name == table) {
        Some((_, count)) => *count += rows as u64,
        None => lost.push((table, rows as u64)),
    }
}

/// Rows of sessions that are gone.
fn orphans(conn: &Connection, lost: &mut Lost) -> Outcome<()> {
    for table in ["agents", "runs", "nodes", "events", "artifacts", "blobs", "file_versions"] {
        let sql = format!("DELETE FROM {table} WHERE session_id NOT IN (SELECT session_id FROM sessions)");
        let gone = conn.execute(&sql, [])?;
        if gone > 0 {
            count(lost, table, gone);
        }
    }
    Ok(())
}

/// Where sessions and agents go on must be there, and the way to it.
fn ends(conn: &Connection, mended: &mut Vec<String>) -> Outcome<()> {
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
            mended.push(format!("{table} {id}: the way to its last node is broken, so it goes on from {left}"));
        }
    }
    let gone = "last_run_id IS NOT NULL AND last_run_id NOT IN (SELECT run_id FROM runs)";
    let latest = "(SELECT run_id FROM runs WHERE runs.session_id = sessions.session_id AND agent_id = root_agent_id
                   ORDER BY number DESC LIMIT 1)";
    conn.execute(&format!("UPDATE sessions SET last_run_id = {latest} WHERE {gone}"), [])?;
    Ok(())
}

fn is_whole(conn: &Connection, session: &SessionId, node: &str) -> bool {
    agent_protocol::NodeId::parse(node).is_ok_and(|node| path::load_path(conn, session, &node).is_ok())
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
