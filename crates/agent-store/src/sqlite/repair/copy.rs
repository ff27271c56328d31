//! Copying rows, around what is damaged.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::sqlite::fault::Outcome;
use crate::sqlite::read::all;

/// A table and how its rows are found.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Its key, in order.
    key: &'static str,
    /// Rows of a session lie together, in the order of this column, which counts them without gaps.
    counted: Option<&'static str>,
}

/// Those before come first, so that what refers to them finds them.
pub(super) const TABLES: &[Table] = &[
    Table { name: "sessions", key: "session_id", counted: None },
    Table { name: "agents", key: "agent_id", counted: None },
    Table { name: "runs", key: "run_id", counted: None },
    Table { name: "nodes", key: "session_id, node_seq", counted: Some("node_seq") },
    Table { name: "events", key: "session_id, seq", counted: Some("seq") },
    Table { name: "artifacts", key: "artifact_id", counted: None },
    Table { name: "blobs", key: "session_id, hash", counted: None },
    Table { name: "file_versions", key: "session_id, agent_id, path", counted: None },
];

/// Those that what was copied before names: the row of one may be lost.
const SESSIONS: &str = "SELECT session_id FROM sessions UNION SELECT session_id FROM agents
    UNION SELECT session_id FROM runs UNION SELECT session_id FROM nodes";

/// Copies what can be read of a table: from both ends and, where rows of a session lie together, from both ends of each session.
/// How many rows are lost, at least.
pub(super) fn table(old: &Connection, new: &Connection, table: &Table) -> Outcome<u64> {
    let columns = common_columns(old, new, table.name)?;
    let mut copying = Copying { old, new, table, columns: columns.join(", "), count: columns.len(), refused: 0 };
    let mut met_damage = copying.ends("1", &[])?;
    if met_damage && table.counted.is_some() {
        let sessions = all(new, SESSIONS, [], |row| Ok(row.get::<_, String>(0).ok()))?;
        for session in sessions.into_iter().flatten() {
            met_damage |= copying.ends("session_id = ?1", &[session])?;
        }
    }
    let gaps = match table.counted {
        Some(place) => new.query_row(
            &format!(
                "SELECT coalesce(sum(last - rows), 0)
                 FROM (SELECT max({place}) AS last, count(*) AS rows FROM {} GROUP BY session_id)",
                table.name
            ),
            [],
            |row| row.get::<_, i64>(0),
        )?,
        None => 0,
    };
    let gaps = u64::try_from(gaps).unwrap_or(0);
    // A page that cannot be read held one row at least.
    let least = u64::from(met_damage && gaps == 0);
    Ok(gaps.max(copying.refused).max(least))
}

struct Copying<'c> {
    old: &'c Connection,
    new: &'c Connection,
    table: &'c Table,
    columns: String,
    count: usize,
    /// Rows that were read and are none.
    refused: u64,
}

impl Copying<'_> {
    /// Copies rows from the first one on and, where damage ends that, from the last one backwards; whether there was damage.
    fn ends(&mut self, which: &str, of: &[String]) -> Outcome<bool> {
        if self.walk(which, of, "")? {
            return Ok(false);
        }
        self.walk(which, of, " DESC")?;
        Ok(true)
    }

    /// Whether it came to the end.
    fn walk(&mut self, which: &str, of: &[String], direction: &str) -> Outcome<bool> {
        let Table { name, key, .. } = self.table;
        let order: Vec<_> = key.split(", ").map(|column| format!("{column}{direction}")).collect();
        let sql = format!("SELECT {} FROM {name} WHERE {which} ORDER BY {}", self.columns, order.join(", "));
        let places: Vec<_> = (1..=self.count).map(|at| format!("?{at}")).collect();
        let add = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({})", self.columns, places.join(", "));
        // What cannot even be asked for cannot be read.
        let Ok(mut statement) = self.old.prepare(&sql) else { return Ok(false) };
        let Ok(mut rows) = statement.query(params_from_iter(of)) else { return Ok(false) };
        let mut insert = self.new.prepare_cached(&add)?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    let taken = self.values(row).is_some_and(|values| insert.execute(params_from_iter(values)).is_ok());
                    // Later walks meet the same ones again.
                    self.refused += u64::from(!taken && direction.is_empty() && of.is_empty());
                }
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
    }

    /// None where the text of a column is no text.
    fn values(&self, row: &Row<'_>) -> Option<Vec<Value>> {
        (0..self.count).map(|at| row.get(at).ok()).collect()
    }
}

fn common_columns(old: &Connection, new: &Connection, table: &str) -> Outcome<Vec<String>> {
    let columns = |conn: &Connection| -> Outcome<Vec<String>> {
        let mut statement = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    };
    let known = columns(old)?;
    Ok(columns(new)?.into_iter().filter(|column| known.contains(column)).collect())
}
