//! Lists of sessions, runs, agents and artifacts, and who owns a session.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_protocol::{
    AgentStatus, AgentType, ContentBlock, EndReason, EventDraft, EventType, NodeId, Object, Role, RunPatch, RunStatus,
    Usage,
};
use agent_store::{
    Clock, Commit, NewAgent, NewRun, NewSession, SessionArchive, SessionFilter, SessionStore, SessionSummary,
    SqliteStore, StoreError, Write,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::child::Child;
use crate::support::{
    Internal, NOW, Place, Writing, event, fact, new_session, node, open_at, run_id, session_id, whole,
};

async fn list(store: &SqliteStore, filter: &SessionFilter, limit: u32, offset: u32) -> Vec<SessionSummary> {
    whole(store.list_sessions(filter, limit, offset).await.unwrap())
}

async fn names(store: &SqliteStore) -> Vec<String> {
    let all = list(store, &SessionFilter::default(), u32::MAX, 0).await;
    all.into_iter().map(|summary| summary.session.session_id.to_string()).collect()
}

/// RUN-1: a run that waits has not begun: the session's last run is the one that began last, in whatever order rows come.
#[tokio::test]
async fn a_queued_run_is_not_the_last_one() {
    let place = Place::new("list-queued");
    let store = place.open().await;
    let first = Writing::begin(&store, "1").await;
    let status = |status| RunPatch {
        status,
        end_reason: None,
        end_node_id: None,
        turn_count: 0,
        usage: Usage::default(),
        error: None,
    };
    let waits = run_id("run_waits");
    let Write::Run(row) = first.new_run() else { unreachable!() };
    let row = Write::Run(NewRun { run_id: waits.clone(), status: RunStatus::Queued, ..row });
    let of = |writes| Commit { agent_id: first.agent(), run_id: waits.clone(), writes };
    store.commit(&first.lease, of(vec![row])).await.unwrap();
    let last = async || store.session_summary(first.session()).await.unwrap().unwrap().last_run.unwrap().run_id;
    assert_eq!(last().await, first.run);
    store.commit(&first.lease, first.commit(vec![ended()])).await.unwrap();
    store.commit(&first.lease, of(vec![Write::RunPatch(status(RunStatus::Running))])).await.unwrap();
    assert_eq!(last().await, waits);
    let runs = store.runs(first.session(), 10, 0).await.unwrap();
    assert_eq!(runs.iter().map(|run| &run.run_id).collect::<Vec<_>>(), [&first.run, &waits]);
}

fn ended() -> Write {
    Write::RunPatch(RunPatch {
        status: RunStatus::Completed,
        end_reason: Some(EndReason::Completed),
        end_node_id: None,
        turn_count: 1,
        usage: Usage::default(),
        error: None,
    })
}

/// The session whose run began or ended last is the first, whatever was committed to others since; one without a run is the last.
#[tokio::test]
async fn sessions_are_listed_by_use() {
    let place = Place::new("list-by-use");
    let store = place.open().await;
    let (a, b, c) =
        (Writing::begin(&store, "a").await, Writing::begin(&store, "b").await, Writing::begin(&store, "c").await);
    store.create_session(new_session("sess_z")).await.unwrap();
    assert_eq!(names(&store).await, ["sess_c", "sess_b", "sess_a", "sess_z"]);
    store.commit(&b.lease, b.turn(1)).await.unwrap();
    assert_eq!(names(&store).await, ["sess_c", "sess_b", "sess_a", "sess_z"]);
    let a = a.next_run(&store, "a2").await;
    assert_eq!(names(&store).await, ["sess_a", "sess_c", "sess_b", "sess_z"]);
    let page = list(&store, &SessionFilter::default(), 2, 1).await;
    let page: Vec<_> = page.iter().map(|summary| summary.session.session_id.as_str()).collect();
    assert_eq!(page, ["sess_c", "sess_b"]);

    let first = list(&store, &SessionFilter::default(), 1, 0).await.remove(0);
    assert_eq!(store.session_summary(a.session()).await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.session_summary(&session_id("sess_nonesuch")).await.unwrap(), None);
    assert_eq!((first.runs, first.last_run.unwrap().run_id), (2, a.run.clone()));
    let runs = store.runs(a.session(), 10, 0).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["run_a", "run_a2"]);
    // A run that ends has used its session last, however long ago it began.
    store.commit(&b.lease, b.commit(vec![ended()])).await.unwrap();
    assert_eq!(names(&store).await, ["sess_b", "sess_a", "sess_c", "sess_z"]);
    let d = b.next_run(&store, "b2").await;
    assert_eq!(names(&store).await, ["sess_b", "sess_a", "sess_c", "sess_z"]);
    assert_eq!(store.runs(d.session(), 10, 0).await.unwrap().len(), 2);
    assert_eq!(store.runs(a.session(), 1, 1).await.unwrap(), runs[1..]);
    drop(c);
}

