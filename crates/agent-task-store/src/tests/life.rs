use std::fs;
use std::os::unix::fs::PermissionsExt;

use agent_protocol::ErrorCode;
use agent_tasks::{Command, Moment, StepStatus, TaskStatus};

use super::{LEASE, Place, actor, claim, new_task, session, set, task_id, types};
use crate::{Recovery, TaskError, TaskStore};

/// WAL-1, TSK-16, WAL-6: a Task has its log from the first moment, for its owner alone, out of version control; id and file name may differ.
#[test]
fn a_task_has_its_log() {
    let place = Place::new();
    let (mut store, recovered) = place.open();
    assert_eq!(recovered, []);
    assert!(!place.folder().exists(), "nothing is made before there is a task");
    let created = place.stamped(|stamp| store.create(new_task("parser", "work-1", "a b<a"), &actor(), stamp)).unwrap();
    assert_eq!(created.wal_path, "tasks/sess_1/work-1.wal.jsonl");
    assert_eq!(types(&created.recorded), ["task_created", "task_step_ready", "task_running"]);
    let text = fs::read_to_string(place.log("work-1")).unwrap();
    assert_eq!(text.lines().count(), 3);
    for (n, line) in text.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["wal_seq"], &line["session_id"], &line["task_id"]),
            (&(n + 1).into(), &"sess_1".into(), &"parser".into())
        );
        assert_eq!((&line["actor_agent_id"], &line["actor_run_id"]), (&"agent_root".into(), &"run_1".into()));
        assert_eq!(line["event_id"], created.recorded[n].event_id.as_str());
    }
    assert_eq!(store.task(&task_id("parser")).unwrap().wal_path(), created.wal_path);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(place.folder()), mode(place.log("work-1"))), (0o700, 0o600));
    assert_eq!(fs::read_to_string(place.root().join("tasks/.gitignore")).unwrap(), "*\n");
}

/// TSK-2, WAL-1: an id that an active Task has, and a log that is there, are refused; nothing is made.
#[test]
fn names_that_are_taken() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a");
    let refused = |store: &mut TaskStore, id, name| {
        place.stamped(|stamp| store.create(new_task(id, name, "a"), &actor(), stamp)).unwrap_err()
    };
    let error = refused(&mut store, "one", "other");
    assert!(matches!(error, TaskError::Exists(_)) && error.code() == ErrorCode::ValidationError, "{error}");
    let error = refused(&mut store, "two", "one");
    assert_eq!(error.code(), ErrorCode::PathConflict);
    assert_eq!(error.to_string(), "tasks/sess_1/one.wal.jsonl exists already: choose another wal_name");
}

/// WAL-5, WAL-06: what is taken up again is what was there, and the numbers go on.
#[test]
fn a_session_is_taken_up_again() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a b<a");
    place.create(&mut store, "two", "x");
    place.run(&mut store, "one", &claim(1, "a"));
    let before = store.task(&task_id("one")).unwrap().clone();
    drop(store);
    let (mut store, recovered) = place.open();
    assert_eq!(store.active().count(), 2);
    assert_eq!(store.task(&task_id("one")), Some(&before));
    let replayed = |recovered: &crate::Recovered| match &recovered.recovery {
        Recovery::Replayed { lines, torn: None, settled, .. } if settled.is_empty() => *lines,
        other => panic!("{other:?}"),
    };
    let mut lines: Vec<u64> = recovered.iter().map(replayed).collect();
    lines.sort_unstable();
    assert_eq!(lines, [3, 4]);
    let recorded = place.run(&mut store, "one", &set("a", StepStatus::Completed));
    assert_eq!(recorded.iter().map(|recorded| recorded.wal_seq).collect::<Vec<_>>(), [5, 6]);
}

/// WAL-3: a second owner gets nothing of what the first one holds, and is told who does.
#[test]
fn a_second_owner_is_refused() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a");
    let (mut second, recovered) = place.open();
    let Recovery::Failed(failed) = &recovered[0].recovery else { panic!("{recovered:?}") };
    assert_eq!((failed.kind, failed.task_id.as_ref()), ("locked", Some(&task_id("one"))));
    let error = place.stamped(|stamp| second.execute(&task_id("one"), &claim(1, "a"), &actor(), stamp)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TaskWalUnavailable);
    assert!(error.to_string().contains("in use by"), "{error}");
    place.run(&mut store, "one", &claim(1, "a"));
}

