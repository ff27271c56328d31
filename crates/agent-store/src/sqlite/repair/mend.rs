//! Making what was copied one whole: rows that cannot be read go, or get a neutral value where others depend on them.

use agent_protocol::Usage;
use rusqlite::{Connection, Row, params};

use super::mended::Mended;
use super::{anew, ways};
use crate::error::StoreError;
use crate::settings::Clock;
use crate::sqlite::fault::Outcome;
use crate::sqlite::json::encode;
use crate::sqlite::read::all;
use crate::sqlite::{decode, sql};

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

/// Where what cannot say any more where it stands goes on.
const LAST_OF_SESSION: &str = "(SELECT node_id FROM nodes
    WHERE nodes.session_id = sessions.session_id AND nodes.agent_id = root_agent_id ORDER BY node_seq DESC LIMIT 1)";
const LAST_OF_AGENT: &str = "(SELECT node_id FROM nodes
    WHERE nodes.session_id = agents.session_id AND nodes.agent_id = agents.agent_id ORDER BY node_seq DESC LIMIT 1)";

/// Mends everything, in the transaction of the copy; how many rows were made anew.
pub(super) fn everything(conn: &Connection, clock: &Clock, mended: &mut Mended<'_>) -> Outcome<u64> {
    let (now, usage) = (clock.now().as_str().to_owned(), encode("usage_json", &Usage::default())?);
    for &(table, key, statement, read) in ROWS {
        let neutral = Neutral { conn, table, key, now: &now, usage: &usage };
        for id in unreadable(conn, key, statement, read)? {
            neutral.mend(&id, statement, read, mended)?;
        }
    }
    let made = anew::everything(conn, &now, &usage, mended)?;
    orphans(conn, mended)?;
    runs_without_a_row(conn, mended)?;
    ways::bridge(conn, mended)?;
    ways::ends(conn, mended)?;
    Ok(made)
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
    fn mend(&self, id: &str, statement: &str, read: ReadRow, mended: &mut Mended<'_>) -> Outcome<()> {
        let one = format!("SELECT * FROM ({statement}) WHERE {} = ?1", self.key);
        let depended_on = matches!(self.table, "sessions" | "agents" | "runs");
        // Each column once at most; a row has fewer of them.
        for _ in NEUTRAL {
            let damaged = all(self.conn, &one, [id], |row| Ok(read(row).err()))?.into_iter().flatten().next();
            let Some(StoreError::CorruptRow { column, .. }) = damaged else { return Ok(()) };
            let value = match (self.table, column.as_str()) {
                ("sessions", "status") => Some("'active'"),
                ("agents", "status") => Some("'idle'"),
                ("runs", "status") => Some("'failed'"),
                ("sessions", "root_agent_id") => Some(anew::ROOT),
                ("sessions", "active_node_id") => Some(LAST_OF_SESSION),
                ("agents", "active_node_id") => Some(LAST_OF_AGENT),
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
            mended.changed(format!("{} {id}: {column} could not be read and was set to a neutral value", self.table));
        }
        let gone = self.conn.execute(&format!("DELETE FROM {} WHERE {} = ?1", self.table, self.key), [id])?;
        mended.lost(self.table, gone as u64);
        Ok(())
    }
}

/// Rows of sessions that are gone, and of which too little is left to make them anew.
fn orphans(conn: &Connection, mended: &mut Mended<'_>) -> Outcome<()> {
    for table in ["agents", "runs", "nodes", "events", "artifacts", "blobs", "file_versions"] {
        let sql = format!("DELETE FROM {table} WHERE session_id NOT IN (SELECT session_id FROM sessions)");
        let gone = conn.execute(&sql, [])?;
        if gone > 0 {
            mended.lost(table, gone as u64);
        }
    }
    Ok(())
}

/// Runs that events name, of which too little is left to make them anew.
fn runs_without_a_row(conn: &Connection, mended: &mut Mended<'_>) -> Outcome<()> {
    let sql = "
        SELECT count(*) FROM (SELECT run_id FROM nodes UNION SELECT run_id FROM events WHERE run_id IS NOT NULL)
        WHERE run_id NOT IN (SELECT run_id FROM runs)";
    let missing: u64 = conn.query_row(sql, [], |row| row.get(0))?;
    if missing > 0 {
        mended.lost("runs", missing);
    }
    Ok(())
}
