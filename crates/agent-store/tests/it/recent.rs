//! The end of a path.

use agent_protocol::{Node, NodeType, Role};
use agent_store::{Recent, SessionStore, Write};

use crate::support::{Place, Writing, node};

/// PERF-5, STO-7: the end of a path is what the whole path ends with: at least the tokens asked for, never beginning with a
/// result, with what is always wanted before it, and the rest counted.
#[tokio::test]
async fn the_end_of_a_path() {
    let place = Place::new("recent");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    // u s a t t | a t t | … each of 10 tokens; a sibling beside each reply.
    let kinds = [
        (Role::User, NodeType::Message),
        (Role::User, NodeType::SkillContext),
        (Role::Assistant, NodeType::Message),
        (Role::Tool, NodeType::Message),
        (Role::Tool, NodeType::Message),
    ];
    let mut writes = Vec::new();
    for n in 1..=60_u64 {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let mut draft = node(writing.run.node(n), parent.clone(), &format!("text {n}"));
        (draft.role, draft.node_type) = match n {
            1 | 2 => kinds[n as usize - 1],
            _ => kinds[2 + (n as usize) % 3],
        };
        if n == 30 {
            draft.node_type = NodeType::SkillContext;
            draft.role = Role::User;
        }
        draft.token_count = 10;
        writes.push(Write::Node(draft));
        writes.push(Write::Node(node(writing.run.node(1000 + n), parent, "beside")));
    }
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    let (session, leaf) = (writing.session(), writing.run.node(60));
    let whole = store.load_path(session, &leaf).await.unwrap();
    assert_eq!(whole.len(), 60);
    let tokens = |nodes: &[Node]| nodes.iter().map(|node| node.token_count).sum::<u64>();
    for asked in [0, 1, 10, 11, 95, 200, 305, 590, 600, 10_000] {
        for always in [vec![], vec![NodeType::SkillContext]] {
            let recent = Recent { tokens: asked, results: u64::MAX, always: always.clone() };
            let end = store.load_recent(session, &leaf, &recent).await.unwrap();
            let pinned = |node: &&Node| always.contains(&node.node_type);
            let newer: Vec<_> = end.nodes.iter().rev().zip(whole.iter().rev()).take_while(|(a, b)| a == b).collect();
            let cut = whole.len() - newer.len();
            let (older, rest) = whole.split_at(cut);
            assert!(tokens(rest) >= asked.min(600), "{asked}");
            assert!(tokens(rest) < asked + 40 || cut == 0, "{asked}: not much more than asked for");
            assert!(rest.first().is_none_or(|node| node.role != Role::Tool), "{asked}");
            let before: Vec<_> = older.iter().filter(pinned).collect();
            assert!(end.nodes.iter().zip(&before).all(|(a, b)| a == *b), "{asked}");
            assert_eq!(end.nodes.len(), before.len() + rest.len(), "{asked}");
            let gone: Vec<_> = older.iter().filter(|node| !pinned(node)).collect();
            let turns = gone.iter().filter(|node| node.role == Role::Assistant).count();
            assert_eq!((end.omitted_nodes, end.omitted_turns), (gone.len(), turns), "{asked}");
            assert_eq!(end.nodes_before, older.iter().take_while(pinned).count(), "{asked}");
        }
    }
}

/// PERF-5: big results count as what they may be shortened to, so that what they would still leave room for is there.
#[tokio::test]
async fn big_results_leave_room() {
    let place = Place::new("recent-results");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let roles = [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::Tool];
    let writes = roles.iter().zip(1..).map(|(role, n)| {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let mut draft = node(writing.run.node(n), parent, "text");
        draft.role = *role;
        draft.token_count = if *role == Role::Tool { 1000 } else { 10 };
        Write::Node(draft)
    });
    store.commit(&writing.lease, writing.commit(writes.collect())).await.unwrap();
    let (session, leaf) = (writing.session(), writing.run.node(6));
    for (results, expected) in [(20, 6), (200, 2), (u64::MAX, 2)] {
        let recent = Recent { tokens: 100, results, always: Vec::new() };
        let end = store.load_recent(session, &leaf, &recent).await.unwrap();
        assert_eq!(end.nodes.len(), expected, "{results}");
    }
}
