//! Where each agent stands: its own active node, and the session's, which is its root agent's.

use agent_protocol::{NodeId, RunStatus};
use agent_store::{SessionArchive, SessionStore, SqliteStore, StoreError, Write};

use crate::support::{Internal, Place, Writing, node};

/// The active nodes of the session, of its root agent and of another one.
async fn active(store: &SqliteStore, root: &Writing, other: &Internal) -> [Option<NodeId>; 3] {
    let session = store.session(root.session()).await.unwrap().unwrap();
    let agent = async |id| store.agent(id).await.unwrap().unwrap().active_node_id;
    [session.active_node_id, agent(&root.agent()).await, agent(&other.agent).await]
}

/// STO-7, STO-8: an agent's commit moves that agent; the session follows its root agent and nobody else.
#[tokio::test]
async fn each_agent_has_an_active_node() {
    let place = Place::new("active");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    let child = Internal::new(&root, "child", RunStatus::Running);
    store.commit(&root.lease, child.commit(child.rows.clone())).await.unwrap();
    assert_eq!(active(&store, &root, &child).await, [None, None, None]);
    store.commit(&root.lease, root.turn(1)).await.unwrap();
    let at = |n| Some(root.run.node(n));
    assert_eq!(active(&store, &root, &child).await, [at(1), at(1), None]);

    let said = child.run.node(1);
    let writes = vec![Write::Node(node(said.clone(), None, "x")), Write::Activate(said.clone())];
    store.commit(&root.lease, child.commit(writes)).await.unwrap();
    assert_eq!(active(&store, &root, &child).await, [at(1), at(1), Some(said.clone())]);
    // The last of several counts; a commit that moves nothing leaves all as it is.
    let back = vec![root.node(2, 1), Write::Activate(root.run.node(2)), Write::Activate(root.run.node(1))];
    store.commit(&root.lease, root.commit(back)).await.unwrap();
    assert_eq!(active(&store, &root, &child).await, [at(1), at(1), Some(said.clone())]);
    store.commit(&root.lease, root.commit(vec![Write::Activate(root.run.node(2))])).await.unwrap();
    store.commit(&root.lease, root.commit(vec![])).await.unwrap();
    assert_eq!(active(&store, &root, &child).await, [at(2), at(2), Some(said.clone())]);

    store.activate(&root.lease, &root.run.node(1)).await.unwrap();
    assert_eq!(active(&store, &root, &child).await, [at(1), at(1), Some(said)]);
}

/// STO-8: an agent stands in its own tree, or where it was forked; anywhere else is refused like a node that is not there, and
/// nothing of the commit is stored.
#[tokio::test]
async fn an_agent_stands_in_its_own_tree() {
    let place = Place::new("active-tree");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    for n in 1..=3 {
        store.commit(&root.lease, root.turn(n)).await.unwrap();
    }
    let mut fork = Internal::new(&root, "fork", RunStatus::Running);
    let Write::Agent(agent) = &mut fork.rows[0] else { panic!("an agent") };
    agent.fork_from_node_id = Some(root.run.node(2));
    store.commit(&root.lease, fork.commit(fork.rows.clone())).await.unwrap();
    let own = fork.run.node(1);
    let other = Writing::begin(&store, "2").await;
    store.commit(&other.lease, other.turn(1)).await.unwrap();
    let before = active(&store, &root, &fork).await;
    let refused = |commit| async {
        let error = store.commit(&root.lease, commit).await.unwrap_err();
        assert!(matches!(error, StoreError::NotInSession { .. }), "{error:?}");
    };
    for node_id in [root.run.node(1), root.run.node(3), root.run.node(9), other.run.node(1), own.clone()] {
        refused(fork.commit(vec![Write::Activate(node_id)])).await;
    }
    assert_eq!(active(&store, &root, &fork).await, before);

    let below = Write::Node(node(own.clone(), Some(root.run.node(2)), "x"));
    store.commit(&root.lease, fork.commit(vec![Write::Activate(root.run.node(2))])).await.unwrap();
    store.commit(&root.lease, fork.commit(vec![below, Write::Activate(own.clone())])).await.unwrap();
    assert_eq!(active(&store, &root, &fork).await, [before[0].clone(), before[1].clone(), Some(own.clone())]);

    // The root agent is not led into another tree, by nobody.
    refused(root.commit(vec![Write::Activate(own.clone()), root.node(4, 3)])).await;
    for node_id in [&own, &other.run.node(1)] {
        let error = store.activate(&root.lease, node_id).await.unwrap_err();
        assert!(matches!(error, StoreError::NotInSession { .. }), "{error:?}");
    }
    assert_eq!(active(&store, &root, &fork).await, [before[0].clone(), before[1].clone(), Some(own)]);
    assert_eq!(store.node(&root.run.node(4)).await.unwrap(), None);
}
