//! Who may write to a session.

use std::os::unix::fs::MetadataExt;

use agent_protocol::ErrorCode;
use agent_store::{ClaimedSession, SessionStore, StoreError};

use crate::child::Child;
use crate::support::{Place, Writing, event, new_session, session_id};

/// RUN-4: a second owner is refused, in the same store, in another store of this process, and told who holds the session.
#[tokio::test]
async fn a_session_has_one_owner() {
    let place = Place::new("one-owner");
    let (here, there) = (place.open().await, place.open().await);
    let lease = here.create_session(new_session("sess_1")).await.unwrap();
    for store in [&here, &there] {
        let error = store.claim_session(lease.session_id(), None).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::SessionActive);
        let StoreError::SessionActive { owner: Some(owner), .. } = error else { panic!("{error:?}") };
        assert_eq!(owner.pid, std::process::id());
        assert_eq!(owner.since.as_str(), "2026-11-30T09:41:43.120Z");
        assert!(!owner.host.is_empty());
    }
    drop(lease);
    let ClaimedSession { row: session, lease, .. } = there.claim_session(&session_id("sess_1"), None).await.unwrap();
    assert_eq!(lease.fence(), 2);
    assert_eq!(session.owner.unwrap().pid, std::process::id());
}

/// A claim of what does not exist makes nothing on disk.
#[tokio::test]
async fn an_unknown_session_cannot_be_claimed() {
    let place = Place::new("unknown-session");
    let store = place.open().await;
    let error = store.claim_session(&session_id("sess_x"), None).await.unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound { .. }), "{error:?}");
    assert!(!place.sessions_dir().exists());
}

#[tokio::test]
async fn an_id_is_taken_once() {
    let place = Place::new("id-taken");
    let store = place.open().await;
    drop(store.create_session(new_session("sess_1")).await.unwrap());
    let error = store.create_session(new_session("sess_1")).await.unwrap_err();
    assert!(matches!(error, StoreError::SessionExists { .. }), "{error:?}");
    // The failed try holds nothing.
    store.claim_session(&session_id("sess_1"), None).await.unwrap();
}

/// DB-06, DEC-4: a stopped owner still owns; a killed one does not.
#[tokio::test]
async fn only_the_end_of_its_process_frees_a_session() {
    let place = Place::new("db-06");
    let store = place.open().await;
    drop(store.create_session(new_session("sess_1")).await.unwrap());
    let mut child = Child::start("hold 1", &place.folder);
    child.expect("held");
    let refused = |error: StoreError| match error {
        StoreError::SessionActive { owner: Some(owner), .. } => owner.pid,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(store.claim_session(&session_id("sess_1"), None).await.unwrap_err()), child.id());
    child.stop();
    assert_eq!(refused(store.claim_session(&session_id("sess_1"), None).await.unwrap_err()), child.id());
    child.kill();
    let lease = store.claim_session(&session_id("sess_1"), None).await.unwrap().lease;
    assert_eq!(lease.fence(), 3);
}

/// DB-06, RUN-4: an owner whose lock was broken from outside notices at its next write, and nothing of it is stored.
#[tokio::test]
async fn a_lost_fence_stops_the_old_owner() {
    let place = Place::new("fence");
    let (old, new) = (place.open().await, place.open().await);
    let writing = Writing::begin(&old, "1").await;
    std::fs::remove_file(place.lock_of("sess_1")).unwrap();
    let lease = new.claim_session(writing.session(), None).await.unwrap().lease;

    let error = old.commit(&writing.lease, writing.commit(vec![event(1)])).await.unwrap_err();
    assert!(matches!(error, StoreError::FenceLost { .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::SessionActive);
    assert_eq!(old.events(writing.session(), 0, 10).await.unwrap(), []);

    let heir = Writing { lease, run: writing.run.clone() };
    let committed = new.commit(&heir.lease, heir.commit(vec![event(2)])).await.unwrap();
    assert_eq!(committed.events[0].seq, Some(1));
}

/// A lock that was put in the old one's place is not the old one.
#[tokio::test]
async fn a_claim_holds_the_lock_that_lies_there() {
    let place = Place::new("lock-file");
    let store = place.open().await;
    let lease = store.create_session(new_session("sess_1")).await.unwrap();
    let first = std::fs::metadata(place.lock_of("sess_1")).unwrap().ino();
    std::fs::rename(place.lock_of("sess_1"), place.folder.join("moved")).unwrap();
    let heir = store.claim_session(lease.session_id(), None).await.unwrap().lease;
    assert_ne!(std::fs::metadata(place.lock_of("sess_1")).unwrap().ino(), first);
    // The old owner's end does not free what the new one holds.
    drop(lease);
    assert!(store.claim_session(heir.session_id(), None).await.is_err());
}
