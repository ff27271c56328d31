//! `kill -9` at any moment (RUN-20).

use std::collections::HashSet;

use agent_protocol::{EndReason, ErrorCode, ErrorPayload, RunEnd, RunPatch, RunStatus, Usage};
use agent_store::{SessionStore, SqliteStore, Write};

use crate::child::Child;
use crate::support::{Place, Writing, new_session, run_id, session_id};

const ROUNDS: u64 = 12;

/// RUN-20, TST-5, STO-3: whatever a killed process had been told is stored is there, whole and gapless; its session is
/// free at once, its run is found unfinished, and the session goes on.
#[tokio::test]
async fn acknowledged_commits_survive_kill_9() {
    let place = Place::new("kill-9");
    let store = place.open().await;
    drop(store.create_session(new_session("sess_crash")).await.unwrap());
    let mut acknowledged = Vec::new();
    for round in 1..=ROUNDS {
        let mut child = Child::start(&format!("write {round}"), &place.folder);
        // Killed after another number of acknowledgements each time, and in the middle of the next commit.
        for _ in 0..round * 7 % 23 {
            acknowledged.push(child.hear().expect("the child goes on until it is killed"));
        }
        child.kill();
        acknowledged.extend(std::iter::from_fn(|| child.hear()));
        check_everything_is_there(&store, &acknowledged).await;
        settle_the_dead_run(&store, round).await;
    }
    store.close().await;
    std::fs::remove_dir_all(&place.folder).unwrap();
}

async fn check_everything_is_there(store: &SqliteStore, acknowledged: &[String]) {
    let events = store.events(&session_id("sess_crash"), 0, u32::MAX).await.unwrap();
    let seqs: Vec<_> = events.iter().map(|event| event.seq.unwrap()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let stored: HashSet<String> =
        events.iter().filter_map(|event| Some(format!("{} {}", event.seq?, event.node_id.as_ref()?))).collect();
    for line in acknowledged {
        assert!(stored.contains(line), "{line} was acknowledged and is gone");
    }
    // A node and the event about it are there together, and the active path ends at the newest.
    for event in events.iter().rev().take(3) {
        if let Some(node_id) = &event.node_id {
            let path = store.load_path(&event.session_id, node_id).await.unwrap();
            assert_eq!(&path.last().unwrap().node_id, node_id);
        }
    }
    let session = store.session(&session_id("sess_crash")).await.unwrap().unwrap();
    let newest = events.iter().rev().find_map(|event| event.node_id.clone());
    assert_eq!(session.active_node_id, newest);
}

/// What recovery will do: claim, and end the runs nobody will end.
async fn settle_the_dead_run(store: &SqliteStore, round: u64) {
    let lease = store.claim_session(&session_id("sess_crash"), None).await.unwrap().lease;
    let unfinished = store.unfinished_runs(lease.session_id()).await.unwrap();
    // The kill may have come before the run was stored.
    assert!(unfinished.len() <= 1);
    let Some(dead) = unfinished.first() else { return };
    assert_eq!((&dead.run_id, dead.status), (&run_id(&format!("run_{round}")), RunStatus::Running));
    let writing = Writing { lease, run: dead.run_id.clone() };
    let error = ErrorPayload::new(ErrorCode::InternalError, "process ended during the run");
    let patch = RunPatch {
        status: RunStatus::Failed,
        end_reason: Some(EndReason::Failed),
        end_node_id: None,
        turn_count: dead.turn_count,
        usage: Usage::default(),
        error: Some(error.clone()),
    };
    let event = RunEnd { error: Some(error.clone()), ..RunEnd::default() }.into_event();
    store.commit(&writing.lease, writing.commit(vec![Write::RunPatch(patch), Write::Event(event)])).await.unwrap();
    assert_eq!(store.unfinished_runs(writing.session()).await.unwrap(), []);
    let run = store.run(&writing.run).await.unwrap().unwrap();
    assert_eq!((run.status, run.error), (RunStatus::Failed, Some(error)));
}
