//! Repairs: what is made anew of what is left, and what is told.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use agent_protocol::RunStatus;
use agent_store::{Clock, Repaired, SessionStore, SqliteStore, StoreError, StoreSettings};

use crate::support::{NOW, Place, Writing, run_id, session_id, stands};

async fn repair(place: &Place) -> Result<Repaired, StoreError> {
    SqliteStore::repair(StoreSettings {
        database: place.database(),
        sessions_dir: place.sessions_dir(),
        busy_timeout: Duration::from_secs(5),
        clock: Clock::new(|| NOW),
    })
    .await
}

/// Sessions of so many turns each.
async fn filled(name: &str, sessions: u64, turns: u64) -> Place {
    let place = Place::new(name);
    let store = place.open().await;
    for n in 1..=sessions {
        let writing = Writing::begin(&store, &n.to_string()).await;
        for turn in 1..=turns {
            store.commit(&writing.lease, writing.turn(turn)).await.unwrap();
        }
        store.commit(&writing.lease, writing.commit(vec![stands(RunStatus::Completed)])).await.unwrap();
    }
    store.close().await;
    place
}

/// What all tables hold.
fn rows(place: &Place) -> u64 {
    let tables = ["sessions", "agents", "runs", "nodes", "events", "artifacts", "blobs", "file_versions"];
    let count = |table| place.raw().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, u64>(0));
    tables.into_iter().map(|table| count(table).unwrap()).sum()
}

/// All sessions can be claimed, and their conversations have so many nodes.
async fn all_go_on(place: &Place, what: &str, sessions: u64, nodes: usize) {
    let store = place.open().await;
    for n in 1..=sessions {
        let id = session_id(&format!("sess_{n}"));
        let claimed = store.claim_session(&id, None).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        let active = claimed.row.active_node_id.clone().unwrap_or_else(|| panic!("{what}: {id} has no node"));
        assert_eq!(claimed.root.active_node_id.as_ref(), Some(&active), "{what}");
        let path = store.load_path(&id, &active).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(path.len(), nodes, "{what}: {id}");
    }
    store.close().await;
}

/// Whatever rows of sessions, agents and runs are lost, by whichever damage: conversations stay whole and can go on, what was
/// made anew is told and not counted as copied, and there is nothing to do for a second repair.
#[tokio::test]
async fn lost_rows_above_a_conversation_are_made_anew() {
    let lose = ["DELETE FROM sessions", "DELETE FROM agents", "DELETE FROM runs"];
    for (at, which) in (1_usize..8).enumerate() {
        for few in [false, true] {
            let place = filled(&format!("repair-anew-{at}-{few}"), 3, 4).await;
            let some = if few { " WHERE session_id = 'sess_2'" } else { "" };
            let mut gone = 0;
            for (bit, sql) in lose.iter().enumerate().filter(|(bit, _)| which & (1 << bit) != 0) {
                let conn = place.raw();
                conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
                gone += conn.execute(&format!("{sql}{some}"), []).unwrap() as u64;
                assert!(gone > 0, "{bit}");
            }
            let (left, what) = (rows(&place), format!("{which:b} {few}"));
            let repaired = repair(&place).await.unwrap();
            assert!(!repaired.is_whole() && !repaired.mended.is_empty(), "{what}: {repaired:?}");
            assert_eq!((repaired.copied, repaired.sessions), (left, 3), "{what}: {repaired:?}");
            assert_eq!(rows(&place), left + gone, "{what}: {repaired:?}");
            assert_eq!(repaired.lost, [], "{what}");
            let again = repair(&place).await.unwrap();
            assert!(again.is_whole(), "{what}: {again:?}");
            all_go_on(&place, &what, 3, 4).await;
        }
    }
}

