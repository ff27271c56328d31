//! The form of the log.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::world::{World, by_orchestrator, by_worker, claim, lines, replay, run_id, step_id, update};
use crate::StepStatus::{Blocked, Cancelled, Completed, Failed, Running};
use crate::line::Read;
use crate::{Actor, Command, Line, Payload, Replay, StepUpdate};

/// A log with all 17 types of events.
fn all_types() -> World {
    let mut world = World::new("a b c d e f?");
    for (run, id) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
        world.ok(&claim(run, id));
    }
    world.ok(&by_worker(1, "a", Running));
    let half = StepUpdate { result_summary: Some("half".to_owned()), ..StepUpdate::default() };
    world.ok(&Command::UpdateStep { by: Actor::Worker(run_id(1)), step_id: step_id("a"), update: half });
    world.ok(&by_worker(1, "a", Completed));
    world.ok(&by_worker(2, "b", Failed));
    world.ok(&by_worker(3, "c", Cancelled));
    world.ok(&by_orchestrator("e", Blocked));
    world.now = 10_000;
    world.ok(&Command::Settle);
    world.ok(&update(json!([{ "op": "update_task", "status": "blocked" }, { "op": "reopen_step", "step_id": "b" }])));
    world.ok(&update(json!([{ "op": "update_task", "status": "pending" }])));
    world
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// TSK-1, WAL-1, WAL-7: the 17 event types of the contract, each with exactly its payload's keys, on lines of exactly ten fields.
#[test]
fn the_contracts_event_types_and_keys() {
    let golden = [
        ("task_created", "task"),
        ("task_running", "previous_status status reason"),
        ("task_updated", "operations updated_after_dispatch_step_ids task_summary"),
        ("task_reopened", "previous_status status reason"),
        ("task_completed", "result_summary cancelled_optional_step_ids"),
        ("task_failed", "reason failed_step_ids"),
        ("task_cancelled", "reason cancelled_step_ids"),
        ("task_step_ready", "previous_status status depends_on_step_ids"),
        ("task_step_claimed", "previous_status claimed_by_agent_id claimed_by_run_id lease_expires_at"),
        ("task_step_started", "previous_status status lease_expires_at"),
        ("task_step_updated", "previous_status status result_summary artifact_ids lease_expires_at"),
        ("task_step_blocked", "previous_status reason result_summary artifact_ids"),
        ("task_step_completed", "previous_status result_summary artifact_ids"),
        ("task_step_failed", "previous_status reason result_summary artifact_ids"),
        ("task_step_cancelled", "previous_status reason result_summary"),
        ("task_step_reopened", "previous_status status reason"),
        ("task_step_lease_expired", "previous_status claimed_by_agent_id claimed_by_run_id expired_at"),
    ];
    let names: Vec<&str> = Payload::EVENT_TYPES.iter().map(|event_type| event_type.as_str()).collect();
    assert_eq!(names, golden.map(|(name, _)| name));
    let mut log = lines(&all_types().log);
    for end in [Command::Fail { reason: None }, Command::Cancel { reason: Some("why".to_owned()) }] {
        let mut world = all_types();
        world.ok(&end);
        log.extend(lines(&world.log));
    }
    let mut completed = World::new("a?");
    completed.ok(&Command::Complete { result_summary: None });
    log.extend(lines(&completed.log));
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (name, payload) in golden {
        let line = lines.iter().find(|line| line["event_type"] == name).unwrap_or_else(|| panic!("no {name}"));
        let fields =
            "wal_seq session_id event_id event_type actor_agent_id actor_run_id task_id step_id payload created_at";
        assert_eq!(keys(line).join(" "), fields, "{name}");
        assert_eq!(keys(&line["payload"]).join(" "), payload, "{name}");
        assert_eq!(line["step_id"].is_null(), !name.starts_with("task_step_"), "{name}");
    }
    let task = &lines[0]["payload"]["task"];
    assert_eq!(
        keys(task).join(" "),
        "task_id wal_path title summary status root_step_ids steps created_by_agent_id created_by_run_id created_at updated_at"
    );
    assert_eq!(
        keys(&task["steps"][0]).join(" "),
        "step_id title summary status depends_on_step_ids required worker_pool_id claimed_by_agent_id claimed_by_run_id \
         lease_expires_at result_summary artifact_ids created_at updated_at"
    );
}

