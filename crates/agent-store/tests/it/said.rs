//! What is read to find something worth remembering: the last event of a type, what the user said, and what stands around it.

use agent_protocol::{EventDraft, EventType, Node, NodeDraft, NodeType, Role, RunStatus};
use agent_store::{SessionStore, Write};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use std::cell::Cell;

use crate::support::{Internal, Place, Writing, fact, node, session_id};

/// EVT-4: the newest event of a type by its place, of this session alone, whichever run wrote it and whether or not
/// the type has an index of its own.
#[tokio::test]
async fn the_last_event_of_a_type() {
    let place = Place::new("last-event");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let other = Writing::begin(&store, "2").await;
    let internal = Internal::new(&writing, "compact", RunStatus::Running);
    store.commit(&writing.lease, internal.commit(internal.rows.clone())).await.unwrap();
    let last = async |event_type| {
        let found = store.last_event(writing.session(), event_type).await.unwrap();
        found.map(|event| (event.seq.unwrap(), event.payload["n"].clone()))
    };
    for event_type in EventType::ALL.iter().filter(|event_type| event_type.is_stored()) {
        assert_eq!(last(*event_type).await, None, "{event_type:?}");
        let event = |n: u64| vec![Write::Event(EventDraft::raw(*event_type, fact("n", n)))];
        store.commit(&writing.lease, writing.commit(event(1))).await.unwrap();
        let newest = store.commit(&writing.lease, internal.commit(event(2))).await.unwrap().events.remove(0);
        store.commit(&other.lease, other.commit(event(3))).await.unwrap();
        assert_eq!(last(*event_type).await, Some((newest.seq.unwrap(), json!(2))), "{event_type:?}");
        assert_eq!(store.last_event(writing.session(), *event_type).await.unwrap(), Some(newest));
    }
    // What came since changes nothing.
    assert_eq!(last(EventType::RunQueued).await, Some((2, json!(2))));
    assert_eq!(store.last_event(&session_id("sess_none"), EventType::LoopStarted).await.unwrap(), None);
}

/// Whose node: the root agent's, or that of one beside it.
#[derive(Debug, Clone, Copy)]
struct Said {
    role: Role,
    node_type: NodeType,
    synthetic: bool,
    beside: bool,
    tokens: u64,
}

fn said() -> impl Strategy<Value = Said> {
    let role = prop_oneof![3 => Just(Role::User), 1 => Just(Role::Assistant), 1 => Just(Role::Tool)];
    let node_type = prop_oneof![3 => Just(NodeType::Message), 1 => Just(NodeType::SystemNote)];
    let flag = || prop_oneof![3 => Just(false), 1 => Just(true)];
    (role, node_type, flag(), flag(), 0_u64..1_000).prop_map(|(role, node_type, synthetic, beside, tokens)| Said {
        role,
        node_type,
        synthetic,
        beside,
        tokens,
    })
}

/// MEM-2, MEM-3: what the user said to the root agent after a place, from either end; nothing else counts.
#[test]
fn messages_of_the_user() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let number = Cell::new(0);
    let cases = (prop::collection::vec(said(), 0..30), 0_u64..35, 0_u32..12);
    TestRunner::new(Config::with_cases(24))
        .run(&cases, |(all, after, limit)| {
            number.set(number.get() + 1);
            runtime.block_on(async {
                let place = Place::new(&format!("user-messages-{}", number.get()));
                let store = place.open().await;
                let writing = Writing::begin(&store, "1").await;
                let internal = Internal::new(&writing, "compact", RunStatus::Running);
                store.commit(&writing.lease, internal.commit(internal.rows.clone())).await.unwrap();
                let mut nodes: Vec<Node> = Vec::new();
                for (said, n) in all.iter().zip(1..) {
                    let mut draft = NodeDraft {
                        role: said.role,
                        node_type: said.node_type,
                        token_count: said.tokens,
                        ..node(writing.run.node(n), None, &format!("text {n}"))
                    };
                    if said.synthetic {
                        draft.metadata.insert("synthetic".into(), true.into());
                    }
                    let writes = vec![Write::Node(draft)];
                    let commit = if said.beside { internal.commit(writes) } else { writing.commit(writes) };
                    nodes.extend(store.commit(&writing.lease, commit).await.unwrap().nodes);
                }
                let (session, agent) = (writing.session(), writing.agent());
                let counts = |(node, said): &(&Node, &Said)| {
                    node.node_seq > after
                        && (said.role, said.node_type) == (Role::User, NodeType::Message)
                        && !said.synthetic
                        && !said.beside
                };
                let expected: Vec<&Node> = nodes.iter().zip(&all).filter(counts).map(|(node, _)| node).collect();
                let found = store.user_messages(session, &agent, after, limit).await.unwrap();
                assert_eq!(found.iter().collect::<Vec<_>>(), expected[..expected.len().min(limit as usize)]);
                let found = store.user_messages(session, &agent, after, u32::MAX).await.unwrap();
                assert_eq!(found.iter().collect::<Vec<_>>(), expected);
                let newest = store.newest_user_messages(session, &agent, after, limit).await.unwrap();
                assert_eq!(
                    newest.iter().collect::<Vec<_>>(),
                    expected.into_iter().rev().take(limit as usize).collect::<Vec<_>>()
                );

                let to = after + u64::from(limit);
                let between = store.nodes_between(session, after, to, limit).await.unwrap();
                let expected = nodes.iter().filter(|node| (after..=to).contains(&node.node_seq));
                assert!(between.iter().eq(expected.take(limit as usize)));
                assert_eq!(store.nodes_between(session, 0, u64::MAX, u32::MAX).await.unwrap(), nodes);
                std::fs::remove_dir_all(&place.folder).unwrap();
            });
            Ok(())
        })
        .unwrap();
}
