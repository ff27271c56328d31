//! Databases of earlier versions.

use std::fs;

use agent_protocol::EventType;
use agent_store::{ReplayCursor, ReplayScope, SessionArchive, SessionFilter, SessionStore};
use rusqlite::Connection;

use crate::support::{Place, session_id, whole};

/// A database as version 1 of the schema left it.
fn version_1(place: &Place) {
    fs::create_dir(place.folder.join("home")).unwrap();
    let conn = Connection::open(place.database()).unwrap();
    conn.execute_batch(include_str!("../../src/sqlite/migrations/0001_initial.sql")).unwrap();
    conn.execute_batch(
        r#"PRAGMA journal_mode = WAL;
        INSERT INTO schema_migrations VALUES (1, 'initial', '2026-01-01T00:00:00.000Z');
        INSERT INTO sessions VALUES
            ('sess_a', '/p', 'agent_a', NULL, NULL, 'active', '{}', '2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z', NULL, NULL, NULL, 1),
            ('sess_b', '/p', 'agent_b', 'node_b2', NULL, 'active', '{}', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', NULL, NULL, NULL, 1),
            ('sess_c', '/q', 'agent_c', NULL, NULL, 'active', '{}', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', NULL, NULL, NULL, 1),
            ('sess_d', '/p', 'agent_d', NULL, NULL, 'active', '{}', '2026-01-01T00:00:00.000Z', '2026-01-09T00:00:00.000Z', NULL, NULL, NULL, 1);
        INSERT INTO agents VALUES
            ('agent_b', 'sess_b', NULL, 'main', NULL, NULL, 'idle', NULL, '{}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
            ('agent_a2', 'sess_b', 'agent_b', 'sub', NULL, NULL, 'idle', NULL, '{}', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z');
        INSERT INTO runs VALUES
            ('run_a', 'sess_a', 'agent_a', 'completed', NULL, NULL, NULL, 1, '{}', NULL, '{}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
            ('run_b2', 'sess_b', 'agent_b', 'completed', NULL, NULL, NULL, 1, '{}', NULL, '{}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'),
            ('run_b1', 'sess_b', 'agent_b', 'running', NULL, NULL, NULL, 1, '{}', NULL, '{}', '2026-01-04T00:00:00.000Z', '2026-01-04T00:00:00.000Z'),
            ('run_c', 'sess_c', 'agent_c', 'completed', NULL, NULL, NULL, 1, '{}', NULL, '{}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
        INSERT INTO nodes VALUES
            ('sess_b', 1, 'node_b1', NULL, 'agent_b', 'run_b2', 'user', 'message', '[{"type":"text","text":"old question"}]', '{}', 1, '2026-01-01T00:00:00.000Z'),
            ('sess_b', 2, 'node_b2', 'node_b1', 'agent_b', 'run_b2', 'assistant', 'message', '[{"type":"text","text":"old answer"}]', '{}', 1, '2026-01-01T00:00:00.000Z');
        INSERT INTO events VALUES
            ('sess_b', 1, 1, 'evt_b2_1', 'agent_b', 'run_b2', 'info', 'loop_started', NULL, NULL, '{}', '2026-01-01T00:00:00.000Z'),
            ('sess_b', 2, 2, 'evt_b2_2', 'agent_b', 'run_b2', 'info', 'message_completed', 'node_b2', NULL, '{}', '2026-01-01T00:00:00.000Z'),
            ('sess_b', 3, 3, 'evt_b2_3', 'agent_b', 'run_b2', 'info', 'compact_failed', NULL, NULL, '{}', '2026-01-01T00:00:00.000Z');
        INSERT INTO artifacts VALUES
            ('art_1', 'sess_b', 'agent_b', 'run_b2', NULL, NULL, 'sess_b/artifacts/art_1/x', 'x', NULL, 1, NULL, '{}', '2026-01-01T00:00:00.000Z');"#,
    )
    .unwrap();
}

/// STO-4: what version 1 stored is listed, replayed and found, in the order of its clock; new runs go on from there.
#[tokio::test]
async fn a_database_of_version_1_is_brought_up_to_date() {
    let place = Place::new("version-1");
    version_1(&place);
    let store = place.open().await;
    let listed = whole(store.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap());
    let sessions: Vec<_> = listed.iter().map(|summary| summary.session.session_id.as_str()).collect();
    // By the time of the last commit, then by id; a session without a run is the last.
    assert_eq!(sessions, ["sess_a", "sess_c", "sess_b", "sess_d"]);
    let b = &listed[2];
    assert_eq!((b.runs, b.last_run.as_ref().unwrap().run_id.as_str()), (2, "run_b1"));
    assert_eq!(b.first_message.as_deref(), Some("old question"));
    assert_eq!(listed[3].last_run, None);
    let id = session_id("sess_b");
    let runs = store.runs(&id, 9, 0).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["run_b2", "run_b1"]);
    let agents = whole(store.agents(&id).await.unwrap());
    assert_eq!(agents.iter().map(|agent| agent.agent_id.as_str()).collect::<Vec<_>>(), ["agent_b", "agent_a2"]);

    let scope = ReplayScope::Session { session_id: id.clone(), from_seq: None, to_seq: None, agent_id: None };
    let page = store.replay(&scope, ReplayCursor::default()).await.unwrap();
    assert_eq!((page.events.len(), page.nodes.len(), page.artifacts.len(), page.next), (3, 2, 1, None));
    let failed = store.last_event(&id, EventType::CompactFailed).await.unwrap().unwrap();
    assert_eq!(failed.event_id.as_str(), "evt_b2_3");
    assert_eq!(store.artifacts(&id, None, 9).await.unwrap()[0].place.seq, 0);
    let hits = whole(store.search("old question", &SessionFilter::default(), 9, 0).await.unwrap().hits);
    assert_eq!(hits.len(), 1);

    let lease = store.claim_session(&id, None).await.unwrap().lease;
    let writing = crate::support::Writing { lease, run: crate::support::run_id("run_new") };
    let mut commit = writing.commit(vec![writing.new_run()]);
    let agent_store::Write::Run(run) = &mut commit.writes[0] else { panic!("a run") };
    run.agent_id = agent_protocol::AgentId::parse("agent_b").unwrap();
    commit.agent_id = run.agent_id.clone();
    store.commit(&writing.lease, commit).await.unwrap();
    let listed = whole(store.list_sessions(&SessionFilter::default(), 1, 0).await.unwrap());
    assert_eq!(listed[0].session.session_id, id);
}
