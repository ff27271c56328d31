//! Several programs on one database.

use std::time::Duration;

use agent_protocol::ErrorCode;
use agent_store::{SessionStore, StoreError};

use crate::child::Child;
use crate::support::{Place, Writing, event, session_id};

/// DB-01: eight processes on one new database all finish, and nothing of any is lost.
#[tokio::test]
async fn eight_processes_share_a_database() {
    let place = Place::new("db-01");
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let children: Vec<_> = names.map(|name| Child::start(&format!("work {name}"), &place.folder)).into();
    for mut child in children {
        child.expect("done");
        child.finish();
    }
    let store = place.open().await;
    for name in names {
        let session = store.session(&session_id(&format!("sess_{name}"))).await.unwrap().unwrap();
        let path = store.load_path(&session.session_id, &session.active_node_id.unwrap()).await.unwrap();
        let seqs: Vec<_> = path.iter().map(|node| node.node_seq).collect();
        assert_eq!(seqs, (1..=30).collect::<Vec<_>>(), "{name}");
    }
}

/// DB-01: a program that holds the write lock for a while only delays a commit.
#[tokio::test]
async fn a_short_lock_only_delays() {
    let place = Place::new("db-01-short");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut commit = store.commit(&writing.lease, writing.commit(vec![event(1)]));
    let waited = tokio::time::timeout(Duration::from_millis(150), &mut commit).await;
    assert!(waited.is_err(), "the commit did not wait for the lock: {waited:?}");
    // Reads do not wait at all.
    assert_eq!(store.events(writing.session(), 0, 10).await.unwrap(), []);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(commit.await.unwrap().events[0].seq, Some(1));
}

/// DB-01, RUN-21: one that holds it for longer than the patience gives `storage_error`; afterwards all is as before.
#[tokio::test]
async fn a_long_lock_is_an_error_and_nothing_is_lost() {
    let place = Place::new("db-01-long");
    let store = place.try_open(Duration::from_millis(100)).await.unwrap();
    let writing = Writing::begin(&store, "1").await;
    store.commit(&writing.lease, writing.turn(1)).await.unwrap();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(&writing.lease, writing.turn(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::StorageError);
    let path = store.load_path(writing.session(), &writing.run.node(1)).await.unwrap();
    assert_eq!(path.len(), 1);
    other.execute_batch("ROLLBACK").unwrap();
    let committed = store.commit(&writing.lease, writing.turn(2)).await.unwrap();
    assert_eq!((committed.nodes[0].node_seq, committed.events[0].seq), (2, Some(2)));
}

/// DB-02: a thousand interleavings of commits, of claims, which read before they write, and of a reader with an old
/// snapshot, and nobody ever fails.
#[tokio::test]
async fn interleaved_writers_never_fail() {
    let place = Place::new("db-02");
    let (one, two) = (place.open().await, place.open().await);
    let (first, second) = (Writing::begin(&one, "1").await, Writing::begin(&two, "2").await);
    let third = Writing::begin(&one, "3").await.session().clone();
    let reader = place.raw();
    for n in 1..=500 {
        if n % 10 == 1 {
            // A transaction that has read, as the deferred ones do that later fail to become writers.
            reader.execute_batch("BEGIN; SELECT max(seq) FROM events").unwrap();
        }
        let (a, b) = tokio::join!(one.commit(&first.lease, first.turn(n)), two.commit(&second.lease, second.turn(n)));
        assert_eq!((a.unwrap().events[0].seq, b.unwrap().events[0].seq), (Some(n), Some(n)));
        let (claim, commit) =
            tokio::join!(one.claim_session(&third, None), two.commit(&second.lease, second.commit(vec![])));
        assert_eq!(claim.unwrap().lease.fence(), n + 1);
        commit.unwrap();
        if n % 10 == 0 {
            reader.execute_batch("COMMIT").unwrap();
        }
    }
}

/// Two that open one new database at the same moment both get it.
#[tokio::test]
async fn a_new_database_is_made_once() {
    for round in 0..5 {
        let place = Place::new(&format!("made-once-{round}"));
        let stores = tokio::join!(place.open(), place.open(), place.open(), place.open());
        Writing::begin(&stores.0, "1").await;
        assert!(stores.3.session(&session_id("sess_1")).await.unwrap().is_some());
    }
}
