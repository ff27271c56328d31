//! One budget for the user's run and all below it, and one sum of what they used (AGT-C10).

use agent_core::event::{RunEnd, TreeUsage};
use agent_core::model::{ModelFault, Usage};
use agent_core::{EventType, RuntimeEvent};
use agent_store::SessionStore;
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::stage::{Stage, Step};
use crate::stored::Stored;
use crate::support::{Ran, World, run, run_in};

/// A token of a prompt costs 0.1, one of a reply 0.2.
const PRICES: &str = "model.provider = \"stage\"\nmodel.parallel_requests = 8\nagents.max_children_per_run = 8\nmodel.context_window = 131072\n\
                      model.price.input_per_million = 100000.0\nmodel.price.output_per_million = 200000.0";

fn end_of(ran: &Ran) -> RunEnd {
    let ends = [EventType::LoopCompleted, EventType::LoopFailed, EventType::LoopAborted];
    let is_end = |event: &&RuntimeEvent| ends.contains(&event.event_type);
    RunEnd::read(ran.events.iter().rev().find(is_end).expect("it ends")).expect("the end is read")
}

fn figures(usage: &Usage) -> (u64, u64) {
    (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0))
}

fn sends(children: &[Value]) -> Step {
    let calls: Vec<_> = children.iter().map(|arguments| ("test.send", arguments.clone())).collect();
    Step::calls(&calls)
}

