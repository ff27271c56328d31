use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use agent_tasks::{Command, StepStatus, TaskStatus};

use super::{Place, session, set, task_id};
use crate::{EndedTask, TaskError, ended, find_ended};

/// TSK-14, TSK-2: ended Tasks are read where they lie, the newest first, in pages and by status; recovery does not take them up, and
/// an id may be used again.
#[test]
fn ended_tasks_are_read_where_they_lie() {
    let place = Place::new();
    let (mut store, _) = place.open();
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for (n, (id, end)) in
        [("one", "completed"), ("two", "failed"), ("three", "cancelled"), ("four", "completed")].into_iter().enumerate()
    {
        place.create(&mut store, id, "a");
        place.run(&mut store, id, &set("a", StepStatus::Completed));
        let command = match end {
            "completed" => Command::Complete { result_summary: None },
            "failed" => Command::Fail { reason: None },
            _ => Command::Cancel { reason: None },
        };
        place.run(&mut store, id, &command);
        let log = File::options().append(true).open(place.log(id)).unwrap();
        log.set_modified(begin + Duration::from_secs(n as u64)).unwrap();
    }
    place.create(&mut store, "active", "a");
    let list = |status, limit, offset| {
        let page = ended(&store, status, limit, offset).unwrap();
        let id = |task: EndedTask| task.task.unwrap().id().to_string();
        let ids = page.tasks.into_iter().map(id).collect::<Vec<_>>().join(" ");
        if page.more { format!("{ids} …") } else { ids }
    };
    assert_eq!(list(None, 50, 0), "four three two one");
    assert_eq!(list(None, 2, 1), "three two …");
    assert_eq!(list(None, 2, 2), "two one");
    assert_eq!(list(Some(TaskStatus::Completed), 50, 0), "four one");
    assert_eq!(list(Some(TaskStatus::Running), 50, 0), "");
    drop(store);
    let (mut store, recovered) = place.open();
    assert_eq!((recovered.len(), store.active().count()), (1, 1));
    let again = super::new_task("one", "one-again", "a b");
    place.stamped(|stamp| store.create(again, &super::actor(), stamp)).unwrap();
    assert_eq!(find_ended(&store, &task_id("two")).unwrap().status(), TaskStatus::Failed);
    assert!(matches!(find_ended(&store, &task_id("nobody")), Err(TaskError::NotFound(_))));
}

/// TSK-7, TSK-21, WAL-3, WAL-7: a person cancels a Task whose owner is gone, held steps with it, whatever a crash left of its last line; the
/// lines name nobody. A Task that a process has open, that has ended, or whose log makes none stays as it is, to the byte.
#[test]
fn a_task_that_nobody_works_on_is_cancelled() {
    let place = Place::new();
    let cancel = |name: &str| {
        let reason = Some("done by hand".to_owned());
        place.stamped(|stamp| crate::cancel(&place.log(name), &session(), reason, stamp))
    };
    let (mut store, _) = place.open();
    for id in ["one", "damaged"] {
        place.create(&mut store, id, "a b<a c");
    }
    place.run(&mut store, "one", &super::claim(1, "a"));
    let before = fs::read(place.log("one")).unwrap();
    let refused = cancel("one").unwrap_err().to_string();
    assert!(refused.contains("is in use by"), "{refused}");
    drop(store);
    let damaged = fs::read_to_string(place.log("damaged")).unwrap().replace("\"wal_seq\":2", "\"wal_seq\":9");
    fs::write(place.log("damaged"), &damaged).unwrap();
    assert!(cancel("damaged").unwrap_err().to_string().contains("line 2"));
    assert_eq!(fs::read_to_string(place.log("damaged")).unwrap(), damaged);
    assert_eq!(fs::read(place.log("one")).unwrap(), before);

    fs::write(place.log("one"), [&before[..], b"{\"wal_seq\":7,\"sess"].concat()).unwrap();
    let task = cancel("one").unwrap();
    assert_eq!((task.status(), task.reason()), (TaskStatus::Cancelled, Some("done by hand")));
    assert!(task.steps().all(|step| step.status == StepStatus::Cancelled));
    assert_eq!(crate::read_task(&place.log("one"), &session()).unwrap(), task);
    let log = fs::read_to_string(place.log("one")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["event_type"], &last["actor_agent_id"], &last["actor_run_id"]),
        (&"task_cancelled".into(), &serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert!(cancel("one").unwrap_err().to_string().contains("task one is cancelled"));
    assert_eq!(fs::read_to_string(place.log("one")).unwrap(), log);
}