#[tokio::test]
async fn sessions_are_listed_by_project() {
    let place = Place::new("list-project");
    let store = place.open().await;
    for (name, cwd) in [("1", "/a"), ("2", "/b"), ("3", "/a"), ("4", "/a/b")] {
        let new = NewSession { cwd: cwd.into(), ..new_session(&format!("sess_{name}")) };
        let writing = Writing { lease: store.create_session(new).await.unwrap(), run: run_id(&format!("run_{name}")) };
        store.commit(&writing.lease, writing.commit(vec![writing.new_run()])).await.unwrap();
    }
    for (cwd, limit, offset, expected) in [
        ("/a", 9, 0, vec!["sess_3", "sess_1"]),
        ("/a", 1, 1, vec!["sess_1"]),
        ("/b", 9, 0, vec!["sess_2"]),
        ("/", 9, 0, vec![]),
    ] {
        let found = list(&store, &SessionFilter { cwd: Some(cwd.into()) }, limit, offset).await;
        let found: Vec<_> = found.iter().map(|summary| summary.session.session_id.as_str()).collect();
        assert_eq!(found, expected, "{cwd}");
    }
}

/// Ids are found by their beginnings, which are data; one that is the beginning itself comes first.
#[tokio::test]
async fn sessions_are_found_by_a_beginning() {
    let place = Place::new("beginnings");
    let store = place.open().await;
    for name in ["sess_ab", "sess_abc", "sess_abd", "sess_a-z", "sess_a_z", "sess_aZ", "sess_b"] {
        drop(store.create_session(new_session(name)).await.unwrap());
    }
    for (prefix, limit, expected) in [
        ("sess_ab", 9, &["sess_ab", "sess_abc", "sess_abd"][..]),
        ("sess_ab", 1, &["sess_ab"]),
        ("sess_abc", 9, &["sess_abc"]),
        ("sess_abce", 9, &[]),
        ("sess_a", 3, &["sess_a-z", "sess_aZ", "sess_a_z"]),
        ("sess_a_", 9, &["sess_a_z"]),
        ("sess_az", 9, &[]),
        ("sess_a%", 9, &[]),
        ("sess_a*", 9, &[]),
        ("' OR 1 --", 9, &[]),
        ("sess_b\u{10ffff}", 9, &[]),
        ("", 1, &["sess_a-z"]),
        ("sess_", 0, &[]),
    ] {
        let found = store.sessions_beginning(prefix, limit).await.unwrap();
        assert_eq!(found.iter().map(|id| id.as_str()).collect::<Vec<_>>(), expected, "{prefix:?} {limit}");
    }
}

/// Of a run's questions the last one is told, whatever was stored since, and of other runs' none.
#[tokio::test]
async fn the_last_question_of_a_run() {
    let place = Place::new("last-question");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let other = Writing::begin(&store, "2").await;
    let last = async |run: &agent_protocol::RunId| {
        store.last_question(run).await.unwrap().map(|event| (event.event_type, event.payload["n"].clone()))
    };
    assert_eq!(last(&writing.run).await, None);
    for (n, (event_type, expected)) in [
        (EventType::PermissionRequested, (EventType::PermissionRequested, 0)),
        (EventType::ToolCompleted, (EventType::PermissionRequested, 0)),
        (EventType::PermissionResolved, (EventType::PermissionResolved, 2)),
        (EventType::PermissionRequested, (EventType::PermissionRequested, 3)),
        (EventType::ModelStarted, (EventType::PermissionRequested, 3)),
    ]
    .into_iter()
    .enumerate()
    {
        let event = Write::Event(EventDraft::raw(event_type, fact("n", n)));
        store.commit(&writing.lease, writing.commit(vec![event])).await.unwrap();
        assert_eq!(last(&writing.run).await, Some((expected.0, json!(expected.1))), "{n}");
    }
    assert_eq!(last(&other.run).await, None);
}

