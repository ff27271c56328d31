//! Two runtimes on one home, as two processes are (MEM-07).

use serde_json::json;

use super::{extracting, folder, memories, new, rest, world};
use crate::support::run;

/// MEM-07: everybody's memories are there in the end, each in the catalog.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost() {
    const EACH: usize = 12;
    let world = world("memory_together", "").await;
    extracting(&world, |told| {
        let message = &told.messages()[0];
        let number = message["text"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
        let id = message["node_id"].as_str().unwrap().to_owned();
        json!([new(&format!("n{number}"), &format!("Number {number}."), &[id])])
    });
    let (one, other) = (world.runtime().await, world.runtime().await);
    let says = |runtime: agent_core::AgentRuntime, from: usize| async move {
        for n in from..from + EACH {
            run(&runtime, &format!("Remember number {n}")).await.assert_completed();
        }
        rest(&runtime).await;
        runtime.close().await;
    };
    tokio::join!(says(one, 0), says(other, EACH));
    let found = memories(&world);
    assert_eq!(found.len(), 2 * EACH);
    let catalog = std::fs::read_to_string(folder(&world).join("MEMORY.md")).unwrap();
    for n in 0..2 * EACH {
        assert_eq!(found.iter().filter(|(path, _)| path.starts_with(&format!("user/n{n}-"))).count(), 1, "{n}");
        assert_eq!(catalog.matches(&format!(" user: About n{n};")).count(), 1, "{n}: {catalog}");
    }
}
