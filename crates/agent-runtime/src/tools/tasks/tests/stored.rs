//! What of secrets gets into logs and results (STO-10).

use agent_protocol::ErrorCode;
use agent_redact::KnownSecrets;
use serde_json::{Value, json};

use super::{World, claim, update};

const SECRET: &str = "hunter2-hunter2";

/// STO-10: a known secret in whichever text of a call gets neither into the log nor into an event, and an id that holds one is refused.
#[tokio::test]
async fn no_log_holds_a_known_secret() {
    let secrets = KnownSecrets::new([("KEY", SECRET)]).unwrap();
    let world = World::with_secrets("secrets", secrets).await;
    let orchestrator = world.orchestrator().await;
    let text = format!("use {SECRET} for it");
    let task = json!({
        "task_id": "t", "wal_name": "t", "title": text, "summary": text,
        "steps": [{"step_id": "a", "title": text, "summary": text}, {"step_id": "b", "title": "B"}, {"step_id": "c", "title": "C"}],
    });
    orchestrator.ok("task_create", task).await;
    let worker = world.worker("w1", "t", None).await;
    worker.ok("task_claim_step", claim("t", "a")).await;
    let half = json!({"task_id": "t", "step_id": "a", "result_summary": text});
    worker.ok("task_update_step", half).await;
    let blocked = json!({"task_id": "t", "step_id": "a", "status": "blocked", "reason": text});
    worker.ok("task_update_step", blocked).await;
    let operations = json!([
        {"op": "update_task", "title": text, "summary": text},
        {"op": "update_step", "step_id": "b", "fields": {"title": text, "summary": text}},
        {"op": "add_step", "step": {"step_id": "d", "title": text, "summary": text}},
        {"op": "cancel_step", "step_id": "c", "reason": text},
        {"op": "reopen_step", "step_id": "a", "reason": text},
    ]);
    orchestrator.ok("task_update", update("t", operations)).await;
    for (tool, arguments) in [
        ("task_create", super::new_task(SECRET, "a")),
        ("task_create", json!({"task_id": "u", "wal_name": SECRET, "title": "U", "summary": "", "steps": []})),
        ("task_create", super::new_task("u", SECRET)),
        ("task_update", update("t", json!([{"op": "add_step", "step": {"step_id": SECRET, "title": "S"}}]))),
    ] {
        let error = orchestrator.refused(tool, arguments).await;
        assert_eq!(error.code, ErrorCode::ValidationError);
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
    let done = json!({"task_id": "t", "reason": text});
    orchestrator.ok("task_fail", done).await;
    let log = std::fs::read_to_string(world.log("t")).unwrap();
    assert!(!log.contains(SECRET));
    assert!(log.matches("[secret KEY]").count() >= 14, "{log}");
    let events: Vec<Value> = world.told().await.into_iter().map(|event| Value::from(event.payload)).collect();
    assert!(!json!(events).to_string().contains(SECRET));
    assert!(std::fs::read_dir(world.folder()).unwrap().count() == 1);
}
