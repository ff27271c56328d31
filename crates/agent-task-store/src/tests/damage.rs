use std::fs;
use std::os::unix::fs::symlink;

use agent_protocol::ErrorCode;
use agent_tasks::{Command, StepStatus, Task};

use super::{Place, claim, session, set, task_id};
use crate::{Recovery, TaskStore};

fn only(store: &TaskStore) -> Option<Task> {
    store.active().next().cloned()
}

/// WAL-2, WAL-4, WAL-5: a log that a crash cut anywhere (around each line end, and every 23rd byte; `agent-journal` tries all) gives a Task that is one of those that were there between two lines, with
/// what core adds to it; it can be worked on, and taken up once more without a difference.
#[test]
fn a_log_cut_at_every_byte() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a b<a c<a,b d");
    place.run(&mut store, "one", &claim(1, "a"));
    place.run(&mut store, "one", &set("a", StepStatus::Completed));
    let edit = serde_json::json!([
        { "op": "cancel_step", "step_id": "d" },
        { "op": "add_step", "step": { "step_id": "e", "title": "More", "depends_on_step_ids": ["a"] } },
        { "op": "add_dependency", "step_id": "b", "depends_on_step_id": "e" },
    ]);
    place.run(&mut store, "one", &Command::Update(serde_json::from_value(edit).unwrap()));
    place.run(&mut store, "one", &Command::Fail { reason: Some("enough".to_owned()) });
    drop(store);
    let log = fs::read(place.log("one")).unwrap();
    let whole = log.iter().filter(|byte| **byte == b'\n').count();
    let at_an_end = |cut: usize| log[cut.saturating_sub(2)..(cut + 2).min(log.len())].contains(&b'\n');
    for cut in (0..log.len()).filter(|cut| cut % 23 == 0 || at_an_end(*cut)) {
        fs::write(place.log("one"), &log[..cut]).unwrap();
        let (mut store, recovered) = place.open();
        let lines = log[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert!(lines < whole);
        if lines == 0 {
            let Recovery::Failed(failed) = &recovered[0].recovery else { panic!("{cut}: {recovered:?}") };
            assert_eq!((failed.kind, only(&store)), ("empty", None));
        } else {
            let Recovery::Replayed { lines: read, torn, .. } = &recovered[0].recovery else {
                panic!("{cut}: {recovered:?}")
            };
            assert_eq!((*read, torn.is_some()), (lines as u64, log[cut - 1] != b'\n'), "{cut}");
            let task = only(&store).unwrap();
            assert!(task.counts().ready + task.counts().claimed > 0 || task.is_stalled(), "{cut}: {:?}", task.counts());
            drop(store);
            let (again, recovered) = place.open();
            let Recovery::Replayed { torn: None, settled, .. } = &recovered[0].recovery else {
                panic!("{recovered:?}")
            };
            assert_eq!((settled.len(), only(&again)), (0, Some(task)), "{cut}");
            store = again;
            place.run(&mut store, "one", &Command::Cancel { reason: None });
        }
        drop(store);
        for entry in fs::read_dir(place.folder()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

/// WAL-4: a damaged log makes its Task unavailable, says where and why, stays as it is, and harms no other.
#[test]
fn damage_stays_in_its_log() {
    let place = Place::new();
    let (mut store, _) = place.open();
    for id in ["one", "two", "three", "four"] {
        place.create(&mut store, id, "a");
    }
    drop(store);
    let text = fs::read_to_string(place.log("two")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(1, 2);
    fs::write(place.log("two"), lines.join("\n") + "\n").unwrap();
    fs::write(place.log("three"), text.replace("task_step_ready", "task_step_redy")).unwrap();
    fs::write(place.log("four"), fs::read_to_string(place.log("four")).unwrap().replace("sess_1", "sess_2")).unwrap();
    symlink(place.log("one"), place.log("link")).unwrap();
    fs::create_dir(place.log("folder")).unwrap();
    fs::write(place.folder().join("notes.txt"), "no log").unwrap();
    let before = fs::read(place.log("two")).unwrap();
    let (mut store, recovered) = place.open();
    assert_eq!(recovered.len(), 6);
    assert_eq!(only(&store).unwrap().id(), &task_id("one"));
    let failed: Vec<_> = store.unavailable().map(|(name, failed)| (name.as_str(), failed.kind, failed.line)).collect();
    let logs = [("four", "other", Some(1)), ("three", "line", Some(2)), ("two", "sequence", Some(2))];
    assert_eq!(failed, [("folder", "file", None), logs[0], ("link", "file", None), logs[1], logs[2]]);
    assert_eq!(fs::read(place.log("two")).unwrap(), before);
    let error = place
        .stamped(|stamp| store.execute(&task_id("two"), &claim(1, "a"), &super::actor(), stamp))
        .unwrap_err()
        .to_string();
    assert!(error.contains("task two is not available") && error.contains("line 2"), "{error}");
    let read = crate::tasks(&place.folder(), &session()).unwrap();
    assert_eq!((read.len(), read.iter().filter(|task| task.task.is_ok()).count()), (6, 1));
}

/// TSK-2: two logs with one id are one Task and one that is named.
#[test]
fn two_logs_with_one_id() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a");
    drop(store);
    fs::copy(place.log("one"), place.log("copy")).unwrap();
    let (store, _) = place.open();
    assert_eq!(store.active().count(), 1);
    let (_, failed) = store.unavailable().next().unwrap();
    assert!(failed.why.ends_with("has the same task_id"), "{}", failed.why);
}

/// TSK-2: of two logs with one id it is always the same that is the Task, whichever was written last; no third one is made, nor one in
/// the place of a log that cannot be read.
#[test]
fn an_id_stays_with_its_log() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a");
    place.create(&mut store, "damaged", "a");
    drop(store);
    let copied =
        fs::read_to_string(place.log("one")).unwrap().replace(r#""created_at":"1970"#, r#""created_at":"1971"#);
    fs::write(place.log("copy"), copied).unwrap();
    let log = fs::read_to_string(place.log("damaged")).unwrap().replace(r#""wal_seq":2"#, r#""wal_seq":7"#);
    fs::write(place.log("damaged"), log).unwrap();
    for written_last in ["one", "copy", "one"] {
        let log = fs::File::options().append(true).open(place.log(written_last)).unwrap();
        log.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
        let (mut store, _) = place.open();
        assert_eq!(only(&store).unwrap().wal_path(), "tasks/sess_1/one.wal.jsonl", "{written_last}");
        for (id, code) in [("one", ErrorCode::ValidationError), ("damaged", ErrorCode::TaskWalUnavailable)] {
            let new = super::new_task(id, "another", "a");
            let refused = place.stamped(|stamp| store.create(new, &super::actor(), stamp)).unwrap_err();
            assert_eq!(refused.code(), code, "{refused}");
        }
        assert!(!place.log("another").exists());
    }
}

/// TSK-14, WAL-4: a log of another session makes no Task of this one, whether that has ended or not.
#[test]
fn logs_of_other_sessions() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a");
    place.run(&mut store, "one", &Command::Cancel { reason: None });
    let foreign = fs::read_to_string(place.log("one")).unwrap().replace("sess_1\"", "sess_2\"");
    fs::write(place.log("one"), foreign).unwrap();
    let (store, _) = place.open();
    let found = crate::find_ended(&store, &task_id("one")).unwrap_err();
    assert!(found.to_string().contains("belongs to session sess_2"), "{found}");
    let listed = crate::ended(&store, None, 10, 0).unwrap().tasks;
    assert!(listed.len() == 1 && listed[0].task.is_err(), "{listed:?}");
}

/// WAL-2: a log that was removed under its owner takes no more lines, and the Task says so.
#[test]
fn a_log_that_is_removed_while_in_use() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "one", "a");
    fs::remove_file(place.log("one")).unwrap();
    let before = only(&store);
    for words in ["moved, removed or changed", "not available"] {
        let refused = place.stamped(|stamp| store.execute(&task_id("one"), &claim(1, "a"), &super::actor(), stamp));
        let error = refused.unwrap_err();
        assert_eq!(error.code(), agent_protocol::ErrorCode::TaskWalUnavailable);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(only(&store), before);
    }
}

/// WAL-1: no log is made through a link that stands where the folder should be.
#[test]
fn no_folder_is_taken_from_a_link() {
    let place = Place::new();
    fs::create_dir_all(place.root().join("elsewhere")).unwrap();
    fs::create_dir_all(place.folder().parent().unwrap()).unwrap();
    symlink(place.root().join("elsewhere"), place.folder()).unwrap();
    let (mut store, _) = place.open();
    let new = super::new_task("one", "one", "a");
    let error = place.stamped(|stamp| store.create(new, &super::actor(), stamp)).unwrap_err().to_string();
    assert!(error.contains("something else than a folder"), "{error}");
    assert_eq!(fs::read_dir(place.root().join("elsewhere")).unwrap().count(), 0);
}

/// WAL-4, TSK-2: what lies in a log's place and is no file is told with what it is, waits for nobody, is never written through, and the id
/// of the log that a link leads to is not given again; other Tasks go on.
#[test]
fn what_is_no_file_is_told() {
    let place = Place::new();
    let (mut store, _) = place.open();
    for id in ["one", "ended", "moved", "piped"] {
        place.create(&mut store, id, "a");
    }
    place.run(&mut store, "ended", &Command::Cancel { reason: None });
    drop(store);
    for id in ["moved", "ended"] {
        let elsewhere = place.root().join(id);
        fs::rename(place.log(id), &elsewhere).unwrap();
        symlink(&elsewhere, place.log(id)).unwrap();
    }
    symlink(place.root().join("nowhere"), place.log("dangling")).unwrap();
    fs::create_dir(place.log("folder")).unwrap();
    fs::remove_file(place.log("piped")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(place.log("piped")).status().unwrap();
    assert!(fifo.success());
    let kept = fs::read(place.root().join("moved")).unwrap();
    let (mut store, recovered) = place.open();
    assert_eq!(recovered.len(), 6);
    assert_eq!(only(&store).unwrap().id(), &task_id("one"));
    let told: Vec<_> = store.unavailable().map(|(name, log)| (name.as_str(), log.kind, log.why.as_str())).collect();
    for (name, what) in
        [("dangling", "a link"), ("ended", "a link"), ("folder", "a folder"), ("moved", "a link"), ("piped", "a pipe")]
    {
        let is_told = |log: &&(&str, &str, &str)| log.0 == name && log.1 == "file" && log.2.contains(what);
        assert!(told.iter().any(|log| is_told(&log)), "{name}: {told:?}");
    }
    let again = place.stamped(|stamp| store.create(super::new_task("moved", "another", "a"), &super::actor(), stamp));
    assert_eq!(again.unwrap_err().code(), ErrorCode::TaskWalUnavailable);
    for name in ["folder", "piped", "dangling"] {
        let new = super::new_task("other", name, "a");
        let refused = place.stamped(|stamp| store.create(new, &super::actor(), stamp)).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::PathConflict, "{name}: {refused}");
    }
    let found = crate::find_ended(&store, &task_id("ended")).unwrap_err().to_string();
    assert!(found.contains("it is a link"), "{found}");
    let read = crate::tasks(&place.folder(), &session()).unwrap();
    assert_eq!((read.len(), read.iter().filter(|task| task.task.is_ok()).count()), (6, 1));
    assert_eq!(fs::read(place.root().join("moved")).unwrap(), kept);
}

/// WAL-2: a log that was removed, moved, or changed by somebody else while its Task is in memory is noticed by whoever looks, before
/// anything is written.
#[test]
fn a_log_that_is_not_in_place_is_noticed() {
    let spoil: [fn(&std::path::Path); 3] = [
        |log| fs::remove_file(log).unwrap(),
        |log| fs::rename(log, log.with_extension("moved")).unwrap(),
        |log| fs::write(log, "{}\n").unwrap(),
    ];
    for spoil in spoil {
        let place = Place::new();
        let (mut store, _) = place.open();
        place.create(&mut store, "one", "a");
        store.check_log(&task_id("one")).unwrap();
        spoil(&place.log("one"));
        let error = store.check_log(&task_id("one")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TaskWalUnavailable);
        assert!(error.to_string().contains("moved, removed or changed by somebody else"), "{error}");
    }
}
