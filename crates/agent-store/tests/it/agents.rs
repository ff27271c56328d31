//! Agents beside the one people talk to: their runs are stored like any other, and do not describe their session.

use agent_protocol::{AgentStatus, EventDraft, EventType, NodeDraft, Role, RunStatus};
use agent_store::{
    ClaimedSession, Commit, SessionArchive, SessionFilter, SessionStore, SessionSummary, SqliteStore, Write,
};
use serde_json::json;

use crate::support::{Internal, Place, Writing, event, node, session_id, stands, whole};

async fn listed(store: &SqliteStore) -> Vec<String> {
    let all = whole(store.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap());
    all.into_iter().map(|summary| summary.session.session_id.to_string()).collect()
}

async fn summary(store: &SqliteStore, writing: &Writing) -> SessionSummary {
    store.session_summary(writing.session()).await.unwrap().unwrap()
}

async fn hits(store: &SqliteStore, words: &str) -> usize {
    whole(store.search(words, &SessionFilter::default(), 9, 0).await.unwrap().hits).len()
}

/// What an agent says in a node of its own tree.
fn said(internal: &Internal, n: u64, role: Role, text: &str) -> Write {
    Write::Node(NodeDraft { role, ..node(internal.run.node(n), None, text) })
}

/// CMP-4: an agent, its run and that run's events are stored in one commit in their name, in the session's timeline.
#[tokio::test]
async fn an_internal_run_is_stored_in_its_own_name() {
    let place = Place::new("internal-run");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    store.commit(&writing.lease, writing.commit(vec![event(1), writing.node(1, 0)])).await.unwrap();
    let internal = Internal::new(&writing, "compact", RunStatus::Running);
    let begun = Write::Event(EventDraft::raw(EventType::CompactStarted, agent_protocol::Object::new()));
    let writes = [internal.rows.clone(), vec![begun, said(&internal, 1, Role::Assistant, "summary")]].concat();
    let done = store.commit(&writing.lease, internal.commit(writes)).await.unwrap();
    let stored = &done.events[0];
    assert_eq!((stored.seq, stored.run_seq, stored.event_id.as_str()), (Some(2), Some(1), "evt_compact_1"));
    assert_eq!((&stored.agent_id, &stored.run_id), (&Some(internal.agent.clone()), &Some(internal.run.clone())));
    assert_eq!((done.nodes[0].node_seq, &done.nodes[0].agent_id), (2, &internal.agent));
    // The summary goes onto the path in the name of the conversation.
    store.commit(&writing.lease, writing.commit(vec![writing.node(2, 1)])).await.unwrap();

    let status = AgentStatus::Completed;
    let ended = Write::AgentStatus { agent_id: internal.agent.clone(), status, result: Some(json!({"nodes": 1})) };
    let writes = vec![
        Write::Event(EventDraft::raw(EventType::LoopCompleted, agent_protocol::Object::new())),
        stands(RunStatus::Completed),
        ended,
    ];
    let done = store.commit(&writing.lease, internal.commit(writes)).await.unwrap();
    assert_eq!((done.events[0].seq, done.events[0].run_seq), (Some(3), Some(2)));
    let agents = whole(store.agents(writing.session()).await.unwrap());
    assert_eq!(
        agents.iter().map(|agent| agent.agent_id.clone()).collect::<Vec<_>>(),
        [writing.agent(), internal.agent.clone()]
    );
    assert_eq!((agents[1].status, &agents[1].metadata["purpose"]), (status, &json!("compact")));
    assert_eq!(agents[1].parent_agent_id, Some(writing.agent()));
    let run = store.run(&internal.run).await.unwrap().unwrap();
    assert_eq!((run.status, run.agent_id), (RunStatus::Completed, internal.agent.clone()));
    let runs = store.runs(writing.session(), 9, 0).await.unwrap();
    assert_eq!(runs.iter().map(|run| &run.run_id).collect::<Vec<_>>(), [&writing.run, &internal.run]);

    // Not in another's name.
    let mixed = Commit { agent_id: writing.agent(), ..internal.commit(vec![event(2)]) };
    assert!(store.commit(&writing.lease, mixed).await.is_err());
}