/// A child, what it is started with, what it says, and what that uses and costs.
type End = (&'static str, Value, Vec<Vec<Step>>, (u64, u64), f64);

/// AGT-C10: what a run used is its own and its children's, each at the price of its model, however these end: completed, failed,
/// broken off in the middle of a reply, given up, at another price. The result, the event at its end and what is stored say the same.
#[tokio::test]
async fn a_runs_sum_is_its_own_and_its_childrens() {
    let dear = json!({ "price": { "input_per_million": 1_000_000, "output_per_million": 0 } }).to_string();
    // What a child does, and what that is in all: tokens in and out, the cost, and whether it is one that is not counted in full.
    let ends: [End; 5] = [
        ("Answer", json!({}), vec![vec![Step::text("Done.").used(3_000, 7)]], (3_000, 7), 301.4),
        (
            "Look",
            json!({}),
            vec![
                vec![Step::calls(&[("code.list_dir", json!({"path": "."}))]).used(2_900, 50)],
                vec![Step::text("Done.").used(3_600, 6)],
            ],
            (6_500, 56),
            661.2,
        ),
        (
            "Fail",
            json!({}),
            vec![vec![Step::Break(ModelFault::Fatal, "Half of", Some((2_500, 60)))]],
            (2_500, 60),
            262.0,
        ),
        ("Dear", json!({ "profile": dear }), vec![vec![Step::text("Done.").used(4_000, 9)]], (4_000, 9), 4_000.0),
        (
            "Broken",
            json!({}),
            vec![
                vec![Step::Break(ModelFault::Retryable, "Half of", Some((3_100, 30)))],
                vec![Step::text("Done.").used(3_400, 4)],
            ],
            (6_500, 34),
            656.8,
        ),
    ];
    for chosen in 1..1_u32 << ends.len() {
        // All of them alone, and some of their mixtures.
        if chosen.count_ones() > 1 && chosen % 5 != 1 {
            continue;
        }
        let world = World::with("tree_sum", Protocol::OpenAi, PRICES).await;
        let stage = Stage::new();
        let chosen: Vec<_> =
            ends.iter().enumerate().filter(|(n, _)| chosen & (1 << n) != 0).map(|(_, end)| end).collect();
        let mut children = Vec::new();
        for (task, arguments, turns, ..) in &chosen {
            let mut arguments = arguments.clone();
            arguments["task"] = (*task).into();
            children.push(arguments);
            let turns = turns.clone();
            stage.on(task, move |turn| turns[turn].clone());
        }
        stage.on("Go.", move |turn| match turn {
            0 => vec![sends(&children).used(3_000, 200)],
            _ => vec![Step::text("Done.").used(3_500, 2)],
        });
        let runtime = stage.builder(&world).build().await.unwrap();
        let ran = run(&runtime, "Go.").await;
        ran.assert_completed();
        let (input, output) =
            chosen.iter().fold((6_500, 202), |sum, (.., (input, output), _)| (sum.0 + input, sum.1 + output));
        let cost = 690.4 + chosen.iter().map(|(.., cost)| cost).sum::<f64>();
        let names: Vec<_> = chosen.iter().map(|(task, ..)| *task).collect();
        assert_eq!(figures(&ran.result.usage), (6_500, 202), "{names:?}: its own");
        let tree: &TreeUsage = &ran.result.tree;
        assert_eq!(figures(&tree.usage), (input, output), "{names:?}");
        assert!((tree.cost.unwrap() - cost).abs() < 1e-6, "{names:?}: {:?}, not {cost}", tree.cost);
        assert_eq!((tree.children as usize, tree.is_estimate), (chosen.len(), false), "{names:?}");
        let end = end_of(&ran);
        assert_eq!(end.tree.as_ref(), Some(tree), "{names:?}");
        assert!((end.cost.unwrap() - 690.4).abs() < 1e-6, "{names:?}: {:?}", end.cost);
        let store = Stored::open(&world.home.home).await.store;
        let events = store.events(&ran.session_id, 0, 10_000).await.unwrap();
        let stored = events.iter().rev().find(|event| event.run_id == ran.events[0].run_id).unwrap();
        assert_eq!(RunEnd::read(stored).unwrap().tree.as_ref(), Some(tree), "{names:?}");
        store.close().await;
        runtime.close().await;
    }
}

/// A run without children says what it used once; a server that counts nothing is told as an estimate.
#[tokio::test]
async fn a_run_alone_has_no_tree() {
    let world = World::with("tree_alone", Protocol::OpenAi, PRICES).await;
    let stage = Stage::new();
    stage.on("Go.", |_| vec![Step::text("Done.").used(3_000, 10)]);
    stage.on("Uncounted", |_| vec![Step::text("Done, in some words.")]);
    let runtime = stage.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Go.").await;
    assert_eq!(end_of(&ran).tree, None);
    assert_eq!((figures(&ran.result.tree.usage), ran.result.tree.children), ((3_000, 10), 0));
    let ran = run(&runtime, "Uncounted").await;
    assert_eq!(ran.result.usage.input_tokens, None);
    assert!(ran.result.tree.is_estimate && ran.result.tree.usage.input_tokens.unwrap() > 0);
    runtime.close().await;
}

/// AGT-C10: the limit is one for the run and all below it, by tokens as by cost: it holds before the next request of any of them, so that
/// each of the children at work passes it by one request at most; then all end, and the message says what was used, the limit, its key and
/// how to go on. The next message counts anew.
#[tokio::test]
async fn one_limit_for_the_tree() {
    // A request uses from 5,000 to 12,000 tokens, more each time as its prompt grows, and costs as much.
    let prices = "model.price.input_per_million = 1000000.0\nmodel.price.output_per_million = 1000000.0";
    for (limit, key, said) in [
        (
            format!("runtime.max_tokens = 125000\n{prices}"),
            "runtime.max_tokens",
            "tokens, and runtime.max_tokens is 125000",
        ),
        (format!("runtime.max_cost = 125000.0\n{prices}"), "runtime.max_cost", ", and runtime.max_cost is 125000"),
    ] {
        for children in [1, 3] {
            let extra = format!(
                "model.provider = \"stage\"\nmodel.parallel_requests = 8\nmodel.context_window = 131072\n{limit}"
            );
            let world = World::with("tree_limit", Protocol::OpenAi, &extra).await;
            let stage = Stage::new();
            let sent: Vec<_> = (0..children).map(|n| json!({ "task": format!("Task {n}") })).collect();
            stage.on("Go.", move |turn| match turn {
                0 => vec![sends(&sent).used(5_000, 200)],
                _ => vec![Step::text("Done.").used(5_500, 10)],
            });
            for n in 0..children {
                // For ever, were there no limit: each call is another one.
                let look =
                    |turn: usize| Step::calls(&[("code.list_dir", json!({ "path": ".", "depth": 1 + turn % 9 }))]);
                stage.on(&format!("Task {n}"), move |turn| vec![look(turn).used(5_000 + 400 * turn as u64, 10)]);
            }
            stage.on("Again", |_| vec![Step::text("Done.").used(9_000, 10)]);
            let runtime = stage.builder(&world).build().await.unwrap();
            let ran = run(&runtime, "Go.").await;
            assert_eq!(ran.result.status.as_str(), "failed", "{key} {children}");
            let error = ran.result.error.as_ref().unwrap();
            assert_eq!((error.details["kind"].as_str(), error.details["key"].as_str()), (Some("budget"), Some(key)));
            for words in ["the run and its child agents", said, "resumed with a new message", "config.toml"] {
                assert!(error.message.contains(words), "{words}: {}", error.message);
            }
            let (input, output) = figures(&ran.result.tree.usage);
            let used = input + output;
            assert!((125_000..125_000 + 12_000 * children as u64).contains(&used), "{key} {children}: {used}");
            let reports = stage.reports();
            assert!(reports.iter().all(|report| report.as_ref().unwrap().status.as_str() == "failed"), "{reports:?}");
            assert_eq!(figures(&ran.result.tree.usage), stage.charged(), "each request is counted once");
            let again = run_in(&runtime, &ran.session_id, "Again").await;
            again.assert_completed();
            assert_eq!(figures(&again.result.tree.usage), (9_000, 10), "counted anew");
            runtime.close().await;
        }
    }
}

/// AGT-C10: a child that outgrows its window is compacted and goes on; its summary counts to the tree.
#[tokio::test]
async fn a_childs_summary_counts() {
    let extra = format!("{PRICES}\nmemory.enabled = false");
    let world = World::with("tree_summary", Protocol::OpenAi, &extra).await;
    world.home.write("project/data.txt", "a line of text\n".repeat(4_000));
    let stage = Stage::new();
    let profile = json!({ "context_window": 8_192 }).to_string();
    stage.on("Go.", move |turn| match turn {
        0 => vec![sends(&[json!({ "task": "Read", "profile": profile })]).used(0, 10)],
        _ => vec![Step::text("Done.").used(0, 10)],
    });
    stage.on("Read", |turn| match turn {
        0..12 => {
            let part = json!({ "path": "data.txt", "start_line": 1 + 60 * turn, "max_lines": 200 });
            vec![Step::calls(&[("code.read_file", part)]).used(0, 10)]
        }
        _ => vec![Step::text("Read.").used(0, 10)],
    });
    let summary = "## Goal\n- read data.txt\n\n## Progress\n- Done: some\n\n## Next Steps\n- read on";
    stage.on("any", move |_| vec![Step::text(summary).used(0, 100)]);
    let runtime = stage.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Go.").await;
    ran.assert_completed();
    let reports = stage.reports();
    assert_eq!(reports[0].as_ref().unwrap().answer.as_deref(), Some("Read."), "{reports:?}");
    let summaries = stage.requests("any").len() as u64;
    assert!(summaries > 0, "it was compacted");
    let requests = (stage.requests("Read").len() + 2) as u64;
    assert_eq!(ran.result.tree.children, 1, "a summary is no child");
    let cost = ran.result.tree.cost.unwrap();
    // What goes in is estimated here; what comes out is counted.
    assert_eq!(figures(&ran.result.tree.usage).1, 10 * requests + 100 * summaries, "cost {cost}");
    runtime.close().await;
}
