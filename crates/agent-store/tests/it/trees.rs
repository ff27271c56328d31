//! Agents' trees (STO-8), and switching between branches.

use agent_protocol::{AgentId, AgentStatus, AgentType, NodeId, Object, RunStatus};
use agent_store::{Commit, NewAgent, NewRun, SessionArchive, SessionStore, StoreError, Write};

use crate::support::{Place, Writing, node, run_id};

/// STO-8: a node hangs in its own agent's tree, or from the point the agent was forked at. All else is refused.
#[tokio::test]
async fn a_tree_has_one_agent() {
    let place = Place::new("sto-8");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    root.say(&store, 1, &["one", "two", "three"]).await;
    let begin = |name: &str, fork: Option<NodeId>| {
        let agent_id = AgentId::parse(&format!("agent_{name}")).unwrap();
        let run = run_id(&format!("run_{name}"));
        let agent = NewAgent {
            agent_id: agent_id.clone(),
            parent_agent_id: Some(root.agent()),
            agent_type: AgentType::Fork,
            created_by_run_id: Some(root.run.clone()),
            fork_from_node_id: fork,
            status: AgentStatus::Running,
            metadata: Object::new(),
        };
        let status = RunStatus::Running;
        let new_run = NewRun {
            run_id: run.clone(),
            agent_id: agent_id.clone(),
            status,
            start_node_id: None,
            metadata: Object::new(),
        };
        (Commit { agent_id, run_id: run, writes: vec![] }, vec![Write::Agent(agent), Write::Run(new_run)])
    };
    let (fork, fork_writes) = begin("fork", Some(root.run.node(2)));
    let (worker, worker_writes) = begin("worker", None);
    for (commit, writes) in [(&fork, fork_writes), (&worker, worker_writes)] {
        store.commit(&root.lease, Commit { writes, ..commit.clone() }).await.unwrap();
    }
    let own = |commit: &Commit, n: u64, parent: Option<NodeId>| Commit {
        writes: vec![Write::Node(node(commit.run_id.node(n), parent, "x"))],
        ..commit.clone()
    };
    let parent = |run: &agent_protocol::RunId, n| Some(run.node(n));
    let mut refused = 0;
    for (what, commit, allowed) in [
        ("a fork at its fork point", own(&fork, 1, parent(&root.run, 2)), true),
        ("a fork in its own tree", own(&fork, 2, parent(&fork.run_id, 1)), true),
        ("a fork at its fork point again", own(&fork, 3, parent(&root.run, 2)), true),
        ("a fork before its fork point", own(&fork, 4, parent(&root.run, 1)), false),
        ("a fork behind its fork point", own(&fork, 4, parent(&root.run, 3)), false),
        ("a worker's dispatch", own(&worker, 1, None), true),
        ("a worker's next dispatch", own(&worker, 2, parent(&worker.run_id, 1)), true),
        ("a worker in the root's tree", own(&worker, 3, parent(&root.run, 2)), false),
        ("a worker in the fork's tree", own(&worker, 3, parent(&fork.run_id, 1)), false),
        (
            "the root in the fork's tree",
            root.commit(vec![Write::Node(node(root.run.node(9), parent(&fork.run_id, 1), "x"))]),
            false,
        ),
    ] {
        let done = store.commit(&root.lease, commit).await;
        assert_eq!(done.is_ok(), allowed, "{what}: {done:?}");
        if let Err(error) = done {
            assert!(matches!(error, StoreError::NotInSession { .. }), "{what}: {error:?}");
            refused += 1;
        }
    }
    assert_eq!(refused, 5);
    let path = store.load_path(root.session(), &fork.run_id.node(2)).await.unwrap();
    let ids: Vec<_> = path.iter().map(|node| node.node_id.as_str()).collect();
    assert_eq!(ids, ["node_1_1", "node_1_2", "node_fork_1", "node_fork_2"]);
}

/// STO-7: the active node moves to any node of the session, and to no other; only the owner moves it.
#[tokio::test]
async fn the_active_node_is_switched_by_the_owner() {
    let place = Place::new("activate");
    let store = place.open().await;
    let (one, two) = (Writing::begin(&store, "1").await, Writing::begin(&store, "2").await);
    one.say(&store, 1, &["a", "b"]).await;
    two.say(&store, 1, &["c"]).await;
    let active = async || store.session(one.session()).await.unwrap().unwrap().active_node_id;
    store.activate(&one.lease, &one.run.node(1)).await.unwrap();
    assert_eq!(active().await, Some(one.run.node(1)));
    for node_id in [two.run.node(1), one.run.node(3)] {
        let error = store.activate(&one.lease, &node_id).await.unwrap_err();
        assert!(matches!(error, StoreError::NotInSession { .. }), "{error:?}");
    }
    std::fs::remove_file(place.lock_of("sess_1")).unwrap();
    let heir = store.claim_session(one.session(), None).await.unwrap().lease;
    let error = store.activate(&one.lease, &one.run.node(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::FenceLost { .. }), "{error:?}");
    assert_eq!(active().await, Some(one.run.node(1)));
    store.activate(&heir, &one.run.node(2)).await.unwrap();
}
