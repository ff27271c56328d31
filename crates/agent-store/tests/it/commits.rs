//! A commit is all or nothing, and places are gapless.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

use agent_protocol::{EventDraft, EventType, NodeId, Object};
use agent_store::{Committed, SessionStore, SqliteStore, StoreError, Write};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::support::{NOW, Place, Writing, event, fact, node, run_id};

/// STO-3: places, ids and time come from the store; what a commit reports is what is stored.
#[tokio::test]
async fn a_commit_reports_what_it_stored() {
    let place = Place::new("report");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    store.commit(&writing.lease, writing.commit(vec![event(1)])).await.unwrap();
    let Committed { nodes, events } = store.commit(&writing.lease, writing.turn(1)).await.unwrap();
    let [node] = nodes.as_slice() else { panic!("{nodes:?}") };
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((node.node_seq, event.seq, event.run_seq), (1, Some(2), Some(2)));
    assert_eq!(event.event_id.as_str(), "evt_1_2");
    assert_eq!(node.created_at.as_str(), agent_protocol::Timestamp::from_unix_millis(NOW).as_str());
    assert_eq!(event.created_at, node.created_at);
    assert_eq!(store.load_path(writing.session(), &node.node_id).await.unwrap(), nodes);
    assert_eq!(store.events(writing.session(), 1, 10).await.unwrap(), events);
    let session = store.session(writing.session()).await.unwrap().unwrap();
    assert_eq!(session.active_node_id, Some(writing.run.node(1)));
}

/// `run_seq` counts within its run, `seq` over all runs of the session (TYP-4).
#[tokio::test]
async fn runs_count_their_own_events() {
    let place = Place::new("run-seq");
    let store = place.open().await;
    let first = Writing::begin(&store, "1").await;
    store.commit(&first.lease, first.commit(vec![event(1), event(2)])).await.unwrap();
    let second = Writing { lease: first.lease, run: run_id("run_2") };
    let begun = store.commit(&second.lease, second.commit(vec![second.new_run(), event(3)])).await.unwrap();
    assert_eq!((begun.events[0].seq, begun.events[0].run_seq), (Some(3), Some(1)));
    let again = Writing { lease: second.lease, run: run_id("run_1") };
    let late = store.commit(&again.lease, again.commit(vec![event(4)])).await.unwrap();
    assert_eq!((late.events[0].seq, late.events[0].run_seq), (Some(4), Some(3)));
    let of_first = store.run_events(&again.run, 1, 10).await.unwrap();
    assert_eq!(of_first.iter().map(|event| event.run_seq.unwrap()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store.events(again.session(), 2, 1).await.unwrap(), begun.events);
}

async fn refused(store: &SqliteStore, writing: &Writing, bad: Write) -> StoreError {
    let before = store.events(writing.session(), 0, 100).await.unwrap();
    let error = store.commit(&writing.lease, writing.commit(vec![event(1), bad, event(2)])).await.unwrap_err();
    assert_eq!(store.events(writing.session(), 0, 100).await.unwrap(), before, "half a commit was stored");
    error
}

/// A write that cannot be done undoes the whole commit; later ones have the places it would have taken.
#[tokio::test]
async fn a_bad_write_undoes_its_commit() {
    let place = Place::new("undo");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    store.commit(&writing.lease, writing.turn(1)).await.unwrap();
    let other = Writing::begin(&store, "2").await;
    store.commit(&other.lease, other.turn(1)).await.unwrap();

    let id = |text: &str| NodeId::parse(text).unwrap();
    let elsewhere = other.run.node(1);
    for (bad, kind) in [
        (Write::Node(node(id("node_new"), Some(id("node_none")), "")), "not_in_session"),
        (Write::Node(node(id("node_new"), Some(elsewhere.clone()), "")), "not_in_session"),
        (Write::Node(node(writing.run.node(1), None, "")), "rejected"),
        (Write::Node(node(elsewhere.clone(), None, "")), "rejected"),
        (Write::Activate(id("node_none")), "not_in_session"),
        (Write::Activate(elsewhere), "not_in_session"),
        (writing.new_run(), "rejected"),
        (other.new_run(), "not_in_session"),
    ] {
        let error = refused(&store, &writing, bad.clone()).await;
        assert_eq!(error.payload().details["kind"], kind, "{bad:?}: {error:?}");
    }
    let stranger = Writing { lease: other.lease, run: writing.run.clone() };
    let error = store.commit(&stranger.lease, stranger.commit(vec![event(1)])).await.unwrap_err();
    assert!(matches!(error, StoreError::NotInSession { .. }), "another session's run: {error:?}");

    let committed = store.commit(&writing.lease, writing.turn(2)).await.unwrap();
    assert_eq!((committed.nodes[0].node_seq, committed.events[0].seq), (2, Some(2)));
}

/// What could not be read back is not stored: a model that nests arguments without end does not spoil a session.
#[tokio::test]
async fn what_cannot_be_read_back_is_refused() {
    let place = Place::new("too-deep");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let with = |levels| Write::Event(EventDraft::raw(EventType::Error, fact("deep", nested(levels))));
    let error = refused(&store, &writing, with(127)).await;
    assert!(matches!(error, StoreError::Rejected { .. }), "{error:?}");
    let committed = store.commit(&writing.lease, writing.commit(vec![with(126)])).await.unwrap();
    assert_eq!(store.events(writing.session(), 0, 10).await.unwrap(), committed.events);
}

/// An empty commit is still a question about the fence and the run.
#[tokio::test]
async fn an_empty_commit_stores_nothing() {
    let place = Place::new("empty-commit");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let committed = store.commit(&writing.lease, writing.commit(vec![])).await.unwrap();
    assert_eq!(committed, Committed { nodes: vec![], events: vec![] });
    let stranger = Writing { lease: writing.lease, run: run_id("run_none") };
    assert!(store.commit(&stranger.lease, stranger.commit(vec![])).await.is_err());
}

/// One write of a random commit.
#[derive(Debug, Clone)]
enum Step {
    Event,
    /// A node below the one that many nodes back, or a root.
    Node(usize),
    /// A node below one that does not exist.
    Orphan,
}

/// Rounds of two commits, one for each of two sessions.
fn rounds() -> impl Strategy<Value = Vec<[Vec<Step>; 2]>> {
    let step = prop_oneof![
        4 => Just(Step::Event),
        4 => (0_usize..5).prop_map(Step::Node),
        1 => Just(Step::Orphan),
    ];
    prop::collection::vec(prop::array::uniform2(prop::collection::vec(step, 0..5)), 1..8)
}

/// A session as the test believes it: the ids of its nodes and the parent of each.
#[derive(Default)]
struct Model {
    nodes: Vec<NodeId>,
    parents: HashMap<NodeId, Option<NodeId>>,
    events: u64,
    made: u64,
}

impl Model {
    fn writes(&mut self, writing: &Writing, steps: &[Step]) -> Vec<Write> {
        let mut pending = self.nodes.clone();
        let mut make = |step: &Step| {
            let parent = match step {
                Step::Event => return event(0),
                Step::Node(back) => pending.iter().rev().nth(*back).cloned(),
                Step::Orphan => Some(NodeId::parse("node_none").unwrap()),
            };
            self.made += 1;
            let id = writing.run.node(self.made);
            pending.push(id.clone());
            Write::Node(node(id, parent, "x"))
        };
        steps.iter().map(&mut make).collect()
    }

    fn learn(&mut self, steps: &[Step], done: Result<Committed, StoreError>) {
        let good = !steps.iter().any(|step| matches!(step, Step::Orphan));
        assert_eq!(done.is_ok(), good, "{done:?}");
        let Ok(committed) = done else { return };
        for node in &committed.nodes {
            assert_eq!(node.node_seq, self.nodes.len() as u64 + 1);
            self.nodes.push(node.node_id.clone());
            self.parents.insert(node.node_id.clone(), node.parent_id.clone());
        }
        for event in &committed.events {
            self.events += 1;
            assert_eq!((event.seq, event.run_seq), (Some(self.events), Some(self.events)));
        }
    }

    async fn check(&self, store: &SqliteStore, writing: &Writing) {
        let events = store.events(writing.session(), 0, u32::MAX).await.unwrap();
        let seqs: Vec<_> = events.iter().map(|event| event.seq.unwrap()).collect();
        assert_eq!(seqs, (1..=self.events).collect::<Vec<_>>());
        for leaf in &self.nodes {
            let path = store.load_path(writing.session(), leaf).await.unwrap();
            let mut expected = vec![leaf.clone()];
            while let Some(parent) = &self.parents[expected.last().unwrap()] {
                expected.push(parent.clone());
            }
            expected.reverse();
            let ids: Vec<_> = path.iter().map(|node| node.node_id.clone()).collect();
            assert_eq!(ids, expected);
        }
    }
}

/// STO-3, STO-7: whatever is committed to two sessions at the same time, good or bad: places are gapless in each, a
/// commit that fails leaves no trace, and a path holds its own nodes only.
#[test]
fn places_are_gapless() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = Place::new("gapless");
    let store = runtime.block_on(place.open());
    let cases = Cell::new(0);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) };
    let played = TestRunner::new(config).run(&rounds(), |rounds| {
        cases.set(cases.get() + 1);
        runtime.block_on(play(&store, cases.get(), rounds));
        Ok(())
    });
    played.unwrap();
}