/// TSK-5, TSK-13, SUB-06: leases end by the clock that is handed in, before any command, and at recovery; a renewed one lives longer
/// in memory only.
#[test]
fn leases_end_by_the_clock() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a b");
    place.run(&mut store, "one", &claim(1, "a"));
    let run = agent_protocol::RunId::parse("run_w1").unwrap();
    assert!(store.renew_lease(&task_id("one"), &run, agent_tasks::Moment::from_millis(10_000)));
    place.now.set(LEASE + 1);
    assert_eq!(types(&place.run(&mut store, "one", &claim(2, "b"))), ["task_step_claimed"]);
    drop(store);
    let (mut store, recovered) = place.open();
    let Recovery::Replayed { settled, .. } = &recovered[0].recovery else { panic!("{recovered:?}") };
    assert_eq!(types(settled), ["task_step_lease_expired", "task_step_ready"]);
    place.now.set(3 * LEASE);
    let recorded = place.run(&mut store, "one", &claim(3, "a"));
    assert_eq!(types(&recorded), ["task_step_lease_expired", "task_step_ready", "task_step_claimed"]);
    drop(store);
    assert_eq!(crate::tasks(&place.folder(), &session()).unwrap()[0].task.as_ref().unwrap().counts().claimed, 1);
}

/// WAL-2, ERR-6: an unknown Task, a refused command and a Task that ended are told apart; none of them writes.
#[test]
fn what_is_refused_writes_nothing() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a b<a");
    let before = fs::read(place.log("one")).unwrap();
    let refused = |store: &mut TaskStore, id: &str, command| {
        place.stamped(|stamp| store.execute(&task_id(id), &command, &actor(), stamp)).unwrap_err().code()
    };
    assert_eq!(refused(&mut store, "two", claim(1, "a")), ErrorCode::TaskNotFound);
    assert_eq!(refused(&mut store, "one", claim(1, "b")), ErrorCode::StepNotReady);
    assert_eq!(fs::read(place.log("one")).unwrap(), before);
    place.run(&mut store, "one", &agent_tasks::Command::Cancel { reason: None });
    assert_eq!(store.active().count(), 0, "an ended task leaves the memory");
    assert_eq!(crate::find_ended(&store, &task_id("one")).unwrap().status(), TaskStatus::Cancelled);
}

/// TBD-1: the last changes of all Tasks are known, in the order of their times, also after their logs were opened again; those of a Task
/// that has ended are known as long as the store is open.
#[test]
fn the_last_changes_are_known() {
    let place = Place::new();
    let (mut store, _) = place.open();
    let shown = |store: &TaskStore| -> Vec<String> {
        let recent = store.recent().within(Moment::from_millis(1_000), 1_000);
        let all = recent.map(|change| {
            let step = change.step_id.as_ref().map_or("", |id| id.as_str());
            format!("{} {} {step} {}", change.at.millis(), change.task_id, change.event_type.as_str())
        });
        all.take(4).collect()
    };
    place.create(&mut store, "one", "a b");
    place.now.set(10);
    place.create(&mut store, "two", "c");
    place.now.set(20);
    place.run(&mut store, "one", &claim(1, "a"));
    place.now.set(30);
    place.run(&mut store, "two", &set("c", StepStatus::Blocked));
    let expected = [
        "30 two c task_step_blocked",
        "20 one a task_step_claimed",
        "10 two  task_running",
        "10 two c task_step_ready",
    ];
    assert_eq!(shown(&store), expected);
    drop(store);
    let (mut store, _) = place.open();
    assert_eq!(shown(&store), expected);
    // A lease that is over ends before the command.
    place.now.set(20 + LEASE);
    place.run(&mut store, "one", &Command::Fail { reason: None });
    let types: Vec<_> =
        store.recent().within(Moment::from_millis(20 + LEASE), 0).map(|change| change.event_type).collect();
    assert_eq!(types.len(), 5, "{types:?}");
    assert_eq!((types[0].as_str(), types[4].as_str()), ("task_failed", "task_step_lease_expired"));
}
