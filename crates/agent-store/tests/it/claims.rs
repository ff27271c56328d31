//! What a claim brings, and what a run of an agent begins with.

use agent_protocol::{AgentId, EventDraft, EventType, RunStatus, SessionId};
use agent_store::{ClaimedSession, SessionArchive, SessionStore, StoreError, Write};

use crate::support::{Internal, Place, Writing, event, fact, new_session, session_id, stands};

/// RUN-4, RUN-20: a claim brings what its new owner needs at once.
#[tokio::test]
async fn a_claim_brings_what_its_owner_needs() {
    let place = Place::new("claim");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    let child = Internal::new(&root, "child", RunStatus::Running);
    store.commit(&root.lease, root.turn(1)).await.unwrap();
    let wrote = Write::FileVersion { path: "a".into(), hash: "1".into(), written: true };
    store.commit(&root.lease, child.commit([child.rows.clone(), vec![wrote]].concat())).await.unwrap();
    let (id, run) = (root.session().clone(), root.run.clone());
    drop(root);

    let ClaimedSession { row, root, lease, unfinished, written_files } =
        store.claim_session(&id, Some("/project")).await.unwrap();
    assert_eq!((&row, lease.fence()), (&store.session(&id).await.unwrap().unwrap(), 2));
    assert_eq!((&root.agent_id, &root.active_node_id), (&row.root_agent_id, &row.active_node_id));
    assert_eq!(root.active_node_id, Some(run.node(1)));
    assert_eq!(unfinished.iter().map(|run| &run.run_id).collect::<Vec<_>>(), [&run, &child.run]);
    assert_eq!(written_files, store.written_files(&id).await.unwrap());
    assert_eq!(written_files[0].agent_id, child.agent);
}

/// COD-10: a session of another project is refused before anything of it is touched, whoever owns it.
#[tokio::test]
async fn a_session_of_another_project_is_not_claimed() {
    let place = Place::new("claim-project");
    let store = place.open().await;
    let owned = Writing::begin(&store, "1").await;
    let id = owned.session().clone();
    let before = store.session(&id).await.unwrap();
    for is_owned in [true, false] {
        let error = store.claim_session(&id, Some("/elsewhere")).await.unwrap_err();
        let StoreError::OtherProject { session_id, cwd, project } = &error else { panic!("{error:?}") };
        assert_eq!((session_id, cwd.as_str(), project.as_str()), (&id, "/project", "/elsewhere"));
        if is_owned {
            // The owner has lost nothing.
            store.commit(&owned.lease, owned.commit(vec![event(1)])).await.unwrap();
            drop(store.claim_session(&id, Some("/project")).await.unwrap_err());
        }
    }
    drop(owned);
    assert!(store.claim_session(&id, Some("/elsewhere")).await.is_err());
    assert_eq!(store.session(&id).await.unwrap(), before);
    assert_eq!(store.claim_session(&id, None).await.unwrap().lease.fence(), 2);
}

/// A session whose root agent has no row is damaged, and nobody owns it after a claim that failed so.
#[tokio::test]
async fn a_session_without_its_root_agent_is_damaged() {
    let place = Place::new("claim-rootless");
    let store = place.open().await;
    let id = Writing::begin(&store, "1").await.session().clone();
    place.raw().execute_batch("DELETE FROM agents").unwrap();
    let error = store.claim_session(&id, None).await.unwrap_err();
    let StoreError::CorruptRow { table: "sessions", column, .. } = &error else { panic!("{error:?}") };
    assert_eq!(column, "root_agent_id");
    assert_eq!(store.owner(&id).await.unwrap(), None);
}

fn built(n: u64) -> Vec<Write> {
    let with = |event_type| Write::Event(EventDraft::raw(event_type, fact("n", n)));
    vec![with(EventType::ContextBuilt), with(EventType::ModelStarted)]
}