/// WAL-7: a line as it stands in the file.
#[test]
fn a_line_to_the_letter() {
    let log = lines(&World::new("a").log);
    assert_eq!(
        log[1],
        "{\"wal_seq\":2,\"session_id\":\"sess_1\",\"event_id\":\"evt_1\",\"event_type\":\"task_step_ready\",\
         \"actor_agent_id\":null,\"actor_run_id\":null,\"task_id\":\"t1\",\"step_id\":\"a\",\
         \"payload\":{\"previous_status\":\"pending\",\"status\":\"ready\",\"depends_on_step_ids\":[]},\
         \"created_at\":\"1970-01-01T00:00:00.000Z\"}\n"
    );
    let line = Line::read(log[1].trim_end()).unwrap();
    let mut again = Vec::new();
    line.write(&mut again);
    assert_eq!(String::from_utf8(again).unwrap(), log[1]);
}

/// WAL-8: replay reads `operations` and not `task_summary`; implied lines that a crash took are not missed.
#[test]
fn replay_folds_operations() {
    let mut world = World::new("a b");
    world.ok(&by_orchestrator("a", Failed));
    world.ok(&update(json!([{ "op": "cancel_step", "step_id": "b" }, { "op": "reopen_step", "step_id": "a" }])));
    let types: Vec<&str> = world.log.iter().rev().take(4).map(|event| event.payload.event_type().as_str()).collect();
    assert_eq!(types, ["task_step_ready", "task_step_reopened", "task_step_cancelled", "task_updated"]);
    let end = world.log.len();
    for cut in [end - 3, end - 2, end - 1, end] {
        let mut crashed = World { task: replay(&world.log[..cut]).unwrap(), log: world.log[..cut].to_vec(), now: 5 };
        crashed.ok(&Command::Settle);
        assert_eq!(crashed.steps(), "a:ready b:cancelled", "{cut}");
        assert_eq!(crashed.replayed(), crashed.task);
    }
    let mut log = lines(&world.log);
    let mut changed: Value = serde_json::from_str(&log[end - 4]).unwrap();
    changed["payload"]["task_summary"]["status"] = json!("failed");
    log[end - 4] = changed.to_string();
    let mut replay = Replay::default();
    for line in &log {
        replay.line(line.trim_end()).unwrap();
    }
    assert_eq!(replay.finish().unwrap().1, world.task);
}

/// WAL-4, WAL-11: what is no log of one Task in order is refused, with its line and the kind of fault.
#[test]
fn damaged_lines_are_named() {
    let world = World::new("a b<a");
    let good = lines(&world.log);
    let last = good.len() - 1;
    let change = |line: usize, key: &str, value: Value| {
        let mut log = good.clone();
        let mut changed: Value = serde_json::from_str(&log[line]).unwrap();
        changed[key] = value;
        log[line] = changed.to_string();
        log
    };
    let without = |line: usize, key: &str| {
        let mut log = good.clone();
        let mut changed: Value = serde_json::from_str(&log[line]).unwrap();
        changed.as_object_mut().unwrap().remove(key);
        log[line] = changed.to_string();
        log
    };
    let mut ended = World::new("a");
    ended.ok(&Command::Fail { reason: None });
    let mut after_the_end = lines(&ended.log);
    let extra = change(1, "wal_seq", json!(after_the_end.len() + 1));
    after_the_end.push(extra[1].clone());
    for (log, line, kind) in [
        (change(1, "wal_seq", json!(3)), 2, "sequence"),
        (change(1, "wal_seq", json!(1)), 2, "sequence"),
        (change(0, "wal_seq", json!(0)), 1, "sequence"),
        (change(1, "wal_seq", json!("2")), 2, "line"),
        (change(1, "wal_seq", json!(1.5)), 2, "line"),
        (change(1, "wal_seq", json!(-2)), 2, "line"),
        (change(last, "session_id", json!("sess_2")), last + 1, "other"),
        (change(last, "task_id", json!("t2")), last + 1, "other"),
        (change(0, "task_id", json!("t2")), 1, "other"),
        (change(1, "event_type", json!("task_exploded")), 2, "line"),
        (change(1, "event_type", json!("run_started")), 2, "line"),
        (change(1, "step_id", json!(null)), 2, "line"),
        (change(1, "step_id", json!("nobody")), 2, "misfit"),
        (change(1, "payload", json!({})), 2, "line"),
        (change(1, "extra", json!(1)), 2, "line"),
        (change(1, "created_at", json!("yesterday")), 2, "line"),
        (without(1, "actor_run_id"), 2, "line"),
        (good[1..].to_vec(), 1, "sequence"),
        (after_the_end.clone(), after_the_end.len(), "misfit"),
        (vec!["{".to_owned()], 1, "line"),
        (vec![String::new()], 1, "line"),
    ] {
        let mut replay = Replay::default();
        let error = log.iter().find_map(|line| replay.line(line.trim_end()).err());
        let error = error.unwrap_or_else(|| panic!("nothing was wrong with {log:?}"));
        assert_eq!((error.line, error.why.kind()), (line as u64, kind), "{error}");
    }
    assert!(Replay::default().finish().is_none());
}

