//! What is there after a crash, and what a session that was given up leaves (WAL-3, WAL-4).

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;

use agent_protocol::{ErrorCode, EventType, TaskWalFailed, TaskWalReplayed};
use serde_json::json;

use super::{LEASE, World, claim, exists, set};
use crate::tasks::TaskAccess;

impl World {
    /// Lets go of the Tasks, as another process would find them after a crash.
    async fn forget(&self) {
        self.owned.tasks.let_go();
    }

    fn append(&self, name: &str, text: &str) {
        OpenOptions::new().append(true).open(self.log(name)).unwrap().write_all(text.as_bytes()).unwrap();
    }
}

/// WAL-4, WAL-6: Tasks are taken up where somebody needs them, with an event for each: also where the crash cut a line. A log with a
/// bad line makes its Task unavailable, with the number of the line, and harms no other.
#[tokio::test]
async fn logs_are_taken_up_again() {
    let world = World::new("taken-up").await;
    let orchestrator = world.orchestrator().await;
    for id in ["whole", "torn", "bad", "gap"] {
        orchestrator.create(id, "a b<a").await;
    }
    orchestrator.create("over", "a").await;
    orchestrator.ok("task_cancel", json!({"task_id": "over"})).await;
    world.forget().await;
    world.append("torn", "{\"wal_seq\":4,\"session");
    world.append("bad", "{\"wal_seq\":4}\n");
    let gap = std::fs::read_to_string(world.log("gap")).unwrap();
    let without_second: Vec<&str> = gap.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
    std::fs::write(world.log("gap"), without_second.join("\n") + "\n").unwrap();
    let damaged = std::fs::read(world.log("gap")).unwrap();

    let listed = orchestrator.ok("task_list", json!({})).await;
    let ids: Vec<&str> =
        listed["tasks"].as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["torn", "whole"]);
    let unavailable: Vec<(&str, u64)> = listed["unavailable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|log| (log["task_id"].as_str().unwrap(), log["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(unavailable, [("bad", 4), ("gap", 2)]);
    let told = world.told().await;
    let mut replayed: Vec<TaskWalReplayed> = told
        .iter()
        .filter(|event| event.event_type == EventType::TaskWalReplayed)
        .map(|event| event.read().unwrap())
        .collect();
    replayed.sort_by(|a, b| a.task_id.cmp(&b.task_id));
    assert_eq!(
        replayed.iter().map(|it| (it.task_id.as_str(), it.lines)).collect::<Vec<_>>(),
        [("torn", 3), ("whole", 3)]
    );
    let torn = replayed[0].torn.as_ref().unwrap();
    assert_eq!(torn.bytes, 21);
    let kept = world.root.join("project").join(&torn.kept_in);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "{\"wal_seq\":4,\"session");
    let failed: Vec<TaskWalFailed> = told
        .iter()
        .filter(|event| event.event_type == EventType::TaskWalFailed)
        .map(|event| event.read().unwrap())
        .collect();
    let mut lines: Vec<_> = failed.iter().map(|it| (it.wal_path.as_str(), it.kind.as_str(), it.line)).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            (".soong-agent/tasks/sess_1/bad.wal.jsonl", "line", Some(4)),
            (".soong-agent/tasks/sess_1/gap.wal.jsonl", "sequence", Some(2)),
        ]
    );
    for id in ["bad", "gap"] {
        let error = orchestrator.refused("task_update_step", set(id, "a", "running")).await;
        assert_eq!(error.code, ErrorCode::TaskWalUnavailable);
        assert!(error.message.contains(&format!("task {id} is not available")), "{error}");
    }
    assert_eq!(std::fs::read(world.log("gap")).unwrap(), damaged, "the file stays as it is");
    // WAL-01, WAL-02, WAL-06: the next lines are whole ones with the next numbers, however often that happens.
    for round in 0..2 {
        let status = if round == 0 { "running" } else { "completed" };
        orchestrator.ok("task_update_step", set("torn", "a", status)).await;
        world.forget().await;
        world.append("torn", "{\"torn");
        orchestrator.ok("task_get", json!({"task_id": "torn"})).await;
    }
    let numbers: Vec<u64> = world.lines("torn").iter().map(|line| line["wal_seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

/// SUB-06, TSK-5: after a restart the written lease counts: it ends at recovery, with its lines told behind the event of the replay.
#[tokio::test]
async fn leases_of_before_end_at_recovery() {
    let world = World::new("restart").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a").await;
    world.worker("w1", "t", None).await.ok("task_claim_step", claim("t", "a")).await;
    world.forget().await;
    world.at(LEASE);
    let before = world.told().await.len();
    let tasks = TaskAccess {
        run: Arc::clone(&orchestrator.run),
        settings: Arc::clone(&world.settings),
        tracker: world.tracker.clone(),
    };
    assert!(tasks.are_closed());
    tasks.open().await;
    assert!(!tasks.are_closed());
    let told = world.told().await.split_off(before);
    let types: Vec<&str> = told.iter().map(|event| event.event_type.as_str()).collect();
    assert_eq!(types, ["task_wal_replayed", "task_step_lease_expired", "task_step_ready"]);
    assert_eq!(told[0].read::<TaskWalReplayed>().unwrap().settled, 2);
}

/// WAL-3: a session that is given up lets its logs go, so that whoever claims it next can have them; nothing is appended any more
/// for the old owner.
#[tokio::test]
async fn a_released_session_lets_its_logs_go() {
    let world = World::new("released").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a").await;
    let open = || agent_task_store::TaskStore::open(&world.folder(), "x", world.session.id(), 20, &stamp());
    let (_, recovered) = open().unwrap();
    let agent_task_store::Recovery::Failed(locked) = &recovered[0].recovery else { panic!("{recovered:?}") };
    assert_eq!(locked.kind, "locked");
    let before = std::fs::read(world.log("t")).unwrap();
    world.owned.release();
    let (store, _) = open().unwrap();
    assert_eq!(store.active().count(), 1);
    drop(store);
    let error = orchestrator.refused("task_update_step", set("t", "a", "running")).await;
    assert_eq!(error.code, ErrorCode::SessionActive, "{error}");
    assert_eq!(std::fs::read(world.log("t")).unwrap(), before);
}

fn stamp() -> agent_task_store::Stamp<'static> {
    fn id() -> agent_protocol::EventId {
        agent_protocol::EventId::parse("evt_other").unwrap()
    }
    agent_task_store::Stamp { now: agent_tasks::Moment::from_millis(0), lease_millis: LEASE, new_event_id: &id }
}

/// WAL-2, RUN-12: what a call has begun is done and told although nobody waits for it any more; what has not begun when its run ends
/// does not happen.
#[tokio::test]
async fn work_is_not_torn() {
    let world = World::new("torn-work").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b").await;
    {
        let call = orchestrator.ok("task_update_step", set("t", "a", "running"));
        tokio::pin!(call);
        // Begun, and dropped at its first wait.
        assert!(futures::poll!(call.as_mut()).is_pending());
    }
    world.tracker.close();
    world.tracker.wait().await;
    assert_eq!(world.lines("t").last().unwrap()["event_type"], "task_step_started");
    assert_eq!(world.count(EventType::TaskStepStarted).await, 1);
    orchestrator.fence.close();
    let error = orchestrator.refused("task_update_step", set("t", "b", "running")).await;
    assert_eq!(error.code, ErrorCode::Cancelled);
    let lines = world.lines("t").len();
    let next = world.root_run(agent_protocol::AgentRole::Orchestrator, "run_next").await;
    next.cancel.cancel();
    assert_eq!(next.refused("task_update_step", set("t", "b", "running")).await.code, ErrorCode::Cancelled);
    assert_eq!(world.lines("t").len(), lines);
}

/// WAL-04: many calls at once: one winner for each step, whole lines in the order of their numbers, events in the same order.
#[tokio::test]
async fn many_at_once() {
    let world = World::new("many").await;
    world.orchestrator().await.create("t", "a b c d e f g h").await;
    let mut workers = Vec::new();
    for at in 0..24 {
        workers.push(world.worker(&format!("w{at}"), "t", None).await);
    }
    let claims = workers.iter().enumerate().map(|(at, worker)| {
        let step = ["a", "b", "c", "d", "e", "f", "g", "h"][at % 8];
        worker.call("task_claim_step", claim("t", step))
    });
    let results = futures::future::join_all(claims).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 8);
    let lost: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(lost.iter().all(|error| error.code == ErrorCode::StepAlreadyClaimed), "{lost:?}");
    let numbers: Vec<u64> = world.lines("t").iter().map(|line| line["wal_seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let told = world.told().await;
    let told: Vec<u64> = told.iter().filter_map(|event| event.payload.get("wal_seq")?.as_u64()).collect();
    assert_eq!(told, numbers);
}

/// WAL-1: the folder of the logs is made with the first Task, for its owner alone and kept out of version control; a `.gitignore` of the
/// user's own stays.
#[tokio::test]
async fn the_folder_is_made_with_the_first_task() {
    let world = World::new("folder").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.ok("task_list", json!({})).await;
    assert!(!exists(&world.settings.wal_dir), "looking makes nothing");
    std::fs::create_dir_all(&world.settings.wal_dir).unwrap();
    let ignore = world.settings.wal_dir.join(".gitignore");
    std::fs::write(&ignore, "# mine\n").unwrap();
    orchestrator.create("t", "a").await;
    assert_eq!(std::fs::read_to_string(&ignore).unwrap(), "# mine\n");
    std::fs::remove_file(&ignore).unwrap();
    orchestrator.create("u", "a").await;
    assert_eq!(std::fs::read_to_string(&ignore).unwrap(), "*\n");
}