/// CTX-7: the last request is the agent's own, and what follows it is of the same run, however its siblings come between.
#[tokio::test]
async fn the_last_request_is_the_agents_own() {
    let place = Place::new("load-agent");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    let child = Internal::new(&root, "child", RunStatus::Running);
    store.commit(&root.lease, child.commit(child.rows.clone())).await.unwrap();
    let load = async |id: &AgentId| store.load_agent(root.session(), id).await.unwrap();
    assert_eq!(load(&root.agent()).await.last_context, None);

    store.commit(&root.lease, root.commit(built(1))).await.unwrap();
    // One is cut in two by a sibling's.
    let [first, second] = <[Write; 2]>::try_from(built(2)).unwrap();
    store.commit(&root.lease, root.commit(vec![first])).await.unwrap();
    let alone = load(&root.agent()).await.last_context.unwrap();
    assert_eq!((alone.built.payload["n"].as_u64(), alone.next), (Some(2), None));
    store.commit(&root.lease, child.commit(built(7))).await.unwrap();
    store.commit(&root.lease, root.commit(vec![second, event(3)])).await.unwrap();

    for (agent, n) in [(root.agent(), 2), (child.agent.clone(), 7)] {
        let loaded = load(&agent).await;
        let (last, row) = (loaded.last_context.unwrap(), loaded.row);
        assert_eq!((row.agent_id, last.built.agent_id), (agent.clone(), Some(agent)));
        let next = last.next.unwrap();
        assert_eq!((&last.built.payload["n"], &next.payload["n"]), (&n.into(), &n.into()));
        assert_eq!((last.built.run_id, next.event_type), (next.run_id, EventType::ModelStarted));
    }
    // A run without a request has none to offer: that of the run before counts.
    store.commit(&root.lease, root.commit(vec![stands(RunStatus::Completed)])).await.unwrap();
    let root = root.next_run(&store, "later").await;
    let last = store.load_agent(root.session(), &root.agent()).await.unwrap().last_context.unwrap();
    assert_eq!(last.built.payload["n"], 2);
}

/// An agent is looked for in its session.
#[tokio::test]
async fn only_an_agent_of_the_session_is_loaded() {
    let place = Place::new("load-agent-elsewhere");
    let store = place.open().await;
    let (one, two) = (Writing::begin(&store, "1").await, Writing::begin(&store, "2").await);
    for (session, agent) in [(one.session().clone(), two.agent()), (session_id("sess_none"), one.agent())] {
        let error = store.load_agent(&session, &agent).await.unwrap_err();
        assert!(matches!(error, StoreError::NotInSession { kind: "agent", .. }), "{error:?}");
    }
}

/// The children of a run are the runs of the agents it made, not those of their children.
#[tokio::test]
async fn children_are_the_runs_of_agents_a_run_made() {
    let place = Place::new("children");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    let (one, two) = (Internal::new(&root, "b", RunStatus::Running), Internal::new(&root, "a", RunStatus::Running));
    let mut below = Internal::new(&root, "below", RunStatus::Running);
    let Write::Agent(agent) = &mut below.rows[0] else { panic!("an agent") };
    (agent.parent_agent_id, agent.created_by_run_id) = (Some(one.agent.clone()), Some(one.run.clone()));
    for child in [&one, &two, &below] {
        store.commit(&root.lease, child.commit(child.rows.clone())).await.unwrap();
    }
    for (run, expected) in [(&root.run, vec!["run_b", "run_a"]), (&one.run, vec!["run_below"]), (&below.run, vec![])] {
        let children = store.children(run).await.unwrap();
        assert_eq!(children.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), expected);
    }
}

/// RUN-20: the run of the session's own agent that began last, however it stands; runs that wait, and those of other agents, are none.
#[tokio::test]
async fn the_last_run_that_began() {
    let place = Place::new("last-run");
    let store = place.open().await;
    let last = async |session: &SessionId| store.last_run(session).await.unwrap().map(|run| (run.run_id, run.status));
    let lease = store.create_session(new_session("sess_none")).await.unwrap();
    assert_eq!(last(lease.session_id()).await, None);
    let writing = Writing::begin(&store, "1").await;
    let first = writing.run.clone();
    assert_eq!(last(writing.session()).await, Some((first.clone(), RunStatus::Running)));
    let internal = Internal::new(&writing, "compact", RunStatus::Running);
    store.commit(&writing.lease, internal.commit(internal.rows.clone())).await.unwrap();
    store.commit(&writing.lease, writing.commit(vec![stands(RunStatus::Failed)])).await.unwrap();
    assert_eq!(last(writing.session()).await, Some((first, RunStatus::Failed)));
    let writing = writing.next_run(&store, "2").await;
    assert_eq!(last(writing.session()).await, Some((writing.run.clone(), RunStatus::Running)));
}
