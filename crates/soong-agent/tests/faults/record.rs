//! What is stored, seen from outside: the file through SQLite itself, a session through the store.

use std::path::Path;

use agent_core::RuntimeEvent;
use agent_core::id::SessionId;
use agent_core::message::ContentBlock;
use agent_core::session::{Node, Role};
use agent_store::{SessionStore, SqliteStore, StoreError};
use rusqlite::{Connection, OpenFlags};

/// Queries that find something only in a record that has a gap or hangs in the air.
const GAPS: &[(&str, &str)] = &[
    (
        "a gap in seq (STO-3)",
        "SELECT session_id FROM events GROUP BY session_id HAVING min(seq) <> 1 OR max(seq) <> count(*)",
    ),
    (
        "a gap in node_seq (STO-3)",
        "SELECT session_id FROM nodes GROUP BY session_id HAVING min(node_seq) <> 1 OR max(node_seq) <> count(*)",
    ),
    (
        "a gap in run_seq",
        "SELECT run_id FROM events WHERE run_id IS NOT NULL GROUP BY run_id
         HAVING min(run_seq) <> 1 OR max(run_seq) <> count(*)",
    ),
    (
        "a node without its parent",
        "SELECT node_id FROM nodes AS child WHERE parent_id IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM nodes WHERE node_id = child.parent_id AND session_id = child.session_id
                                    AND node_seq < child.node_seq)",
    ),
    (
        "an event about a node that is not there",
        "SELECT event_id FROM events WHERE node_id IS NOT NULL AND node_id NOT IN (SELECT node_id FROM nodes)",
    ),
    (
        "a node without an event (STO-3)",
        "SELECT node_id FROM nodes WHERE node_type = 'message'
         AND node_id NOT IN (SELECT node_id FROM events WHERE node_id IS NOT NULL)",
    ),
    (
        "an active node that is not there",
        "SELECT session_id FROM sessions WHERE active_node_id IS NOT NULL
         AND active_node_id NOT IN (SELECT node_id FROM nodes)",
    ),
    (
        "an event of a run that is not there",
        "SELECT event_id FROM events WHERE run_id NOT IN (SELECT run_id FROM runs)",
    ),
    ("a run without an agent", "SELECT run_id FROM runs WHERE agent_id NOT IN (SELECT agent_id FROM agents)"),
];

/// The database, only to be looked at.
pub(crate) struct Record(Connection);

impl Record {
    /// # Errors
    /// If SQLite cannot open it.
    pub(crate) fn open(database: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(std::time::Duration::from_secs(20))?;
        Ok(Self(connection))
    }

    /// Whether the schema is there: a process may have been killed before.
    pub(crate) fn has_schema(&self) -> bool {
        self.0.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).is_ok_and(|tables: u64| tables > 0)
    }

    fn column(&self, sql: &str) -> rusqlite::Result<Vec<String>> {
        self.0.prepare(sql)?.query_map([], |row| row.get::<_, String>(0))?.collect()
    }

    /// The contents of nodes of replies that were broken off.
    pub(crate) fn partial_nodes(&self, session: &str) -> Vec<String> {
        let sql = "SELECT content_json FROM nodes WHERE session_id = ?1 AND json_extract(metadata_json, '$.partial')";
        let mut statement = self.0.prepare(sql).unwrap();
        statement.query_map([session], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    pub(crate) fn sessions(&self) -> Vec<String> {
        self.column("SELECT session_id FROM sessions ORDER BY session_id").unwrap()
    }

    /// Everything that is wrong with the file and its rows, in words.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match self.column("PRAGMA integrity_check") {
            Ok(said) if said == ["ok"] => {}
            said => faults.push(format!("integrity_check: {said:?}")),
        }
        let strays = self.0.prepare("PRAGMA foreign_key_check").and_then(|mut it| it.exists([]));
        if !matches!(strays, Ok(false)) {
            faults.push(format!("foreign_key_check: {strays:?}"));
        }
        for (what, sql) in GAPS {
            match self.column(sql) {
                Ok(found) if found.is_empty() => {}
                found => faults.push(format!("{what}: {found:?}")),
            }
        }
        faults
    }
}

/// A session as the store gives it back.
pub(crate) struct Stored {
    /// The active path, from its root.
    pub(crate) path: Vec<Node>,
    pub(crate) events: Vec<RuntimeEvent>,
    /// Replies that were broken off, as JSON.
    pub(crate) beside: Vec<String>,
    /// Runs that have not ended.
    pub(crate) unfinished: usize,
}

impl Stored {
    /// # Errors
    /// In words, if something of it cannot be read.
    pub(crate) async fn read(store: &SqliteStore, session: &str) -> Result<Self, String> {
        let failed = |error: StoreError| format!("{session} cannot be read: {error}");
        let id = SessionId::parse(session).unwrap();
        let row = store.session(&id).await.map_err(failed)?.ok_or_else(|| format!("{session} is gone"))?;
        let path = match row.active_node_id {
            Some(leaf) => store.load_path(&id, &leaf).await.map_err(failed)?,
            None => Vec::new(),
        };
        let events = store.events(&id, 0, u32::MAX).await.map_err(failed)?;
        let unfinished = store.unfinished_runs(&id).await.map_err(failed)?.len();
        Ok(Self { path, events, beside: Vec::new(), unfinished })
    }

    /// The first thing a user said: it tells sessions apart.
    pub(crate) fn first_message(&self) -> Option<String> {
        self.path.iter().find(|node| node.role == Role::User).map(text)
    }

    /// Calls of the path with another number of results than one.
    pub(crate) fn unpaired(&self) -> Vec<String> {
        let blocks = || self.path.iter().flat_map(|node| node.content.iter());
        let results: Vec<_> = blocks().filter_map(result_of).collect();
        let calls = blocks().filter_map(ContentBlock::as_tool_call).map(|call| call.tool_call_id.to_string());
        calls.filter(|call| results.iter().filter(|(id, _)| id == call).count() != 1).collect()
    }

    /// Results that say that their call was interrupted (RUN-20).
    pub(crate) fn interrupted(&self) -> usize {
        let results = self.path.iter().flat_map(|node| node.content.iter()).filter_map(result_of);
        results.filter(|(_, text)| text.contains("may or may not have run")).count()
    }

    /// The events of the run that stored something last.
    pub(crate) fn last_run(&self) -> impl Iterator<Item = &RuntimeEvent> {
        let run = self.events.last().and_then(|event| event.run_id.clone());
        self.events.iter().filter(move |event| event.run_id == run)
    }

    /// The texts that an event of this type has under this key.
    pub(crate) fn told(&self, event_type: &str, key: &str) -> Vec<&str> {
        let events = self.events.iter().filter(|event| event.event_type.as_str() == event_type);
        events.filter_map(|event| event.payload.get(key)?.as_str()).collect()
    }
}

/// The call that a result answers, and its text.
pub(crate) fn result_of(block: &ContentBlock) -> Option<(String, String)> {
    match block {
        ContentBlock::ToolResult(result) => Some((result.tool_call_id.to_string(), joined(result.content.iter()))),
        _ => None,
    }
}

/// What is said in a node, calls and results aside.
pub(crate) fn text(node: &Node) -> String {
    joined(node.content.iter())
}

fn joined<'b>(blocks: impl Iterator<Item = &'b ContentBlock>) -> String {
    blocks.filter_map(ContentBlock::to_model_text).collect::<Vec<_>>().join("\n")
}
