//! `agent.task_update` (TSK-9, TSK-17).

use agent_protocol::ErrorCode;
use agent_tasks::Operation;
use serde_json::json;

use super::{World, claim, update};

/// TSK-17: each operation does what it says, and an update of many is all or none.
#[tokio::test]
async fn operations_change_the_task() {
    let world = World::new("operations").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b<a c@p d").await;
    let all = json!([
        {"op": "update_task", "title": "New title", "summary": "New words."},
        {"op": "add_step", "step": {"step_id": "e", "title": "E", "depends_on_step_ids": ["b"], "required": false}},
        {"op": "update_step", "step_id": "c", "fields": {"title": "C", "required": false, "worker_pool_id": ""}},
        {"op": "delete_step", "step_id": "d"},
        {"op": "add_dependency", "step_id": "c", "depends_on_step_id": "a"},
        {"op": "remove_dependency", "step_id": "b", "depends_on_step_id": "a"},
        {"op": "cancel_step", "step_id": "e", "reason": "not needed"},
    ]);
    let written = orchestrator.ok("task_update", update("t", all)).await;
    assert_eq!(written["task"]["title"], "New title");
    assert_eq!(written["task"]["steps"], json!({"pending": 1, "ready": 2, "cancelled": 1}));
    let shown = orchestrator.ok("task_get", json!({"task_id": "t", "include_terminal_steps": true})).await;
    let steps: Vec<String> = shown["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            let of = |key: &str| step.get(key).map_or_else(String::new, |value| format!(" {key}={value}"));
            format!(
                "{} {}{}{}{}{}",
                step["step_id"].as_str().unwrap(),
                step["status"].as_str().unwrap(),
                of("depends_on_step_ids"),
                of("required"),
                of("worker_pool_id"),
                of("reason")
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            "a ready",
            "b ready",
            "c pending depends_on_step_ids=[\"a\"] required=false",
            "e cancelled depends_on_step_ids=[\"b\"] required=false reason=\"not needed\"",
        ]
    );
    let before = world.lines("t").len();
    let half = json!([{"op": "update_task", "title": "Never"}, {"op": "delete_step", "step_id": "nobody"}]);
    assert_eq!(orchestrator.refused("task_update", update("t", half)).await.code, ErrorCode::StepNotFound);
    let shown = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
    assert_eq!((&shown["task"]["title"], world.lines("t").len()), (&json!("New title"), before));
    // A blocked Task goes on when it is pending again.
    for (status, becomes) in [("blocked", "blocked"), ("pending", "running")] {
        let set = json!([{"op": "update_task", "status": status}]);
        assert_eq!(orchestrator.ok("task_update", update("t", set)).await["task"]["status"], becomes);
    }
}

/// TSK-11, TSK-15: an edit of a step at which somebody works is told, and seen until the step has ended.
#[tokio::test]
async fn edits_after_dispatch_are_told() {
    let world = World::new("dispatched").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b").await;
    let worker = world.worker("w1", "t", None).await;
    worker.ok("task_claim_step", claim("t", "a")).await;
    let edit = json!([{"op": "update_step", "step_id": "a", "fields": {"summary": "Something else."}}]);
    let written = orchestrator.ok("task_update", update("t", edit)).await;
    assert_eq!(written["updated_after_dispatch_step_ids"], json!(["a"]));
    let shown = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
    assert_eq!(shown["task"]["updated_after_dispatch_step_ids"], json!(["a"]));
    assert_eq!(shown["steps"][0]["updated_after_dispatch"], true);
    worker.ok("task_update_step", super::set("t", "a", "completed")).await;
    let shown = orchestrator.ok("task_get", json!({"task_id": "t"})).await;
    assert_eq!(shown["task"].get("updated_after_dispatch_step_ids"), None);
}

