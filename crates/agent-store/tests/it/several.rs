//! Several agents at work in one session, under one lease (RUN-4).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use agent_protocol::{EventDraft, EventType, RunStatus, RuntimeEvent};
use agent_store::{Commit, Committed, SessionStore, SqliteStore, StoreError, Write};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Internal, Place, Writing, node};

const AGENTS: usize = 8;

/// What one task commits, one commit after the other: how many events in each, and whether others get their turn first.
type Script = Vec<(u8, bool)>;

/// One agent's work: in each commit a node, its events, and the step onto the node.
async fn play(
    store: Arc<SqliteStore>,
    root: Arc<Writing>,
    task: usize,
    child: Option<Internal>,
    script: Script,
) -> Result<Vec<Committed>, StoreError> {
    let mut done = Vec::new();
    let run = child.as_ref().map_or_else(|| root.run.clone(), |child| child.run.clone());
    for (n, (events, yields)) in (1..).zip(script) {
        if yields {
            thread::yield_now();
        }
        let at = run.node(n);
        let mut writes = vec![Write::Node(node(at.clone(), (n > 1).then(|| run.node(n - 1)), "x"))];
        writes.extend((0..events).map(|k| {
            let said = [("task".to_owned(), task.into()), ("k".to_owned(), k.into())].into_iter().collect();
            Write::Event(EventDraft::raw(EventType::LoopStarted, said).node(&at))
        }));
        writes.push(Write::Activate(at));
        let commit: Commit = match &child {
            Some(child) => child.commit(writes),
            None => root.commit(writes),
        };
        done.push(store.commit(&root.lease, commit).await?);
    }
    Ok(done)
}

/// What is stored is what was reported, without gaps: places over the whole session, and within each run.
async fn check(store: &SqliteStore, root: &Writing, scripts: &[Script], reported: Vec<Vec<Committed>>) {
    let events = store.events(root.session(), 0, 100_000).await.unwrap();
    let nodes = store.nodes_between(root.session(), 0, u64::MAX, 100_000).await.unwrap();
    assert!(events.iter().map(|event| event.seq.unwrap()).eq(1..=events.len() as u64));
    assert!(nodes.iter().map(|node| node.node_seq).eq(1..=nodes.len() as u64));
    let mut by_run: BTreeMap<_, Vec<RuntimeEvent>> = BTreeMap::new();
    for event in events {
        by_run.entry(event.run_id.clone().unwrap()).or_default().push(event);
    }
    for (script, reported) in scripts.iter().zip(reported) {
        assert_eq!(reported.len(), script.len());
        let told: Vec<_> = reported.iter().flat_map(|commit| commit.events.clone()).collect();
        let count: usize = script.iter().map(|(events, _)| usize::from(*events)).sum();
        assert_eq!(told.len(), count);
        let Some(run) = reported.first().map(|commit| commit.nodes[0].run_id.clone()) else { continue };
        assert_eq!(by_run.remove(&run).unwrap_or_default(), told, "in the order in which the run committed them");
        assert!(told.iter().map(|event| event.run_seq.unwrap()).eq(1..=count as u64));
        assert_eq!(store.run_events(&run, 0, 100_000).await.unwrap(), told);
        let last = reported.last().map(|commit| commit.nodes[0].node_id.clone());
        let agent = store.agent(&reported[0].nodes[0].agent_id).await.unwrap().unwrap();
        assert_eq!(agent.active_node_id, last, "each agent stands where it went");
    }
    assert!(by_run.is_empty());
    let session = store.session(root.session()).await.unwrap().unwrap();
    let last = scripts[0].len() as u64;
    assert_eq!(session.active_node_id, (last > 0).then(|| root.run.node(last)), "nobody else moves the session");
}

/// RUN-4, STO-3, STO-8: eight agents commit at once under one lease. Each run's events keep their order without a gap, places
/// are gapless over the session, nobody but the root agent moves it, and whoever loses the session loses it for all of them.
#[test]
fn several_agents_commit_under_one_lease() {
    let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
    let script = prop::collection::vec((0..4_u8, any::<bool>()), 0..12);
    let scripts = prop::collection::vec(script, AGENTS);
    let checked = TestRunner::new(config).run(&scripts, |scripts| {
        runtime().block_on(work_together(scripts));
        Ok(())
    });
    checked.unwrap();
}

/// One for each thread, so that the agents are at work at the same moment.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn work_together(scripts: Vec<Script>) {
    let place = Place::new("several");
    let store = Arc::new(place.open().await);
    let root = Arc::new(Writing::begin(&*store, "1").await);
    let child = |task: usize| Internal::new(&root, &format!("child{task}"), RunStatus::Running);
    for task in 1..AGENTS {
        let child = child(task);
        store.commit(&root.lease, child.commit(child.rows.clone())).await.unwrap();
    }
    let begin = |task: usize, script: Script| {
        let child = (task > 0).then(|| child(task));
        let work = play(Arc::clone(&store), Arc::clone(&root), task, child, script);
        thread::spawn(|| runtime().block_on(work))
    };
    let tasks: Vec<_> = scripts.iter().enumerate().map(|(task, script)| begin(task, script.clone())).collect();
    let mut reported = Vec::new();
    for task in tasks {
        reported.push(task.join().unwrap().unwrap());
    }
    check(&store, &root, &scripts, reported).await;

    // Somebody else takes the session over: none of them stores anything any more.
    let before = store.events(root.session(), 0, 100_000).await.unwrap().len();
    std::fs::remove_file(place.lock_of("sess_1")).unwrap();
    let heir = place.open().await.claim_session(root.session(), None).await.unwrap();
    assert_eq!(heir.unfinished.len(), AGENTS);
    let tasks: Vec<_> = (0..AGENTS).map(|task| begin(task, vec![(1, false)])).collect();
    for task in tasks {
        let error = task.join().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::FenceLost { .. }), "{error:?}");
    }
    assert_eq!(store.events(root.session(), 0, 100_000).await.unwrap().len(), before);
    store.close().await;
    std::fs::remove_dir_all(&place.folder).unwrap();
}