async fn play(store: &SqliteStore, case: u32, rounds: Vec<[Vec<Step>; 2]>) {
    let a = Writing::begin(store, &format!("a{case}")).await;
    let b = Writing::begin(store, &format!("b{case}")).await;
    let (mut model_a, mut model_b) = (Model::default(), Model::default());
    for [steps_a, steps_b] in rounds {
        let commit_a = store.commit(&a.lease, a.commit(model_a.writes(&a, &steps_a)));
        let commit_b = store.commit(&b.lease, b.commit(model_b.writes(&b, &steps_b)));
        let (done_a, done_b) = tokio::join!(commit_a, commit_b);
        model_a.learn(&steps_a, done_a);
        model_b.learn(&steps_b, done_b);
    }
    model_a.check(store, &a).await;
    model_b.check(store, &b).await;
}

/// A future that is dropped may still commit, and then it has committed everything.
#[tokio::test]
async fn a_dropped_commit_is_whole() {
    let place = Place::new("dropped");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(20), store.commit(&writing.lease, writing.turn(1))).await;
    assert!(waited.is_err(), "the commit did not wait for the lock");
    other.execute_batch("COMMIT").unwrap();
    // In the queue behind it.
    let committed = store.commit(&writing.lease, writing.turn(2)).await.unwrap();
    assert_eq!((committed.nodes[0].node_seq, committed.events[0].seq), (2, Some(2)));
    assert_eq!(store.load_path(writing.session(), &writing.run.node(2)).await.unwrap().len(), 2);
    assert_eq!(store.session(writing.session()).await.unwrap().unwrap().metadata, Object::new());
}
