//! Reports of many children in one window (AGT-C12, CTX-6, SUB-07).

use agent_core::EventType;
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::actors::{Actors, Say, text_of};
use super::whole;
use crate::support::{World, run};

/// AGT-C12, CTX-6, ART-2: six reports of 40 KB in one reply fit the window, whichever it is; each is shown as far as its share goes and is
/// whole in its artifact, the JSON of a wanted form is never cut, and the one that is off its form is an error.
#[tokio::test]
async fn six_long_reports() {
    for window in [8192, 131_072] {
        let extra = format!(
            "model.provider = \"actors\"\nmodel.context_window = {window}\nagents.max_children_per_run = 6\ncompact.enabled = false"
        );
        let world = World::with("reports", Protocol::OpenAi, &extra).await;
        let actors = Actors::default();
        actors.on("Split it up.", |turn, _| match turn {
            0 => {
                let mut calls: Vec<_> =
                    (0..4).map(|n| ("agent.create_sub_agent", json!({"task": format!("Task {n}")}))).collect();
                let schema = json!({"type": "object", "required": ["rows"]});
                for n in 4..6 {
                    let task = json!({"task": format!("Task {n}"), "expected_output_schema": schema});
                    calls.push(("agent.create_sub_agent", task));
                }
                Say::calls(&calls)
            }
            _ => Say::text("All is done."),
        });
        for n in 0..3 {
            actors.on(&format!("Task {n}"), move |_, _| {
                Say::text(&format!("Report {n}. {}", "A sentence of it.\n".repeat(40 * 1024 / 18)))
            });
        }
        let findings: Vec<_> = (0..500).map(|n| json!({"file": format!("src/file{n}.rs"), "line": n})).collect();
        let report = json!({"summary": "Report 3.", "findings": findings}).to_string();
        actors.on("Task 3", move |_, _| Say::text(&report));
        let rows: Vec<_> = (0..1500).map(|n| json!({"row": n, "text": "words"})).collect();
        let table = json!({ "rows": rows }).to_string();
        actors.on("Task 4", move |_, _| Say::text(&table));
        actors.on("Task 5", |_, _| Say::text("Report 5 is off its form."));
        let runtime = actors.builder(&world).build().await.unwrap();
        let ran = run(&runtime, "Split it up.").await;
        ran.assert_completed();
        assert_eq!(ran.of_type(EventType::ToolCompleted).len(), 5, "{window}");
        assert_eq!(ran.of_type(EventType::ToolFailed)[0].payload["error"]["code"], "schema_error");
        let asked = actors.asked("Split it up.");
        let results: Vec<_> = asked[1].messages.iter().map(|message| text_of(&message.content)).collect();
        let results: Vec<_> = results.iter().filter(|text| text.contains("\"status\"")).collect();
        assert_eq!(results.len(), 6, "{window}: no child's report is dropped for another's");
        let mut stored = 0;
        for result in &results {
            let json = result.lines().find(|line| line.starts_with('{')).unwrap();
            let value: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{window}: {error}: {json}"));
            if value["status"] == "completed" && value.get("truncated").is_some() {
                assert!(result.contains("code.read_file takes this id as path"), "{window}: {result}");
                stored += 1;
            }
        }
        let least = if window == 8192 { 5 } else { 3 };
        assert!(stored >= least, "{window}: {stored}");
        for n in 0..4 {
            assert!(results.iter().any(|text| text.contains(&format!("Report {n}."))), "{window}: {n}");
        }
        runtime.close().await;
    }
}

/// SUB-07: what children say and do is not in their parent's context, and no event of theirs is in its stream, however many there are.
#[tokio::test]
async fn children_fill_no_parent() {
    let extra = "model.provider = \"actors\"\nmodel.context_window = 65536\nagents.max_children_per_run = 50\n\
                 agents.max_concurrent_children_per_session = 50";
    let world = World::with("many_children", Protocol::OpenAi, extra).await;
    let actors = Actors::default();
    actors.on("Split it up.", |turn, _| match turn {
        0 => {
            let calls: Vec<_> = (0..50).map(|n| ("agent.fork_agent", json!({"task": format!("Task {n}")}))).collect();
            Say::calls(&calls)
        }
        _ => Say::text("All is done."),
    });
    for n in 0..50 {
        actors.on(&format!("Task {n}"), move |turn, _| match turn {
            0..4 => Say::calls(&[("code.list_dir", json!({"path": ".", "depth": turn + 1}))]),
            _ => Say::text("Done."),
        });
    }
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = run(&runtime, "Split it up.").await;
    ran.assert_completed();
    let root = ran.events[0].run_id.clone();
    assert!(ran.events.iter().all(|event| event.run_id == root));
    let asked = actors.asked("Split it up.");
    assert_eq!(asked[1].messages.iter().filter(|message| text_of(&message.content).contains("list_dir")).count(), 0);
    let all = whole(&world, &ran.session_id).await;
    let of_root = all.events.iter().filter(|event| event.run_id == root).count();
    assert!(of_root < 50 * 8 && all.events.len() > 50 * 30, "{of_root} of {}", all.events.len());
    let agents: std::collections::HashSet<_> = all.nodes.iter().map(|node| node.agent_id.clone()).collect();
    assert_eq!(agents.len(), 51);
    runtime.close().await;
}