/// WAL-7, PERF-6: lines as they are written are read without a parser of JSON, and never as anything else than it would read.
#[test]
fn lines_as_written_are_read_as_json_would_be() {
    let as_json = |text: &str| Line::of(&Read::as_json(text).ok()?).ok();
    let mut world = all_types();
    world.ok(&Command::Cancel {
        reason: Some("\"no\", he said\n\",\"created_at\":\"1970-01-01T00:00:00.000Z\"}".to_owned()),
    });
    let (mut seen, mut quick, mut general) = (BTreeSet::new(), 0, 0);
    for line in lines(&world.log) {
        let line = line.trim_end();
        assert!(Read::as_written(line).is_some(), "{line}");
        assert_eq!(Line::read(line).ok(), as_json(line), "{line}");
        assert!(as_json(line).is_some());
        // One of each type; of the long ones both ends.
        let event_type = serde_json::from_str::<Value>(line).unwrap()["event_type"].as_str().unwrap().to_owned();
        let places = if seen.insert(event_type) { line.len() } else { 0 };
        for at in (0..places).filter(|at| *at < 300 || places - at < 120) {
            for with in ["", "\"", "\\", "0", " ", "x", "\u{1}", "}", ",\"created_at\":\"", "null"] {
                for until in [at, at + 1] {
                    let changed = format!("{}{with}{}", &line[..at], &line[until..]);
                    assert_eq!(Line::read(&changed).ok(), as_json(&changed), "{changed}");
                    *(if Read::as_written(&changed).is_some() { &mut quick } else { &mut general }) += 1;
                }
            }
        }
    }
    assert!(quick > 1_000 && general > 1_000, "{quick} {general}");
}

/// WAL-4: what is wrong with a damaged line is told in words for people; where the parser stood in it, and in which terms, is not.
#[test]
fn damage_is_told_in_words() {
    let log = lines(&all_types().log);
    let second = &log[1];
    let cut = &second[..second.len() - 9];
    for (damaged, words) in [
        (String::new(), "it is JSON that was cut off"),
        (cut.to_owned(), "it is JSON that was cut off"),
        ("\0".repeat(80), "it is not JSON"),
        (format!("x{second}"), "it is not JSON"),
        (second.replace("\"wal_seq\"", "\"wal-seq\""), "not a line of a task's log: unknown field `wal-seq`"),
        (second.replace("\"wal_seq\":2,", ""), "not a line of a task's log: missing field `wal_seq`"),
        ("[1, 2]".to_owned(), "not a line of a task's log: "),
        (second.replace("\"previous_status\"", "\"before\""), "not a line of a task's log: unknown field `before`"),
    ] {
        let mut replay = Replay::default();
        replay.line(&log[0]).unwrap();
        let told = replay.line(&damaged).unwrap_err().to_string();
        assert!(told.starts_with("line 2: it is ") && told.contains(words), "{damaged}: {told}");
        assert!(!told.contains("column") && !told.contains("at line") && !told.contains("expected value"), "{told}");
    }
}