/// What a user said first: not what core said in the user's place, not what the model said, and not all of it.
#[tokio::test]
async fn a_session_is_known_by_its_first_message() {
    let place = Place::new("first-message");
    let store = place.open().await;
    let said = |content: Vec<ContentBlock>, role, synthetic: bool| {
        let metadata = if synthetic { json!({"synthetic": true}) } else { json!({}) };
        let mut draft = node(NodeId::parse("node_x").unwrap(), None, "");
        (draft.content, draft.role, draft.metadata) = (content.into(), role, metadata.as_object().unwrap().clone());
        draft
    };
    let text = |text: &str| vec![ContentBlock::text(text)];
    let long = "ä日".repeat(3000);
    let blocks: Vec<ContentBlock> =
        serde_json::from_value(json!([{"type": "json", "data": 1}, {"type": "text", "text": "second"}])).unwrap();
    for (n, (drafts, expected)) in [
        (vec![], None),
        (vec![said(text("model"), Role::Assistant, false)], None),
        (vec![said(text("core"), Role::User, true), said(text("user"), Role::User, false)], Some("user".to_owned())),
        (vec![said(text(&long), Role::User, false)], Some(format!("{}…", "ä日".repeat(2000)))),
        (vec![said(blocks[..1].to_vec(), Role::User, false), said(text("later"), Role::User, false)], None),
        (vec![said(blocks, Role::User, false)], Some("second".to_owned())),
    ]
    .into_iter()
    .enumerate()
    {
        let writing = Writing::begin(&store, &n.to_string()).await;
        let writes = drafts.into_iter().zip(1..).map(|(mut draft, k)| {
            draft.node_id = writing.run.node(k);
            Write::Node(draft)
        });
        store.commit(&writing.lease, writing.commit(writes.collect())).await.unwrap();
        let newest = list(&store, &SessionFilter::default(), 1, 0).await.remove(0);
        assert_eq!(newest.first_message, expected, "case {n}");
    }
}

#[tokio::test]
async fn nodes_and_agents_are_read() {
    let place = Place::new("list-agents");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let agent = |name: &str| {
        Write::Agent(NewAgent {
            agent_id: agent_protocol::AgentId::parse(name).unwrap(),
            parent_agent_id: Some(writing.agent()),
            agent_type: AgentType::Sub,
            created_by_run_id: None,
            fork_from_node_id: None,
            status: AgentStatus::Idle,
            metadata: Object::new(),
        })
    };
    store
        .commit(&writing.lease, writing.commit(vec![agent("agent_b"), agent("agent_a"), writing.node(1, 0)]))
        .await
        .unwrap();
    let agents = whole(store.agents(writing.session()).await.unwrap());
    let ids: Vec<_> = agents.iter().map(|agent| agent.agent_id.as_str()).collect();
    assert_eq!(ids, ["agent_of_sess_1", "agent_b", "agent_a"]);
    let read = store.node(&writing.run.node(1)).await.unwrap().unwrap();
    assert_eq!((read.node_seq, &read.session_id), (1, writing.session()));
    assert_eq!(store.node(&writing.run.node(2)).await.unwrap(), None);
}

/// EVT-4, DEC-69: whatever the clock does, sessions, runs and agents keep the order in which they came; what core runs beside a
/// conversation keeps its place among the runs and moves no session.
#[test]
fn no_order_depends_on_the_clock() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rounds = prop::collection::vec((0_usize..4, 0_u64..1_000_000, any::<bool>()), 1..20);
    let number = Cell::new(0);
    TestRunner::new(Config::with_cases(12))
        .run(&rounds, |rounds| {
            number.set(number.get() + 1);
            runtime.block_on(async {
                let place = Place::new(&format!("clock-{}", number.get()));
                let time = Arc::new(AtomicU64::new(NOW));
                let clock = {
                    let time = Arc::clone(&time);
                    Clock::new(move || time.load(Ordering::SeqCst))
                };
                let store = open_at(&place.folder, Duration::from_secs(20), clock).await.unwrap();
                let mut sessions: Vec<Option<Writing>> = (0..4).map(|_| None).collect();
                let (mut by_use, mut runs) = (Vec::new(), vec![Vec::new(); 4]);
                for (n, (session, millis, beside)) in rounds.into_iter().enumerate() {
                    time.store(millis * 1_000, Ordering::SeqCst);
                    // Names that sort against the order, too.
                    let name = format!("{session}-{}", 99 - n);
                    if let Some(writing) = sessions[session].as_ref().filter(|_| beside) {
                        let internal = Internal::new(writing, &name, RunStatus::Running);
                        store.commit(&writing.lease, internal.commit(internal.rows.clone())).await.unwrap();
                        runs[session].push(internal.run.to_string());
                        continue;
                    }
                    let writing = match sessions[session].take() {
                        None => Writing::begin(&store, &name).await,
                        Some(writing) => writing.next_run(&store, &name).await,
                    };
                    let id = writing.session().to_string();
                    by_use.retain(|other| *other != id);
                    by_use.insert(0, id);
                    runs[session].push(writing.run.to_string());
                    sessions[session] = Some(writing);
                }
                assert_eq!(names(&store).await, by_use);
                for (writing, runs) in sessions.iter().zip(&runs) {
                    let Some(writing) = writing else { continue };
                    let stored = store.runs(writing.session(), u32::MAX, 0).await.unwrap();
                    let stored: Vec<_> = stored.iter().map(|run| run.run_id.to_string()).collect();
                    assert_eq!(&stored, runs);
                    let unfinished = store.unfinished_runs(writing.session()).await.unwrap();
                    assert_eq!(unfinished.iter().map(|run| run.run_id.to_string()).collect::<Vec<_>>(), *runs);
                }
                std::fs::remove_dir_all(&place.folder).unwrap();
            });
            Ok(())
        })
        .unwrap();
}

