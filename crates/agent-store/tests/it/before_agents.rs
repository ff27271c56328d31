//! A database that a build with schema 3 has written, as it is read with today's.

use std::fs;

use agent_protocol::{AgentId, EventType, NodeId, RunId};
use agent_store::{ClaimedSession, FileVersion, SessionArchive, SessionFilter, SessionStore, SqliteStore};
use rusqlite::Connection;

use crate::support::{Place, session_id, whole};

const SQL: &str = include_str!("../../../soong-agent/tests/fixtures/before_agents/sessions.sql");
const FIRST: &str = "sess_01a22f818885732896f5625d215a6a74";
const SECOND: &str = "sess_01a22f818dd97635a643d7df4391b649";
const ROOT: &str = "agent_01a22f818885732896f5625eb4feee6a";
const SUMMARISER: &str = "agent_01a22f81890d743d8744e85791d3d68b";
const KILLED: &str = "run_01a22f8189497013a52f23e73c457338";

fn made(name: &str) -> Place {
    let place = Place::new(name);
    fs::create_dir(place.folder.join("home")).unwrap();
    let sql = SQL.replace("@PROJECT@", "/project").replace("@OTHER@", "/other");
    Connection::open(place.database()).unwrap().execute_batch(&sql).unwrap();
    place
}

fn agent(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

/// Rows of all tables that hold what happened, as text, without what schema 4 adds.
fn stored(place: &Place) -> Vec<String> {
    let raw = place.raw();
    let mut lines = Vec::new();
    for (table, columns) in [
        ("sessions", "session_id, cwd, active_node_id, status, created_at, updated_at, fence, used, last_run_id"),
        ("agents", "agent_id, session_id, status, agent_type, created_by_run_id, fork_from_node_id, number"),
        ("runs", "run_id, session_id, agent_id, status, end_node_id, turn_count, usage_json, metadata_json, number"),
        ("nodes", "session_id, node_seq, node_id, parent_id, agent_id, run_id, content_json, metadata_json"),
        ("events", "session_id, seq, run_seq, event_id, agent_id, run_id, event_type, node_id, payload_json"),
        ("artifacts", "artifact_id, session_id, path, size_bytes, seq"),
        ("blobs", "session_id, hash, length(bytes)"),
        ("file_versions", "session_id, path, hash, seen_at"),
    ] {
        let sql = format!("SELECT '{table}', json_array({columns}) FROM {table} ORDER BY 2");
        let mut statement = raw.prepare(&sql).unwrap();
        let rows = statement.query_map([], |row| Ok(row.get::<_, String>(0)? + &row.get::<_, String>(1)?)).unwrap();
        lines.extend(rows.map(Result::unwrap));
    }
    lines
}

/// STO-4: nothing is lost on the way to today's schema, and the journal is what it is for a new database.
#[tokio::test]
async fn everything_is_still_there() {
    let place = made("before-agents-rows");
    let before = stored(&place);
    assert!(before.len() > 150, "{}", before.len());
    place.open().await.close().await;
    assert_eq!(stored(&place), before);
    let ask = |sql| place.raw().query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(ask("PRAGMA journal_mode"), "wal");
    assert_eq!(ask("PRAGMA integrity_check"), "ok");
    assert_eq!(
        ask("SELECT group_concat(name) FROM schema_migrations"),
        "initial,archive,rare_events,agents,path_checkpoints,long_content"
    );
    // Opening it again changes nothing.
    place.open().await.close().await;
    assert_eq!(stored(&place), before);
}

/// STO-7, COD-5: the root agent stands where its session stood and has seen what the session had; nobody knows what of it was
/// written. Other agents have neither.
#[tokio::test]
async fn what_was_the_sessions_is_the_root_agents() {
    let place = made("before-agents-root");
    let store = place.open().await;
    for (id, files) in
        [(FIRST, &["/project/brews.csv", "/project/count.txt", "/project/data.txt"][..]), (SECOND, &["/other/plan.md"])]
    {
        let session = store.session(&session_id(id)).await.unwrap().unwrap();
        let root = store.load_agent(&session.session_id, &session.root_agent_id).await.unwrap();
        assert!(session.active_node_id.is_some());
        assert_eq!(root.row.active_node_id, session.active_node_id);
        assert_eq!(root.file_versions.iter().map(|version| version.path.as_str()).collect::<Vec<_>>(), files);
        let is_seen = |version: &FileVersion| version.agent_id == session.root_agent_id && !version.written;
        assert!(root.file_versions.iter().all(is_seen));
        assert_eq!(store.written_files(&session.session_id).await.unwrap(), []);
    }
    let other = store.load_agent(&session_id(FIRST), &agent(SUMMARISER)).await.unwrap();
    assert_eq!((other.row.active_node_id, other.file_versions), (None, vec![]));
}

/// CTX-7: the last request of an agent is found, with the event behind it, of the same run.
#[tokio::test]
async fn the_last_request_is_found() {
    let place = made("before-agents-requests");
    let store = place.open().await;
    let last = async |id| store.load_agent(&session_id(FIRST), &agent(id)).await.unwrap().last_context;
    let of_root = last(ROOT).await.unwrap();
    let next = of_root.next.unwrap();
    assert_eq!((of_root.built.event_type, next.event_type), (EventType::ContextBuilt, EventType::ModelStarted));
    assert_eq!((of_root.built.run_id.as_ref().unwrap().as_str(), &of_root.built.run_id), (KILLED, &next.run_id));
    assert_eq!(next.payload["model"], "scripted");
    // Whoever summarised reported none.
    assert_eq!(last(SUMMARISER).await, None);
}

async fn claim(store: &SqliteStore) -> ClaimedSession {
    store.claim_session(&session_id(FIRST), Some("/project")).await.unwrap()
}

/// RUN-20: the killed run is found by the next owner, the summary's run is the child of the run that asked for it, and both
/// sessions are listed and found.
#[tokio::test]
async fn it_is_claimed_listed_and_searched() {
    let place = made("before-agents-claim");
    let store = place.open().await;
    let listed = whole(store.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap());
    let listed: Vec<_> = listed.iter().map(|it| (it.session.session_id.as_str(), it.runs)).collect();
    assert_eq!(listed, [(SECOND, 2), (FIRST, 4)]);
    let hits = whole(store.search("ristretto", &SessionFilter::default(), 9, 0).await.unwrap().hits);
    assert_eq!(hits.iter().map(|hit| hit.summary.session.session_id.as_str()).collect::<Vec<_>>(), [FIRST]);

    let ClaimedSession { row, root, lease, unfinished, written_files } = claim(&store).await;
    assert_eq!((root.agent_id.as_str(), &root.active_node_id), (ROOT, &row.active_node_id));
    assert_eq!(unfinished.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), [KILLED]);
    assert_eq!((lease.fence(), written_files), (5, vec![]));
    let asked_by = RunId::parse("run_01a22f8188ec709c9a4e1a6c9416a66a").unwrap();
    let children = store.children(&asked_by).await.unwrap();
    assert_eq!(children.iter().map(|run| run.agent_id.as_str()).collect::<Vec<_>>(), [SUMMARISER]);

    let answer = NodeId::parse("node_01a22f8188867358b779b3b6fdca6561_8").unwrap();
    store.activate(&lease, &answer).await.unwrap();
    assert_eq!(store.agent(&root.agent_id).await.unwrap().unwrap().active_node_id, Some(answer.clone()));
    assert_eq!(store.session(&row.session_id).await.unwrap().unwrap().active_node_id, Some(answer));
}