/// TSK-17: of each operation, every argument that it needs and is missing, and every one that it does not take, is named with the place
/// in the list; nothing is passed over.
#[tokio::test]
async fn arguments_go_with_their_operation() {
    let world = World::new("forms").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b").await;
    let values = json!({
        "step_id": "a", "depends_on_step_id": "b", "step": {"step_id": "n", "title": "N"}, "fields": {"title": "T"},
        "title": "T", "summary": "S", "status": "blocked", "reason": "why",
    });
    let values = values.as_object().unwrap();
    let forms: [(&str, &[&str], &[&str]); 8] = [
        ("update_task", &[], &["title", "summary", "status"]),
        ("add_step", &["step"], &[]),
        ("update_step", &["step_id", "fields"], &[]),
        ("delete_step", &["step_id"], &[]),
        ("add_dependency", &["step_id", "depends_on_step_id"], &[]),
        ("remove_dependency", &["step_id", "depends_on_step_id"], &[]),
        ("cancel_step", &["step_id"], &["reason"]),
        ("reopen_step", &["step_id"], &["reason"]),
    ];
    let mut tried = 0;
    for (op, needs, takes) in forms {
        let whole = |without: Option<&str>| {
            let mut operation = json!({"op": op});
            for name in needs.iter().filter(|name| Some(**name) != without) {
                operation[*name] = values[*name].clone();
            }
            operation
        };
        for missing in needs {
            let operations = json!([{"op": "update_task", "title": "T"}, whole(Some(missing))]);
            let error = orchestrator.refused("task_update", update("t", operations)).await;
            let said = format!("`operations[1].{missing}` is missing: {op} needs {}", needs.join(", "));
            assert!(error.message.contains(&said), "{error}");
            tried += 1;
        }
        for other in values.keys().filter(|name| !needs.contains(&name.as_str()) && !takes.contains(&name.as_str())) {
            let mut operation = whole(None);
            operation[other] = values[other].clone();
            let error = orchestrator.refused("task_update", update("t", json!([operation]))).await;
            assert!(error.message.contains(&format!("`operations[0].{other}` does not go with {op}")), "{error}");
            tried += 1;
        }
    }
    assert_eq!(tried, 10 + 8 * 8 - 10 - 5);
    for (operation, parts) in [
        (json!({"op": "update_task"}), ["changes nothing", "title, summary, status"]),
        (json!({"op": "start_step", "step_id": "a"}), ["\"start_step\"", "reopen_step"]),
        (json!({"op": "update_task", "status": "completed"}), ["\"completed\"", "\"blocked\""]),
        (
            json!({"op": "update_step", "step_id": "a", "fields": {"status": "ready"}}),
            ["fields.status", "known: title"],
        ),
        (json!({"op": "update_step", "step_id": "a", "fields": {}}), ["changes nothing", "worker_pool_id"]),
        (json!({"op": "add_step", "step_id": "n", "title": "N"}), ["put it into step", "add_step"]),
    ] {
        let error = orchestrator.refused("task_update", update("t", json!([operation]))).await;
        for part in parts {
            assert!(error.message.contains(part), "{operation}: {error} does not say {part}");
        }
    }
    let error = orchestrator.refused("task_update", update("t", json!([]))).await;
    assert!(error.message.contains("operations is empty"), "{error}");
    assert_eq!(world.lines("t").len(), 4);
}

/// TSK-9: what the tool takes is what the log holds: the operations of a call stand in its line as they were given.
#[tokio::test]
async fn the_log_holds_the_operations() {
    let world = World::new("logged").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b@p").await;
    let given = json!([
        {"op": "update_step", "step_id": "b", "fields": {"worker_pool_id": ""}},
        {"op": "add_dependency", "step_id": "b", "depends_on_step_id": "a"},
    ]);
    orchestrator.ok("task_update", update("t", given)).await;
    let line = world.lines("t").into_iter().find(|line| line["event_type"] == "task_updated").unwrap();
    let logged = &line["payload"]["operations"];
    assert_eq!(
        *logged,
        json!([
            {"op": "update_step", "step_id": "b", "fields": {"worker_pool_id": null}},
            {"op": "add_dependency", "step_id": "b", "depends_on_step_id": "a"},
        ])
    );
    let read: Vec<Operation> = serde_json::from_value(logged.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *logged);
}