/// DEC-69: order, last run, number of runs, first message and search are those of the agent people talk to.
#[tokio::test]
async fn internal_runs_do_not_describe_their_session() {
    let place = Place::new("internal-apart");
    let store = place.open().await;
    let a = Writing::begin(&store, "a").await;
    let b = Writing::begin(&store, "b").await;
    let before = summary(&store, &a).await;
    // One begins at once, one waits first, and both speak before anybody else has.
    for (name, status) in [("one", RunStatus::Running), ("two", RunStatus::Queued)] {
        let internal = Internal::new(&a, name, status);
        let words = [said(&internal, 1, Role::User, "summarise"), said(&internal, 2, Role::Assistant, "condensed")];
        let begun = [internal.rows.clone(), words.to_vec()].concat();
        for writes in [begun, vec![stands(RunStatus::Running)], vec![stands(RunStatus::Completed)]] {
            store.commit(&a.lease, internal.commit(writes)).await.unwrap();
            assert_eq!(listed(&store).await, ["sess_b", "sess_a"], "{name}");
            assert_eq!(summary(&store, &a).await, before, "{name}");
        }
    }
    assert_eq!((before.runs, before.first_message.as_deref()), (1, None));
    assert_eq!((hits(&store, "summarise").await, hits(&store, "condensed").await), (0, 0));
    a.say(&store, 1, &["condensed by hand"]).await;
    assert_eq!(hits(&store, "condensed").await, 1);
    assert_eq!(whole(store.search("condensed", &SessionFilter::default(), 9, 0).await.unwrap().hits)[0].nodes, 1);

    let a = a.next_run(&store, "a2").await;
    let after = summary(&store, &a).await;
    assert_eq!((after.runs, after.first_message.as_deref()), (2, Some("condensed by hand")));
    assert_eq!(after.last_run.unwrap().run_id, a.run);
    assert_eq!(listed(&store).await, ["sess_a", "sess_b"]);
    store.commit(&b.lease, b.commit(vec![stands(RunStatus::Completed)])).await.unwrap();
    assert_eq!(listed(&store).await, ["sess_b", "sess_a"]);
    // In the order in which they began, whoever's they are, and whatever is said of them later.
    let two = Internal::new(&a, "two", RunStatus::Running);
    store.commit(&a.lease, two.commit(vec![stands(RunStatus::Running)])).await.unwrap();
    let runs = store.runs(a.session(), 9, 0).await.unwrap();
    assert_eq!(
        runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(),
        ["run_a", "run_one", "run_two", "run_a2"]
    );
}

/// RUN-20: after a crash the runs of all agents are there to be ended; whose they are can be told, and ending one that no user
/// began moves nothing.
#[tokio::test]
async fn interrupted_internal_runs_are_found() {
    let place = Place::new("internal-crash");
    let store = place.open().await;
    let a = Writing::begin(&store, "a").await;
    store.commit(&a.lease, a.commit(vec![stands(RunStatus::Completed)])).await.unwrap();
    let internal = Internal::new(&a, "compact", RunStatus::Running);
    store.commit(&a.lease, internal.commit(internal.rows.clone())).await.unwrap();
    let _b = Writing::begin(&store, "b").await;
    let before = summary(&store, &a).await;
    drop((a, store));

    let store = place.open().await;
    let ClaimedSession { row: session, lease, .. } = store.claim_session(&session_id("sess_a"), None).await.unwrap();
    let unfinished = store.unfinished_runs(&session.session_id).await.unwrap();
    assert_eq!(unfinished.iter().map(|run| &run.run_id).collect::<Vec<_>>(), [&internal.run]);
    assert_ne!(unfinished[0].agent_id, session.root_agent_id);
    assert_eq!(store.agent(&unfinished[0].agent_id).await.unwrap().unwrap().metadata["purpose"], json!("compact"));
    let failed = EventDraft::raw(EventType::CompactFailed, agent_protocol::Object::new());
    let ending = vec![Write::Event(failed), stands(RunStatus::Failed)];
    store.commit(&lease, internal.commit(ending)).await.unwrap();
    assert!(store.unfinished_runs(&session.session_id).await.unwrap().is_empty());
    assert_eq!(listed(&store).await, ["sess_b", "sess_a"]);
    let after = store.session_summary(&session.session_id).await.unwrap().unwrap();
    assert_eq!((after.runs, after.last_run), (before.runs, before.last_run));
}

/// STO-12: a session goes with all of its agents.
#[tokio::test]
async fn a_session_is_deleted_with_its_internal_runs() {
    let place = Place::new("internal-delete");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let internal = Internal::new(&writing, "compact", RunStatus::Completed);
    let writes = [internal.rows.clone(), vec![event(1), said(&internal, 1, Role::Assistant, "summary")]].concat();
    store.commit(&writing.lease, internal.commit(writes)).await.unwrap();
    let id = writing.session().clone();
    let gone = store.delete_session(writing.lease).await.unwrap();
    assert_eq!((gone.agents, gone.runs, gone.events, gone.nodes), (2, 2, 1, 1));
    assert_eq!(store.run(&internal.run).await.unwrap(), None);
    assert_eq!(store.agent(&internal.agent).await.unwrap(), None);
    assert!(store.events(&id, 0, 9).await.unwrap().is_empty());
}
