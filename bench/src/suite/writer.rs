//! The store's writer: commits like those of a turn, beside a bare loop that inserts the same rows.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_protocol::{
    CallEnd, ContentBlock, EventDraft, MessageCreated, NodeDraft, NodeId, NodeType, Object, ResultKind, Role,
    ToolStarted,
};
use agent_store::{Lease, SessionStore, SqliteStore, Write};
use agent_testkit::scratch;
use rusqlite::{Connection, params};
use tokio::task::JoinSet;

use super::definition::Suite;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use crate::stored::{self, Ids};

pub(super) const SUITE: Suite = Suite {
    name: "writer",
    about: "commits of a node of 1 KB and 3 events, beside a bare loop that inserts the same rows, a transaction each",
    by_name_only: false,
    measure,
};

/// Commits of one run, by all callers together.
const COMMITS: usize = 3_200;
const CALLERS: [usize; 2] = [1, 64];
const NODE_BYTES: usize = 1024;

const ADD_NODE: &str = "
    INSERT INTO nodes (session_id, node_seq, node_id, parent_id, agent_id, run_id, role, node_type, content_json,
                       metadata_json, token_count, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'user', 'message', ?7, '{}', 256, ?8)";
const ADD_EVENT: &str = "
    INSERT INTO events (session_id, seq, run_seq, event_id, agent_id, run_id, level, event_type, node_id, payload_json,
                        created_at)
    VALUES (?1, ?2, ?2, ?3, ?4, ?5, 'info', ?6, ?7, ?8, ?9)";
const TIME: &str = "2026-11-30T09:41:43.120Z";

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    // A run takes up to a second, and the database grows.
    let runs = bench.runs.min(10);
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.map_err(BenchError::file("start threads for", "the store"))?;
    let folder = scratch("writer");
    let store = Arc::new(threads.block_on(stored::open(&folder.join("ours.sqlite"), &folder))?);
    let mut rows = Vec::new();
    for callers in CALLERS {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for run in 0..=runs {
            let bare_loop = threads.block_on(BareLoop::open(&folder, callers))?;
            let floor = bare_loop.run()?;
            let took = threads.block_on(together(&store, callers))?;
            // The first one is thrown away.
            if run > 0 {
                bare.push(floor);
                ours.push(took);
            }
        }
        let each = |took: &[Duration]| Samples::new(took.iter().map(|took| took.as_secs_f64() * 1e6 / COMMITS as f64));
        let (ours, bare) = (each(&ours)?, each(&bare)?);
        let speed = Samples::new([1e6 / ours.median()])?;
        let who = if callers == 1 { "1 caller".to_owned() } else { format!("{callers} callers at once") };
        rows.push(Row::new(format!("a commit, {who}"), Unit::Micros, ours).floor(bare));
        rows.push(Row::new(format!("commits a second, {who}"), Unit::Count, speed));
    }
    threads.block_on(store.close());
    std::fs::remove_dir_all(&folder).map_err(BenchError::file("remove", &folder))?;
    Ok(rows)
}

/// All commits, shared out among callers that each have a session and wait for one commit before the next.
async fn together(store: &Arc<SqliteStore>, callers: usize) -> Result<Duration, BenchError> {
    let mut sessions = Vec::new();
    for _ in 0..callers {
        let ids = Ids::fresh()?;
        let lease = store.create_session(ids.session("/bench")).await?;
        store.commit(&lease, ids.commit(vec![ids.run()])).await?;
        sessions.push((ids, lease));
    }
    let (began, mut running) = (Instant::now(), JoinSet::new());
    for (ids, lease) in sessions {
        running.spawn(one_after_another(Arc::clone(store), ids, lease, COMMITS / callers));
    }
    while let Some(ended) = running.join_next().await {
        ended.map_err(|error| BenchError::Setup { what: error.to_string() })??;
    }
    Ok(began.elapsed())
}

async fn one_after_another(store: Arc<SqliteStore>, ids: Ids, lease: Lease, commits: usize) -> Result<(), BenchError> {
    let mut parent = None;
    for number in 0..commits {
        let commit = ids.commit(turn(&ids, number, parent)?);
        parent = Some(ids.node(number)?);
        store.commit(&lease, commit).await?;
    }
    Ok(())
}

