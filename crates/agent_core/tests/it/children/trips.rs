//! How often the store is asked for a child (PERF-9).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agent_core::StartOptions;
use agent_store::testing::{StoreBetween, Verdict};
use agent_testkit::Protocol;
use serde_json::json;

use super::actors::{Actors, Say};
use crate::support::World;

/// What the store was asked, by name, while a parent and so many children of one turn ran.
async fn asked(children: usize) -> BTreeMap<&'static str, usize> {
    let extra = "model.provider = \"actors\"\nmodel.parallel_requests = 8\nmemory.enabled = false\nagents.max_children_per_run = 8";
    let world = World::with("children_trips", Protocol::OpenAi, extra).await;
    let actors = Actors::default();
    actors.on("Send them.", move |turn, _| match turn {
        0 => Say::calls(&vec![("agent.create_sub_agent", json!({"task": "Look."})); children]),
        _ => Say::text("Done."),
    });
    actors.on("Look.", |_, _| Say::text("Nothing there."));
    let count = Arc::new(Mutex::new(BTreeMap::new()));
    let counted = Arc::clone(&count);
    let judge = move |name| {
        *counted.lock().unwrap().entry(name).or_default() += 1;
        Verdict::Pass
    };
    let builder = actors.builder(&world).store_between(move |inner| StoreBetween::shared(inner, judge));
    let runtime = builder.build().await.unwrap();
    // Nobody watches: whoever falls behind reads on from the store.
    let handle = runtime.start("Send them.", StartOptions::default()).await.unwrap();
    assert_eq!(handle.wait().await.status.as_str(), "completed");
    runtime.close().await;
    assert_eq!(actors.asked("Look.").len(), children);
    count.lock().unwrap().clone()
}

/// PERF-9: a sub agent of one turn reads nothing from the store, since it begins with its task, and commits six times.
#[tokio::test]
async fn a_child_of_one_turn_reads_nothing() {
    let (one, five) = (asked(1).await, asked(5).await);
    let more: BTreeMap<_, _> = five.iter().map(|(name, count)| (*name, count - one.get(name).unwrap_or(&0))).collect();
    let reads: BTreeMap<_, _> = more.iter().filter(|(name, count)| **name != "commit" && **count > 0).collect();
    assert!(reads.is_empty(), "four more children read {reads:?} more");
    assert!(more["commit"] <= 4 * 6, "four more children commit {} times more", more["commit"]);
}
