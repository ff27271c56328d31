//! Going on from an earlier point (STO-7, STO-8).

use agent_core::error::{ArchiveError, BranchError, ErrorCode, RuntimeError, StoreError};
use agent_core::id::{NodeId, SessionId};
use agent_core::{AgentRuntime, StartOptions};
use agent_testkit::{Call, Protocol, Reply};
use serde_json::json;

use crate::archive::archive;
use crate::stored::Stored;
use crate::support::{Ran, World, run, run_in};

/// The node a run ended with.
async fn end_of(runtime: &AgentRuntime, ran: &Ran) -> NodeId {
    let replay = runtime.replay_run(ran.events[0].run_id.as_ref().unwrap(), false).await.unwrap();
    replay.run().unwrap().end_node_id.clone().unwrap()
}

/// What was said in a request.
fn said(world: &World, request: usize) -> String {
    world.server.requests()[request].messages().iter().map(ToString::to_string).collect()
}

/// API-6, STO-7: after a switch the next run goes on from there; the branch that was left never leaks in, stays, and can be
/// gone back to, in this process or a later one.
#[tokio::test]
async fn siblings_never_leak() {
    for &protocol in Protocol::ALL {
        let world = World::new("siblings", protocol).await;
        world.home.write("project/secret-name.txt", "x");
        world.server.script([
            Reply::text("ANSWER-ONE"),
            Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]),
            Reply::text("ANSWER-TWO"),
            Reply::text("ANSWER-THREE"),
            Reply::text("ANSWER-FOUR"),
            Reply::text("ANSWER-FIVE"),
        ]);
        let runtime = world.runtime().await;
        let first = run(&runtime, "QUESTION-ONE").await;
        let id = &first.session_id;
        let second = run_in(&runtime, id, "QUESTION-TWO").await;
        let (fork, old_end) = (end_of(&runtime, &first).await, end_of(&runtime, &second).await);
        runtime.switch_node(id, &fork).await.unwrap();
        let third = run_in(&runtime, id, "QUESTION-THREE").await;
        third.assert_completed();
        let request = said(&world, 3);
        assert!(
            ["QUESTION-ONE", "ANSWER-ONE", "QUESTION-THREE"].iter().all(|text| request.contains(text)),
            "{request}"
        );
        assert!(!["TWO", "secret-name"].iter().any(|text| request.contains(text)), "{request}");

        let old = runtime.get_node_path(&old_end).await.unwrap();
        assert_eq!(old.len(), 6, "nothing is deleted");
        let new_end = end_of(&runtime, &third).await;
        assert_eq!(runtime.get_node_path(&new_end).await.unwrap()[2].parent_id, Some(fork));
        runtime.close().await;

        let archive = archive(&world).await;
        archive.switch_node(id, &old_end).await.unwrap();
        archive.close().await;
        let runtime = world.runtime().await;
        run_in(&runtime, id, "QUESTION-FOUR").await.assert_completed();
        let request = said(&world, 4);
        assert!(["ANSWER-ONE", "ANSWER-TWO", "QUESTION-FOUR"].iter().all(|text| request.contains(text)), "{request}");
        assert!(!request.contains("THREE"), "{request}");
        runtime.switch_node(id, &new_end).await.unwrap();
        run_in(&runtime, id, "QUESTION-FIVE").await.assert_completed();
        let request = said(&world, 5);
        assert!(request.contains("ANSWER-THREE") && !request.contains("TWO") && !request.contains("FOUR"), "{request}");
        runtime.close().await;
    }
}

/// STO-7, STO-8: a branch starts where something can be said, in the session's own tree, and not under a run's feet.
#[tokio::test]
async fn not_everywhere() {
    let world = World::new("not_everywhere", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let kept = stored.session("parent", "Share the work.").await;
    let of_child = stored.child(&kept, "child", "I count files.").await;
    let parent = kept.id().clone();
    world
        .server
        .script([Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]), Reply::text("Listed.")]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "List.").await;
    let id = &ran.session_id;
    let path = runtime.get_node_path(&end_of(&runtime, &ran).await).await.unwrap();

    let error = runtime.switch_node(id, &path[1].node_id).await.unwrap_err();
    assert!(matches!(error, RuntimeError::Archive(ArchiveError::Branch(BranchError::Unanswered { .. }))), "{error}");
    assert_eq!(error.code(), ErrorCode::ValidationError);
    let error = runtime.switch_node(id, &of_child).await.unwrap_err();
    assert!(matches!(error, RuntimeError::Store(StoreError::NotInSession { .. })), "{error}");
    let error = runtime.switch_node(&parent, &path[0].node_id).await.unwrap_err();
    assert!(matches!(error, RuntimeError::Store(StoreError::NotInSession { .. })), "{error}");
    let error = runtime.switch_node(&parent, &kept.run_id.node(1)).await.unwrap_err();
    assert!(matches!(error, RuntimeError::Store(StoreError::SessionActive { owner: Some(_), .. })), "{error}");
    stored.die([kept]).await;
    let error = runtime.switch_node(&parent, &of_child).await.unwrap_err();
    assert!(matches!(error, RuntimeError::Archive(ArchiveError::OtherTree { .. })), "{error}");

    let (reply, gate) = Reply::text("Slow.").gated();
    world.server.push(reply);
    let options = StartOptions { session_id: Some(SessionId::parse(id.as_str()).unwrap()), mode: None };
    let handle = runtime.start("Slow?", options).await.unwrap();
    let busy = runtime.switch_node(id, &path[0].node_id).await.unwrap_err();
    assert!(matches!(busy, RuntimeError::SessionBusy { .. }), "{busy}");
    gate.release_all();
    assert_eq!(handle.wait().await.status.as_str(), "completed");
    runtime.switch_node(id, &path[2].node_id).await.unwrap();
    let listing = runtime.archive().session(id).await.unwrap();
    assert_eq!(listing.summary.session.active_node_id.as_ref(), Some(&path[2].node_id));
    runtime.close().await;
}
