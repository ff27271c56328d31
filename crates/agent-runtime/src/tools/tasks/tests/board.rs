//! What requests show of Tasks.

use std::sync::Arc;

use agent_protocol::AgentRole;

use super::{Caller, World, claim};
use crate::tasks::TaskAccess;

fn access(caller: &Caller<'_>) -> TaskAccess {
    let world = caller.world;
    TaskAccess { run: Arc::clone(&caller.run), settings: Arc::clone(&world.settings), tracker: world.tracker.clone() }
}

async fn board(caller: &Caller<'_>, room: u64) -> Option<String> {
    let message = access(caller).board(room).await?;
    Some(message.content[0].as_text().unwrap().to_owned())
}

/// TBD-1, TSK-12: who reads the board, and what of the Tasks is shown, comes from the run; what it takes, from the window.
#[tokio::test]
async fn a_board_is_for_who_reads_it() {
    let world = World::new("board").await;
    let orchestrator = world.orchestrator().await;
    assert!(!access(&orchestrator).has_board(), "there are no tasks yet");
    orchestrator.create("t", "a@p b@q c@p d@p").await;
    let worker = world.worker("w1", "t", Some("a c")).await;
    worker.ok("task_claim_step", claim("t", "a")).await;
    let all = board(&orchestrator, 10_000).await.unwrap();
    for part in [
        "<task_board>\n[The tasks of this session as they are now.",
        "\n- t \"Task t\": running, 4 steps: 3 ready, 1 claimed\n",
        "\nSteps that others are at work on:\n- t/a \"Step a\", claimed by agent_w1, lease ends in 1 min\n",
        "\nReady steps:\n- t/b \"Step b\", pool q\n- t/c \"Step c\", pool p\n- t/d \"Step d\", pool p\n",
        "\n- now: t/a claimed\n",
        "\n</task_board>",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let own = board(&worker, 10_000).await.unwrap();
    let held = "\nSteps that you hold:\n- t/a \"Step a\", claimed, lease ends in 1 min\nReady steps that you may claim:\n- t/c \"Step c\", pool p\n";
    assert!(own.contains(held) && !own.contains("t/b ") && !own.contains("t/d "), "{own}");
    // What is configured bounds it, and what the run has room for.
    assert_eq!(board(&orchestrator, 30).await, None);
    let short = board(&orchestrator, 80).await.unwrap();
    assert!(short.contains("Not shown, for lack of room: 1 task, 1 claimed step, 3 ready steps, 7 changes"), "{short}");
    let sub = world.child("s1", AgentRole::Sub, None).await;
    assert!(!access(&sub).has_board() && access(&worker).has_board() && access(&orchestrator).has_board());
}

/// TBD-1: the board is made from the logs, so it is the same after a restart.
#[tokio::test]
async fn a_board_is_the_same_after_a_restart() {
    let world = World::new("board-again").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b<a").await;
    world.worker("w1", "t", None).await.ok("task_claim_step", claim("t", "a")).await;
    let before = board(&orchestrator, 10_000).await;
    world.owned.tasks.let_go();
    assert_eq!(board(&orchestrator, 10_000).await, None, "nothing is opened for a board alone");
    access(&orchestrator).open().await;
    assert_eq!(board(&orchestrator, 10_000).await, before);
    assert!(before.unwrap().contains("- now: t/a claimed"));
}
