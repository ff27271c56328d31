//! What a model is shown of Tasks.

use serde_json::{Value, json};

use super::{World, claim, ids, set};

/// TSK-15: a write tool returns the Task's summary, the ids of its lines, and what became ready.
#[tokio::test]
async fn writes_return_the_summary_and_the_lines() {
    let world = World::new("written").await;
    let orchestrator = world.orchestrator().await;
    let created = orchestrator.create("t", "a b<a c<b").await;
    assert_eq!(
        created,
        json!({
            "task": {
                "task_id": "t", "title": "Task t", "status": "running", "steps": {"pending": 2, "ready": 1},
                "stalled": false, "completeable": false,
            },
            "wal_event_ids": ["evt_1", "evt_2", "evt_3"],
            "ready_step_ids": ["a"],
            "wal_path": ".soong-agent/tasks/sess_1/t.wal.jsonl",
        })
    );
    let written = orchestrator.ok("task_update_step", set("t", "a", "completed")).await;
    assert_eq!(
        (&written["wal_event_ids"], &written["ready_step_ids"], &written["step"]),
        (&json!(["evt_4", "evt_5"]), &json!(["b"]), &json!({"step_id": "a", "status": "completed"}))
    );
    let in_log: Vec<Value> = world.lines("t").iter().map(|line| line["event_id"].clone()).collect();
    assert_eq!(in_log[3..], [json!("evt_4"), json!("evt_5")]);
}

/// TSK-8: that nothing can go on, and that the Task can be completed, is told with what to do.
#[tokio::test]
async fn diagnostics_are_told() {
    let world = World::new("diagnostics").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b<a").await;
    orchestrator.ok("task_update_step", set("t", "a", "failed")).await;
    let shown = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
    assert_eq!((&shown["task"]["stalled"], &shown["task"]["completeable"]), (&json!(true), &json!(false)));
    assert!(shown["task"]["next"].as_str().unwrap().contains("agent.task_update"));
    orchestrator.ok("task_update", super::update("t", json!([{"op": "reopen_step", "step_id": "a"}]))).await;
    for step in ["a", "b"] {
        orchestrator.ok("task_update_step", set("t", step, "completed")).await;
    }
    let shown = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
    assert_eq!((&shown["task"]["stalled"], &shown["task"]["completeable"]), (&json!(false), &json!(true)));
    assert!(shown["task"]["next"].as_str().unwrap().contains("agent.task_complete"));
}

/// TSK-13: filters, order and paging of `task_query_steps`; steps that have ended only where they are asked for.
#[tokio::test]
async fn steps_are_queried() {
    let world = World::new("query").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b@p c@q d<a e f").await;
    let worker = world.worker("w1", "t", None).await;
    worker.ok("task_claim_step", claim("t", "b")).await;
    orchestrator.ok("task_update_step", set("t", "e", "completed")).await;
    orchestrator.ok("task_update_step", set("t", "f", "failed")).await;
    for (query, expected, total) in [
        (json!({}), "a b c d", 4),
        (json!({"include_terminal_steps": true}), "a b c d e f", 6),
        (json!({"statuses": ["ready"]}), "a c", 2),
        (json!({"statuses": ["pending", "claimed"]}), "b d", 2),
        (json!({"statuses": ["completed", "failed"], "include_terminal_steps": true}), "e f", 2),
        (json!({"statuses": ["completed"]}), "", 0),
        (json!({"worker_pool_id": "p"}), "b", 1),
        (json!({"worker_pool_id": "p", "statuses": ["ready"]}), "", 0),
        (json!({"claimed_by_agent_id": "agent_w1"}), "b", 1),
        (json!({"claimed_by_agent_id": "agent_w2"}), "", 0),
        (json!({"limit": 2}), "a b", 4),
        (json!({"limit": 2, "offset": 2}), "c d", 4),
        (json!({"offset": 9}), "", 4),
    ] {
        let mut arguments = query.clone();
        arguments["task_id"] = json!("t");
        let found = orchestrator.ok("task_query_steps", arguments).await;
        assert_eq!((ids(&found).as_str(), found["total"].as_u64()), (expected, Some(total)), "{query}");
        let next = query["limit"].as_u64().map(|limit| limit + query["offset"].as_u64().unwrap_or(0));
        assert_eq!(found["next_offset"].as_u64(), next.filter(|next| *next < total), "{query}");
        let hint = query.get("include_terminal_steps").is_none() && query.to_string().contains("completed");
        assert_eq!(found.get("next").is_some(), hint, "{query}");
    }
}

