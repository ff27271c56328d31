//! Events of Tasks: the keys of the log's lines, and the three that are in no log.

use serde_json::json;

use super::{Golden, child, event, object};
use crate::task::{Moment, StepId, StepStatus, TaskId, TaskStatus};
use crate::*;

fn task_id() -> TaskId {
    TaskId::parse("t").unwrap()
}

fn line<P>(step: bool, payload: P) -> TaskEvent<P> {
    let step_id = step.then(|| StepId::parse("s").unwrap());
    TaskEvent { task_id: task_id(), step_id, wal_seq: 3, payload }
}

fn words(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A Task with a step, in JSON.
const TASK: &str = r#"{"task_id":"t","wal_path":"w/t.wal.jsonl","title":"T","summary":"","status":"pending","root_step_ids":["s"],"steps":[{"step_id":"s","title":"S","summary":"","status":"pending","depends_on_step_ids":[],"required":true,"worker_pool_id":null,"claimed_by_agent_id":null,"claimed_by_run_id":null,"lease_expires_at":null,"result_summary":null,"artifact_ids":[],"created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"}],"created_by_agent_id":"agent_2","created_by_run_id":"run_2","created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"}"#;

pub(super) fn samples(golden: &mut Golden) {
    of_the_task(golden);
    of_a_step(golden);
    beside_the_log(golden);
}

fn of_the_task(golden: &mut Golden) {
    let of_task = |rest: &str| format!(r#"{{"task_id":"t","step_id":null,"wal_seq":3,{rest}}}"#);
    let task = serde_json::from_str(TASK).unwrap();
    golden.is(line(false, TaskCreated { task }), &of_task(&format!(r#""task":{TASK}"#)));
    golden.is(
        line(false, TaskRunning { previous_status: TaskStatus::Pending, status: TaskStatus::Running, reason: None }),
        &of_task(r#""previous_status":"pending","status":"running","reason":null"#),
    );
    let summary = json!({
        "task_id": "t", "title": "T", "status": "running", "stalled": false, "completeable": false,
        "steps": {"pending": 0, "ready": 0, "claimed": 1, "running": 0, "blocked": 0, "completed": 0, "failed": 0, "cancelled": 0},
    });
    let updated = TaskUpdated {
        operations: read(json!([{"op": "update_step", "step_id": "s", "fields": {"worker_pool_id": null}}])),
        updated_after_dispatch_step_ids: vec![StepId::parse("s").unwrap()],
        task_summary: read(summary),
    };
    golden.is(
        line(false, updated),
        &of_task(
            r#""operations":[{"op":"update_step","step_id":"s","fields":{"worker_pool_id":null}}],"updated_after_dispatch_step_ids":["s"],"task_summary":{"task_id":"t","title":"T","status":"running","steps":{"pending":0,"ready":0,"claimed":1,"running":0,"blocked":0,"completed":0,"failed":0,"cancelled":0},"stalled":false,"completeable":false}"#,
        ),
    );
    golden.is(
        line(
            false,
            TaskReopened { previous_status: TaskStatus::Blocked, status: TaskStatus::Pending, reason: words("go") },
        ),
        &of_task(r#""previous_status":"blocked","status":"pending","reason":"go""#),
    );
    golden.is(
        line(false, TaskCompleted { result_summary: words("done"), cancelled_optional_step_ids: Vec::new() }),
        &of_task(r#""result_summary":"done","cancelled_optional_step_ids":[]"#),
    );
    golden.is(
        line(false, TaskFailed { reason: None, failed_step_ids: vec![StepId::parse("s").unwrap()] }),
        &of_task(r#""reason":null,"failed_step_ids":["s"]"#),
    );
    golden.is(
        line(false, TaskCancelled { reason: None, cancelled_step_ids: Vec::new() }),
        &of_task(r#""reason":null,"cancelled_step_ids":[]"#),
    );
}

fn of_a_step(golden: &mut Golden) {
    let of_step = |rest: &str| format!(r#"{{"task_id":"t","step_id":"s","wal_seq":3,{rest}}}"#);
    let (agent_id, run_id) = child();
    let lease = Moment::from_millis(1000);
    let product = vec![ArtifactId::parse("art_1").unwrap()];
    let [pending, running] = [StepStatus::Pending, StepStatus::Running];
    golden.is(
        line(
            true,
            TaskStepReady { previous_status: pending, status: StepStatus::Ready, depends_on_step_ids: Vec::new() },
        ),
        &of_step(r#""previous_status":"pending","status":"ready","depends_on_step_ids":[]"#),
    );
    let claimed = TaskStepClaimed {
        previous_status: StepStatus::Ready,
        claimed_by_agent_id: agent_id.clone(),
        claimed_by_run_id: run_id.clone(),
        lease_expires_at: lease,
    };
    golden.is(
        line(true, claimed),
        &of_step(
            r#""previous_status":"ready","claimed_by_agent_id":"agent_2","claimed_by_run_id":"run_2","lease_expires_at":"1970-01-01T00:00:01.000Z""#,
        ),
    );
    golden.is(
        line(
            true,
            TaskStepStarted { previous_status: StepStatus::Claimed, status: running, lease_expires_at: Some(lease) },
        ),
        &of_step(r#""previous_status":"claimed","status":"running","lease_expires_at":"1970-01-01T00:00:01.000Z""#),
    );
    let updated = TaskStepUpdated {
        previous_status: running,
        status: running,
        result_summary: words("half"),
        artifact_ids: product.clone(),
        lease_expires_at: None,
    };
    golden.is(
        line(true, updated),
        &of_step(
            r#""previous_status":"running","status":"running","result_summary":"half","artifact_ids":["art_1"],"lease_expires_at":null"#,
        ),
    );
    let blocked = TaskStepBlocked {
        previous_status: running,
        reason: words("why"),
        result_summary: None,
        artifact_ids: Vec::new(),
    };
    let ended = r#""previous_status":"running","reason":"why","result_summary":null,"artifact_ids":[]"#;
    golden.is(line(true, blocked), &of_step(ended));
    golden.is(
        line(
            true,
            TaskStepCompleted { previous_status: running, result_summary: words("done"), artifact_ids: product },
        ),
        &of_step(r#""previous_status":"running","result_summary":"done","artifact_ids":["art_1"]"#),
    );
    let failed = TaskStepFailed {
        previous_status: running,
        reason: words("why"),
        result_summary: None,
        artifact_ids: Vec::new(),
    };
    golden.is(line(true, failed), &of_step(ended));
    golden.is(
        line(true, TaskStepCancelled { previous_status: running, reason: None, result_summary: None }),
        &of_step(r#""previous_status":"running","reason":null,"result_summary":null"#),
    );
    golden.is(
        line(true, TaskStepReopened { previous_status: StepStatus::Failed, status: pending, reason: None }),
        &of_step(r#""previous_status":"failed","status":"pending","reason":null"#),
    );
    let expired = TaskStepLeaseExpired {
        previous_status: running,
        claimed_by_agent_id: agent_id,
        claimed_by_run_id: run_id,
        expired_at: lease,
    };
    golden.is(
        line(true, expired),
        &of_step(
            r#""previous_status":"running","claimed_by_agent_id":"agent_2","claimed_by_run_id":"run_2","expired_at":"1970-01-01T00:00:01.000Z""#,
        ),
    );
}

fn beside_the_log(golden: &mut Golden) {
    let skipped = TaskStepClaimSkipped {
        task_id: task_id(),
        step_id: None,
        reason: ClaimSkipReason::NoStepClaimed,
        claimed_by_agent_id: None,
    };
    golden.is(skipped, r#"{"task_id":"t","step_id":null,"reason":"no_step_claimed","claimed_by_agent_id":null}"#);
    let wal_path = || "w/t.wal.jsonl".to_owned();
    let torn = TornEnd { offset: 90, bytes: 7, kept_in: "w/t.wal.jsonl.torn-90".to_owned() };
    let replayed = |torn| TaskWalReplayed { task_id: task_id(), wal_path: wal_path(), lines: 4, torn, settled: 1 };
    golden.is(replayed(None), r#"{"task_id":"t","wal_path":"w/t.wal.jsonl","lines":4,"settled":1}"#);
    golden.is(
        replayed(Some(torn)),
        r#"{"task_id":"t","wal_path":"w/t.wal.jsonl","lines":4,"torn":{"offset":90,"bytes":7,"kept_in":"w/t.wal.jsonl.torn-90"},"settled":1}"#,
    );
    let failed = TaskWalFailed {
        task_id: None,
        wal_path: wal_path(),
        kind: "sequence".to_owned(),
        line: Some(2),
        reason: "a gap".to_owned(),
    };
    golden.is(failed, r#"{"task_id":null,"wal_path":"w/t.wal.jsonl","kind":"sequence","line":2,"reason":"a gap"}"#);
}

/// EVT-5: a key that a later build adds is passed over, and a field that does not fit is named, also inside the line's part.
#[test]
fn events_of_tasks_are_read_like_others() {
    let payload = json!({
        "task_id": "t", "step_id": "s", "wal_seq": 3, "previous_status": "failed", "status": "pending", "reason": null, "later": 1,
    });
    let read = |payload| event(EventType::TaskStepReopened, object(payload)).read::<TaskEvent<TaskStepReopened>>();
    assert_eq!(read(payload.clone()).unwrap().payload.previous_status, StepStatus::Failed);
    for (key, value) in [("previous_status", json!("odd")), ("wal_seq", json!(-1)), ("step_id", json!("S"))] {
        let mut wrong = payload.clone();
        wrong[key] = value;
        assert_eq!(read(wrong).unwrap_err().why.field.as_deref(), Some(key));
        let mut missing = payload.clone();
        missing.as_object_mut().unwrap().remove(key);
        let missing = read(missing).err().map(|error| error.to_string());
        let optional = key == "step_id";
        assert_eq!(missing.as_ref().is_some_and(|said| said.contains(key)), !optional, "{missing:?}");
    }
}