/// Artifacts come in the order of the events they were stored with, page by page.
#[tokio::test]
async fn artifacts_are_listed_in_order() {
    let place = Place::new("list-artifacts");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let mut expected = Vec::new();
    for n in 0..5 {
        let new = [writing.artifact(&place, "a"), writing.artifact(&place, "b")];
        let mut ids: Vec<_> = new.iter().map(|new| new.artifact_id.clone()).collect();
        ids.sort();
        // In every other commit there is no event before them, or none at all.
        let mut writes: Vec<_> = new.into_iter().map(Write::Artifact).collect();
        match n % 3 {
            0 => writes.insert(0, event(n)),
            1 => writes.push(event(n)),
            _ => {}
        }
        expected.extend(ids);
        store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.artifacts(writing.session(), after.clone(), 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.place.clone());
        found.extend(page);
    }
    assert_eq!(found.iter().map(|placed| placed.artifact.artifact_id.clone()).collect::<Vec<_>>(), expected);
    let seqs: Vec<_> = found.iter().map(|placed| placed.place.seq).collect();
    assert_eq!(seqs, [1, 1, 2, 2, 3, 3, 3, 3, 4, 4]);
    assert!(found.iter().all(|placed| placed.file_exists));
    std::fs::remove_file(&found[0].artifact.path).unwrap();
    assert!(!store.artifacts(writing.session(), None, 1).await.unwrap()[0].file_exists);
}

/// RUN-4: the lock says who owns a session, here and in other processes; the row that names a past owner does not.
#[tokio::test]
async fn an_owner_is_whoever_holds_the_lock() {
    let place = Place::new("owner");
    let store = place.open().await;
    let id = session_id("sess_1");
    assert_eq!(store.owner(&id).await.unwrap(), None);
    assert!(!place.sessions_dir().exists(), "looking makes nothing");
    let lease = store.create_session(new_session("sess_1")).await.unwrap();
    assert_eq!(store.owner(&id).await.unwrap().unwrap().pid, std::process::id());
    drop(lease);
    assert_eq!(store.owner(&id).await.unwrap(), None);
    assert!(store.session(&id).await.unwrap().unwrap().owner.is_some());
    let mut child = Child::start("hold 1", &place.folder);
    child.expect("held");
    assert_eq!(store.owner(&id).await.unwrap().unwrap().pid, child.id());
    child.kill();
    assert_eq!(store.owner(&id).await.unwrap(), None);
}

/// RUN-4: whoever only looks never makes a claim fail.
#[tokio::test]
async fn looking_keeps_nobody_out() {
    let place = Place::new("owner-probes");
    let store = Arc::new(place.open().await);
    drop(store.create_session(new_session("sess_1")).await.unwrap());
    let prober = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            loop {
                store.owner(&session_id("sess_1")).await.unwrap();
            }
        })
    };
    for n in 0..300 {
        let claimed = store.claim_session(&session_id("sess_1"), None).await;
        assert_eq!(claimed.unwrap().lease.fence(), n + 2);
    }
    prober.abort();
}

/// RUN-4: a refused claim waits outside of the writer: other sessions' commits go on meanwhile.
#[tokio::test]
async fn a_refused_claim_holds_nobody_up() {
    let place = Place::new("claim-waits");
    let store = place.open().await;
    let held = store.create_session(new_session("sess_held")).await.unwrap();
    let writing = Writing::begin(&store, "1").await;
    let mut claim = store.claim_session(held.session_id(), None);
    let mut commits = 0;
    let refused = loop {
        commits += 1;
        tokio::select! {
            biased;
            refused = &mut claim => break refused,
            done = store.commit(&writing.lease, writing.turn(commits)) => done.unwrap(),
        };
    };
    assert!(matches!(refused, Err(StoreError::SessionActive { .. })), "{refused:?}");
    assert!(commits > 10, "only {commits} commits while a claim waited");
}