/// A damaged page of any table above the conversations costs none of them, and all rows that are there afterwards were copied
/// or are told as changed.
#[tokio::test]
async fn a_damaged_page_of_sessions_costs_no_conversation() {
    for table in ["sessions", "agents", "runs", "schema_migrations"] {
        let place = filled(&format!("repair-page-{table}"), 3, 4).await;
        let conn = place.raw();
        conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        let page: usize = conn.query_row(sql, [table], |row| row.get(0)).unwrap();
        drop(conn);
        let mut bytes = fs::read(place.database()).unwrap();
        bytes[(page - 1) * 4096..page * 4096].fill(0xa5);
        fs::write(place.database(), &bytes).unwrap();
        let repaired = repair(&place).await.unwrap();
        assert_eq!(repaired.sessions, 3, "{table}: {repaired:?}");
        let made = if table == "schema_migrations" { 0 } else { 3 };
        assert_eq!(repaired.copied, rows(&place) - made, "{table}: {repaired:?}");
        assert!(!repaired.is_whole(), "{table}");
        all_go_on(&place, table, 3, 4).await;
        assert!(repair(&place).await.unwrap().is_whole(), "{table}");
    }
}

/// Whichever column cannot be read that says where a session goes on, it goes on where it was.
#[tokio::test]
async fn unreadable_columns_do_not_hide_a_conversation() {
    for set in ["sessions SET root_agent_id", "sessions SET active_node_id", "agents SET active_node_id"] {
        let place = filled(&format!("repair-column-{}", set.replace(' ', "-")), 2, 4).await;
        place.raw().execute(&format!("UPDATE {set} = 'x y'"), []).unwrap();
        assert!(!repair(&place).await.unwrap().is_whole(), "{set}");
        all_go_on(&place, set, 2, 4).await;
        assert!(repair(&place).await.unwrap().is_whole(), "{set}");
    }
}

/// A last run of which nothing is left is told.
#[tokio::test]
async fn a_run_without_a_trace_is_told() {
    let place = filled("repair-last-run", 1, 2).await;
    place.raw().execute("UPDATE sessions SET last_run_id = 'run_lost'", []).unwrap();
    let repaired = repair(&place).await.unwrap();
    assert!(repaired.mended.iter().any(|line| line.contains("last run is lost")), "{repaired:?}");
    assert!(repair(&place).await.unwrap().is_whole());
}

/// Whichever nodes cannot be read, those after them stay in the conversation, in their order.
#[tokio::test]
async fn unreadable_nodes_do_not_cut_a_conversation() {
    const NODES: u64 = 6;
    for lost in 1..(1_u64 << NODES) - 1 {
        let gone: BTreeSet<_> = (1..=NODES).filter(|n| lost & (1 << (n - 1)) != 0).collect();
        // Each length and each place once; all subsets would take long.
        if gone.len() > 2 && lost % 5 != 0 {
            continue;
        }
        let place = filled(&format!("repair-nodes-{lost}"), 1, NODES).await;
        for n in &gone {
            let sql = "UPDATE nodes SET content_json = 'x' WHERE node_id = ?1";
            assert_eq!(place.raw().execute(sql, [run_id("run_1").node(*n).as_str()]).unwrap(), 1);
        }
        let repaired = repair(&place).await.unwrap();
        assert_eq!(repaired.lost, [("nodes", gone.len() as u64)], "{gone:?}: {repaired:?}");
        all_go_on(&place, &format!("{gone:?}"), 1, NODES as usize - gone.len()).await;
        let again = repair(&place).await.unwrap();
        assert!(again.mended.is_empty(), "{gone:?}: {again:?}");
    }
}

/// A file whose beginning or whose list of tables is gone is not offered another repair, and is left as it is.
#[tokio::test]
async fn what_is_beyond_repair_is_said() {
    let place = filled("repair-beyond", 2, 4).await;
    place.raw().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let good = fs::read(place.database()).unwrap();
    let mut first_page = good.clone();
    first_page[..4096].fill(0xa5);
    let mut tables = good.clone();
    tables[100..4096].fill(0xa5);
    for (what, bytes) in
        [("page 1", &first_page[..]), ("tables", &tables), ("cut", &good[..1000]), ("cut", &good[..4096])]
    {
        fs::write(place.database(), bytes).unwrap();
        let error = repair(&place).await.unwrap_err();
        assert!(matches!(error, StoreError::BeyondRepair { .. }), "{what}: {error:?}");
        assert!(!error.to_string().contains("a repair"), "{what}: {error}");
        assert_eq!(fs::read(place.database()).unwrap(), bytes, "{what}");
    }
}