/// TSK-14, TSK-2: active Tasks in the order in which they were made; ended ones on request, the newest first, in pages; the active Task
/// of an id answers before an ended one.
#[tokio::test]
async fn tasks_are_listed() {
    let world = World::new("list").await;
    let orchestrator = world.orchestrator().await;
    for (at, id) in ["z-first", "k", "m", "a-last"].into_iter().enumerate() {
        world.at(at as u64 * 10);
        orchestrator.create(id, "a?").await;
    }
    orchestrator.ok("task_fail", json!({"task_id": "k"})).await;
    // So that its log is newer by the clock of the file system, too.
    let older = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(world.log("k")).unwrap().set_modified(older).unwrap();
    orchestrator.ok("task_complete", json!({"task_id": "m"})).await;
    let names = |listed: &Value| {
        let tasks = listed["tasks"].as_array().unwrap();
        let names: Vec<_> = tasks.iter().map(|task| task["task_id"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), listed["next_offset"].as_u64())
    };
    for (query, expected, next) in [
        (json!({}), "z-first a-last", None),
        (json!({"include_terminal": true}), "z-first a-last m k", None),
        (json!({"include_terminal": true, "limit": 3}), "z-first a-last m", Some(3)),
        (json!({"include_terminal": true, "limit": 1, "offset": 1}), "a-last", Some(2)),
        (json!({"include_terminal": true, "limit": 3, "offset": 3}), "k", None),
        (json!({"include_terminal": true, "status": "failed"}), "k", None),
        (json!({"status": "failed"}), "", None),
        (json!({"status": "running"}), "z-first a-last", None),
    ] {
        let listed = orchestrator.ok("task_list", query.clone()).await;
        assert_eq!(names(&listed), (expected.to_owned(), next), "{query}");
    }
    let again = json!({"task_id": "k", "wal_name": "k2", "title": "Again", "summary": "", "steps": []});
    orchestrator.ok("task_create", again).await;
    assert_eq!(orchestrator.ok("task_get", json!({"task_id": "k"})).await["task"]["title"], "Again");
}

/// ART-2, TSK-13: whatever the room for a result, it is kept to; what is left out is on the next page, so that all steps are read by
/// following `next_offset`, each whole or with the artifact that has the whole.
#[tokio::test]
async fn results_fit_and_pages_lead_on() {
    let world = World::new("room").await;
    let mut orchestrator = world.orchestrator().await;
    let words = ["short", &"你好 \"quoted\"\n".repeat(400), &"x".repeat(16_000), ""];
    let steps: Vec<Value> = (0..60)
        .map(|at| {
            let depends: Vec<String> = (0..at % 40).map(|on| format!("a-step-with-a-long-name-{on}")).collect();
            json!({
                "step_id": format!("a-step-with-a-long-name-{at}"), "title": format!("Step {at}"),
                "summary": words[at % words.len()], "depends_on_step_ids": depends,
            })
        })
        .collect();
    let summary = "Much is to be said. ".repeat(300);
    let task = json!({"task_id": "t", "wal_name": "t", "title": "T", "summary": summary, "steps": steps});
    for room in [64 * 1024, 1_500, 4_000, 20_000] {
        orchestrator.room = room;
        if room == 64 * 1024 {
            orchestrator.ok("task_create", task.clone()).await;
        }
        let got = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
        assert!(got.to_string().len() <= room, "{} of {room}", got.to_string().len());
        let mut seen: Vec<String> = Vec::new();
        let mut offset = Some(0);
        while let Some(at) = offset {
            let page = orchestrator.ok("task_query_steps", json!({"task_id": "t", "offset": at, "limit": 50})).await;
            assert!(page.to_string().len() <= room, "{} of {room}", page.to_string().len());
            let of_page = page["steps"].as_array().unwrap();
            assert!(!of_page.is_empty());
            for step in of_page {
                let id = step["step_id"].as_str().unwrap().to_owned();
                let given = &steps[seen.len()];
                if page.get("texts_cut").is_some() {
                    let (_, whole) = world.shelf.get(page["whole_in"].as_str().unwrap());
                    let whole: Value = serde_json::from_slice(&whole).unwrap();
                    assert_eq!(whole["steps"][0]["summary"].as_str().unwrap_or_default(), given["summary"]);
                } else if given["summary"] != "" {
                    assert_eq!(step["summary"], given["summary"]);
                }
                seen.push(id);
            }
            offset = page["next_offset"].as_u64();
        }
        assert_eq!(seen, steps.iter().map(|step| step["step_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
        if let Some(next) = got["next_offset"].as_u64() {
            assert_eq!(next as usize, got["steps"].as_array().unwrap().len());
            assert!(got["next"].as_str().unwrap().contains("agent.task_query_steps"));
        }
    }
    orchestrator.room = 2_000;
    let written = orchestrator.ok("task_fail", json!({"task_id": "t"})).await;
    assert!(written.to_string().len() <= 2_000);
    let shown = written["failed_step_ids"].as_array().unwrap().len() as u64;
    assert_eq!(shown + written["failed_step_ids_left_out"].as_u64().unwrap(), 60);
}