/// What the end of a tool stores, or about that.
fn turn(ids: &Ids, number: usize, parent: Option<NodeId>) -> Result<Vec<Write>, BenchError> {
    let node_id = ids.node(number)?;
    let events = events().map(|event| Write::Event(event.node(&node_id)));
    let node = NodeDraft {
        node_id: node_id.clone(),
        parent_id: parent,
        role: Role::User,
        node_type: NodeType::Message,
        content: Arc::from([ContentBlock::text("x".repeat(NODE_BYTES))]),
        metadata: Object::new(),
        token_count: NODE_BYTES as u64 / 4,
    };
    Ok(std::iter::once(Write::Node(node)).chain(events).collect())
}

fn events() -> [EventDraft; 3] {
    let completed = CallEnd {
        tool_name: "code.read_file".to_owned(),
        kind: ResultKind::Ok,
        call: Some("src/module/file.rs".to_owned()),
        summary: Some("50 lines".to_owned()),
        metadata: Object::new(),
        error: None,
    };
    let started =
        ToolStarted { tool_name: "code.read_file".to_owned(), summary: Some("src/module/file.rs".to_owned()) };
    let created = MessageCreated { role: Role::User };
    [completed.into_event(), EventDraft::of(started), EventDraft::of(created)]
}

/// The same rows into a database of the same schema and settings, by prepared statements and nothing else.
struct BareLoop {
    database: Connection,
    sessions: Vec<Ids>,
}

impl BareLoop {
    /// The store makes the database and the sessions, and is closed before it is written to.
    async fn open(folder: &Path, sessions: usize) -> Result<Self, BenchError> {
        let path = folder.join("bare.sqlite");
        let (store, mut all) = (stored::open(&path, folder).await?, Vec::new());
        for _ in 0..sessions {
            let ids = Ids::fresh()?;
            let lease = store.create_session(ids.session("/bench")).await?;
            store.commit(&lease, ids.commit(vec![ids.run()])).await?;
            all.push(ids);
        }
        store.close().await;
        let database = Connection::open(&path)?;
        database.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
        Ok(Self { database, sessions: all })
    }

    /// One commit of each session after the other.
    fn run(&self) -> Result<Duration, BenchError> {
        let content = format!(r#"[{{"type":"text","text":"{}"}}]"#, "x".repeat(NODE_BYTES));
        let events = events().map(|event| (event.event_type.as_str(), json(&event.payload)));
        let began = Instant::now();
        for number in 0..COMMITS / self.sessions.len() {
            for ids in &self.sessions {
                self.database.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
                self.insert(ids, number, &content, &events)?;
                self.database.prepare_cached("COMMIT")?.execute([])?;
            }
        }
        Ok(began.elapsed())
    }

    fn insert(&self, ids: &Ids, number: usize, content: &str, events: &[(&str, String)]) -> Result<(), BenchError> {
        let Ids { session_id, agent_id, run_id } = ids;
        let (session, agent, run) = (session_id.as_str(), agent_id.as_str(), run_id.as_str());
        let parent = number.checked_sub(1).map(|before| ids.node(before)).transpose()?;
        let (node, parent) = (ids.node(number)?, parent.as_ref().map(NodeId::as_str));
        let values = params![session, number + 1, node.as_str(), parent, agent, run, content, TIME];
        self.database.prepare_cached(ADD_NODE)?.execute(values)?;
        for (at, (event_type, payload)) in events.iter().enumerate() {
            let seq = number * events.len() + at + 1;
            let id = format!("evt_{}_{seq}", run_id.stem());
            let values = params![session, seq, id, agent, run, event_type, node.as_str(), payload, TIME];
            self.database.prepare_cached(ADD_EVENT)?.execute(values)?;
        }
        Ok(())
    }
}

fn json(payload: &Object) -> String {
    // Of strings only.
    serde_json::to_string(payload).unwrap_or_default()
}
