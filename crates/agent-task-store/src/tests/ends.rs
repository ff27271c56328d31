use std::fs::File;
use std::time::{Duration, SystemTime};

use agent_tasks::{Command, StepStatus, TaskStatus};

use super::{Place, set, task_id};
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
