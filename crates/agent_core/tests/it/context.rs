//! What goes into requests.

use agent_core::{EventType, StartOptions};
use agent_testkit::{Call, Protocol, Reply, prefix_violations};
use serde_json::json;

use crate::support::{World, run};

/// PRV-15: over fifty turns within an epoch every request begins with the elements of the one before.
#[tokio::test]
async fn fifty_turns_grow_at_their_end_only() {
    for &protocol in Protocol::ALL {
        let world = World::with("fifty_turns", protocol, "model.context_window = 131072").await;
        world.home.write("project/data.txt", "x".repeat(1000));
        world.server.respond_with(|request, _| {
            let turn = request.turn();
            if turn < 50 {
                Reply::text("").calls([Call::new(
                    "code.read_file",
                    json!({"path": "data.txt", "start_line": 1, "max_lines": turn + 1}),
                )])
            } else {
                Reply::text("Read.")
            }
        });
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read it fifty times.").await;
        ran.assert_completed();
        let requests = world.server.requests();
        assert_eq!(requests.len(), 51);
        assert_eq!(prefix_violations(&requests), Vec::<String>::new());
        let epochs: Vec<_> =
            ran.of_type(EventType::ContextBuilt).iter().map(|event| event.payload["epoch"].clone()).collect();
        assert!(epochs.iter().all(|epoch| *epoch == 1));
        runtime.close().await;
    }
}

/// PRV-15, CTX-9: when the window is full it slides once for several turns, with a marker for the model and a line for the
/// user.
#[tokio::test]
async fn a_full_window_slides() {
    let world = World::with("full_window", Protocol::OpenAi, "compact.enabled = false").await;
    world.home.write("project/data.txt", "line of text\n".repeat(150));
    world.server.respond_with(|request, answered| {
        if answered < 16 {
            let _ = request;
            let call =
                Call::new("code.read_file", json!({"path": "data.txt", "start_line": 1 + answered, "max_lines": 100}));
            Reply::text("").calls([call]).no_usage()
        } else {
            Reply::text("Read.").no_usage()
        }
    });
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Read a lot.").await;
    ran.assert_completed();
    let slides = ran.of_type(EventType::CompactCompleted);
    assert!((2..=8).contains(&slides.len()), "{} slides", slides.len());
    let last = world.server.requests().pop().unwrap();
    assert!(last.body.to_string().contains("earlier turns left out"));
    assert!(last.body.to_string().contains("Read a lot."), "the user's message is always kept");
    runtime.close().await;
}

/// The provider says "too long" though we estimated otherwise: room is made, and the run goes on.
#[tokio::test]
async fn the_provider_knows_better() {
    for &protocol in Protocol::ALL {
        let world = World::with("knows_better", protocol, "compact.enabled = false").await;
        world.home.write("project/data.txt", "line of text\n".repeat(40));
        let read = |n: usize| {
            Reply::text("").calls([Call::new("code.read_file", json!({"path": "data.txt", "start_line": n}))])
        };
        world.server.script([read(1), read(2), read(3), Reply::context_overflow(9000, 8192), Reply::text("Read.")]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read.").await;
        ran.assert_completed();
        assert_eq!(ran.of_type(EventType::CompactCompleted).len(), 1);
        runtime.close().await;
    }
}

/// STO-13, CTX-1: `context_built` holds the budgets and what went in, and names the hash of every system block and of the tool list.
#[tokio::test]
async fn context_built_names_hashes() {
    let world = World::new("hashes", Protocol::OpenAi).await;
    world.server.push(Reply::text("Hi."));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Hi?").await;
    let report = &ran.of_type(EventType::ContextBuilt)[0].payload;
    for field in ["nodes_in", "nodes_out", "first_kept_node_id", "last_node_id"] {
        assert!(report.contains_key(field), "{field}");
    }
    let part = &report["epoch_part"];
    assert_eq!((part["epoch_because"].as_str(), part["budgets"]["window"].is_u64()), (Some("run_start"), true));
    let fixed = &part["fixed_part"];
    assert_eq!(fixed["system_blocks"].as_array().unwrap().len(), 6);
    assert_eq!(fixed["tools"]["hash"].as_str().unwrap().len(), 64);
    runtime.close().await;
}

/// AST-4: the fixed part of a normal run with the six code tools and those that make children is at most 1,850 estimated tokens.
#[tokio::test]
async fn the_fixed_part_is_small() {
    let world = World::new("fixed_part", Protocol::OpenAi).await;
    world.server.push(Reply::text("Hi."));
    let runtime = world.runtime().await;
    let handle = runtime.start("Hi?", StartOptions::default()).await.unwrap();
    let ran = crate::support::watch(&handle).await;
    let budgets = &ran.of_type(EventType::ContextBuilt)[0].payload["epoch_part"]["budgets"];
    let fixed = budgets["fixed"].as_u64().unwrap();
    assert!(fixed <= 1850, "{fixed} tokens");
    assert!(fixed > 300, "{fixed} tokens: was anything left out?");
    runtime.close().await;
}
