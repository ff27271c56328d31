use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_journal::Journal;
use agent_protocol::EventId;
use agent_task_store::{Actor, NewTask, Stamp, TaskStore, session_folder};
use agent_tasks::{
    Actor as By, Command, Moment, StepId, StepSpec, StepStatus, StepUpdate, TaskId, TaskStatus, WalName,
};

use super::*;
use crate::cleanup::{CleanupReason, CleanupResult};

/// What the clock shows first; a Task that is made later ends later.
const BEGIN: u64 = 1_790_000_000_000;

/// A folder of logs.
struct Place {
    root: PathBuf,
    ids: AtomicU64,
}

impl Place {
    fn new(name: &str) -> Self {
        Self { root: agent_testkit::scratch(name), ids: AtomicU64::new(0) }
    }

    fn wal_dir(&self) -> PathBuf {
        self.root.join("tasks")
    }

    fn archive(&self) -> TaskArchive {
        TaskArchive::new(self.wal_dir(), KnownSecrets::new([("THE_KEY", "a-value-that-is-known")]).unwrap())
    }

    fn log(&self, session: &str, task: &str) -> PathBuf {
        self.wal_dir().join(session).join(format!("{task}.wal.jsonl"))
    }

    /// Makes a Task of one step, and ends it so; nothing ends it where no end is given. It ends at so many seconds.
    fn task(&self, session: &str, task: &str, end: Option<TaskStatus>, at: u64) -> TaskStore {
        let session = SessionId::parse(session).unwrap();
        let id = || EventId::parse(&format!("evt_{}", self.ids.fetch_add(1, Ordering::Relaxed))).unwrap();
        let stamp = Stamp { now: Moment::from_millis(BEGIN + at * 1000), lease_millis: 1000, new_event_id: &id };
        let folder = session_folder(&self.wal_dir(), &session);
        let (mut store, _) = TaskStore::open(&folder, "tasks", &session, 20, &stamp).unwrap();
        let step: StepSpec = serde_json::from_str(r#"{"step_id": "a", "title": "Use a-value-that-is-known"}"#).unwrap();
        let task_id = TaskId::parse(task).unwrap();
        let new = NewTask {
            task_id: task_id.clone(),
            wal_name: WalName::parse(task).unwrap(),
            title: format!("Task {task}"),
            summary: "export TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345".to_owned(),
            steps: vec![step],
        };
        store.create(new, &Actor::default(), &stamp).unwrap();
        let update = StepUpdate { status: Some(StepStatus::Completed), ..StepUpdate::default() };
        let done = Command::UpdateStep { by: By::Orchestrator, step_id: StepId::parse("a").unwrap(), update };
        let commands = match end {
            None => vec![],
            Some(TaskStatus::Completed) => vec![done, Command::Complete { result_summary: None }],
            Some(TaskStatus::Failed) => vec![Command::Fail { reason: None }],
            Some(_) => vec![Command::Cancel { reason: None }],
        };
        for command in commands {
            store.execute(&task_id, &command, &Actor::default(), &stamp).unwrap();
        }
        store
    }
}

const COMPLETED: Option<TaskStatus> = Some(TaskStatus::Completed);

fn at(seconds: u64) -> Option<Timestamp> {
    Some(Timestamp::from_unix_millis(BEGIN + seconds * 1000))
}

/// The names of the candidates, each with the reason, in order.
fn names(result: &CleanupResult) -> String {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().replace(".wal.jsonl", "");
    let of = |candidate: &crate::CleanupCandidate| match candidate.reason {
        CleanupReason::TaskEnded(status) => format!("{} {status}", name(&candidate.path)),
        CleanupReason::EmptyFolder => format!("{}/", name(&candidate.path)),
        other => panic!("{other:?}"),
    };
    result.candidates.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn all() -> TaskCleanup {
    TaskCleanup { dry_run: false, include_failed: true, include_cancelled: true, older_than: None }
}

/// ART-3: over all sets of options, a cleanup covers completed Tasks, failed and cancelled ones only where they are included, none that
/// ended later than asked for and never an active one; a dry run changes nothing and says just what a real one then does.
#[test]
fn what_goes_is_what_was_asked_for() {
    for options in 0..16_u32 {
        let options = TaskCleanup {
            dry_run: true,
            include_failed: options & 1 != 0,
            include_cancelled: options & 2 != 0,
            older_than: [None, at(0), at(3), at(100)][(options >> 2) as usize].clone(),
        };
        let place = Place::new("tasks_asked_for");
        place.task("sess_a", "first", COMPLETED, 1);
        place.task("sess_a", "failed", Some(TaskStatus::Failed), 2);
        place.task("sess_b", "cancelled", Some(TaskStatus::Cancelled), 3);
        place.task("sess_b", "last", COMPLETED, 4);
        place.task("sess_c", "active", None, 0);
        let archive = place.archive();
        let wanted = |name: &str, end: &str, seconds: u64, included: bool| {
            let old = options.older_than.as_ref().is_none_or(|limit| at(seconds).unwrap() < *limit);
            (included && old).then(|| format!("{name} {end}"))
        };
        let mut expected: Vec<_> = [
            wanted("first", "completed", 1, true),
            wanted("failed", "failed", 2, options.include_failed),
            wanted("cancelled", "cancelled", 3, options.include_cancelled),
            wanted("last", "completed", 4, true),
        ]
        .into_iter()
        .flatten()
        .collect();
        let logs = expected.len();
        let goes = |name: &str| expected.iter().any(|it| it.starts_with(name));
        let empty = [("sess_a/", goes("first") && goes("failed")), ("sess_b/", goes("cancelled") && goes("last"))];
        expected.extend(empty.into_iter().filter(|(_, is)| *is).map(|(name, _)| name.to_owned()));

        let said = archive.cleanup(&options).unwrap();
        assert_eq!(names(&said), expected.join(", "), "{options:?}");
        assert_eq!((said.kept.len(), said.failures.len(), said.removed), (5 - logs, 0, 0), "{said:?}");
        assert_eq!(
            archive.sessions().unwrap().iter().map(|it| it.logs.len()).sum::<usize>(),
            5,
            "nothing goes in a dry run"
        );
        let done = archive.cleanup(&TaskCleanup { dry_run: false, ..options.clone() }).unwrap();
        assert_eq!(names(&done), names(&said));
        assert_eq!((done.bytes, done.removed as usize), (said.bytes, expected.len()), "{options:?}");
        let left: usize = archive.sessions().unwrap().iter().map(|it| it.logs.len()).sum();
        assert_eq!(left, 5 - logs);
        assert!(place.log("sess_c", "active").exists());
        fs::remove_dir_all(&place.root).unwrap();
    }
}

/// ART-3: a log that cannot be read stays, with its reason; so does one that a process holds; torn ends go with their log, and only
/// those; a folder in which something else lies stays.
#[test]
fn what_is_never_removed() {
    let place = Place::new("tasks_never");
    for (session, task) in
        [("sess_a", "damaged"), ("sess_a", "other"), ("sess_b", "held"), ("sess_c", "torn"), ("sess_d", "gone")]
    {
        place.task(session, task, COMPLETED, 1);
    }
    let damaged = place.log("sess_a", "damaged");
    let text = fs::read_to_string(&damaged).unwrap().replace("\"wal_seq\":2,", "\"wal_seq\":7,");
    fs::write(&damaged, text).unwrap();
    fs::write(place.log("sess_a", "empty"), "").unwrap();
    // The log of another session.
    fs::rename(place.log("sess_a", "other"), place.log("sess_b", "other")).unwrap();
    let held = Journal::open(&place.log("sess_b", "held"), |_| Ok::<_, ()>(())).unwrap();
    let mut torn = File::options().append(true).open(place.log("sess_c", "torn")).unwrap();
    torn.write_all(b"{\"wal_seq\":").unwrap();
    let beside = |name: &str| place.wal_dir().join("sess_c").join(name);
    for (name, bytes) in [
        ("torn.wal.jsonl.torn-17", 10),
        ("torn.wal.jsonl.torn-17-2", 20),
        ("torn.wal.jsonl.torn-x", 40),
        ("torn2.wal.jsonl.torn-17", 80),
    ] {
        fs::write(beside(name), vec![b'x'; bytes]).unwrap();
    }
    let size = fs::metadata(place.log("sess_c", "torn")).unwrap().len();
    let archive = place.archive();
    for dry_run in [true, false] {
        let result = archive.cleanup(&TaskCleanup { dry_run, ..all() }).unwrap();
        assert_eq!(names(&result), "torn completed, gone completed, sess_d/");
        assert_eq!(result.candidates[0].bytes, size + 30);
        let said = result
            .failures
            .iter()
            .map(|it| (it.path.as_ref().unwrap().file_name().unwrap().to_str().unwrap(), it.message.as_str()));
        let said: Vec<_> = said.collect();
        for (name, why) in [
            ("damaged.wal.jsonl", "line 2: wal_seq is 7, and 2 was expected"),
            ("empty.wal.jsonl", "no whole line"),
            ("other.wal.jsonl", "belongs to session sess_a"),
            ("held.wal.jsonl", "in use by"),
        ] {
            assert!(said.iter().any(|(of, said)| *of == name && said.contains(why)), "{name}: {said:?}");
        }
        assert_eq!(said.len(), 4);
    }
    assert!(!place.log("sess_d", "gone").parent().unwrap().exists());
    assert!(
        !beside("torn.wal.jsonl").exists()
            && !beside("torn.wal.jsonl.torn-17").exists()
            && !beside("torn.wal.jsonl.torn-17-2").exists()
    );
    assert!(beside("torn.wal.jsonl.torn-x").exists() && beside("torn2.wal.jsonl.torn-17").exists());
    drop(held);
    assert_eq!(names(&archive.cleanup(&all()).unwrap()), "held completed");
}

/// WAL-12: two cleanups at the same time remove each log once, and lose nothing else.
#[test]
fn two_cleanups_at_once() {
    let place = Place::new("tasks_two_cleanups");
    for n in 0..20 {
        place.task("sess_a", &format!("t{n}"), COMPLETED, n);
    }
    place.task("sess_a", "active", None, 0);
    let archive = place.archive();
    let results: Vec<_> = std::thread::scope(|scope| {
        let work = [0, 1].map(|_| scope.spawn(|| archive.cleanup(&all()).unwrap()));
        work.into_iter().map(|work| work.join().unwrap()).collect()
    });
    let removed: u64 = results.iter().map(|result| result.removed).sum();
    assert!(removed <= 20, "{removed}");
    archive.cleanup(&all()).unwrap();
    let left: BTreeSet<_> =
        fs::read_dir(place.wal_dir().join("sess_a")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.into_iter().collect::<Vec<_>>(), ["active.wal.jsonl"]);
}

/// STO-10: what is shown of a Task holds neither known secrets nor what looks like one, and neither do reasons that quote a log.
#[test]
fn secrets_are_masked() {
    let place = Place::new("tasks_secrets");
    place.task("sess_a", "one", COMPLETED, 1);
    let archive = place.archive();
    let sessions = archive.sessions().unwrap();
    let view = serde_json::to_string(&archive.read(&sessions[0].logs[0]).unwrap()).unwrap();
    assert!(
        view.contains("Use [secret THE_KEY]") && !view.contains("ghp_0123") && !view.contains("a-value-that"),
        "{view}"
    );
    let log = fs::read_to_string(place.log("sess_a", "one")).unwrap();
    let broken = log.replacen("\"event_type\":\"task_created\"", "\"event_type\":\"a-value-that-is-known\"", 1);
    fs::write(place.log("sess_a", "one"), broken).unwrap();
    let damage = archive.read(&sessions[0].logs[0]).unwrap_err();
    assert!(damage.why.contains("line 1") && damage.why.contains("[secret THE_KEY]"), "{damage:?}");
}

/// WAL-2: a reader changes nothing and leaves out a line that is being written; the newest session comes first; what is no log is none.
#[test]
fn logs_are_read_as_they_lie() {
    let place = Place::new("tasks_read");
    assert_eq!(place.archive().sessions().unwrap(), []);
    let store = place.task("sess_old", "one", None, 1);
    place.task("sess_new", "two", None, 1);
    for (session, seconds) in [("sess_old/one", 1), ("sess_new/two", 2)] {
        let log = File::options().append(true).open(place.wal_dir().join(format!("{session}.wal.jsonl"))).unwrap();
        log.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
    }
    fs::create_dir(place.wal_dir().join("no session")).unwrap();
    fs::create_dir(place.wal_dir().join("sess_empty")).unwrap();
    fs::write(place.wal_dir().join("sess_new/notes.txt"), "").unwrap();
    let archive = place.archive();
    let sessions = archive.sessions().unwrap();
    let ids: Vec<_> = sessions.iter().map(|it| it.session_id.as_str()).collect();
    assert_eq!(ids, ["sess_new", "sess_old"]);
    let log = place.log("sess_old", "one");
    File::options().append(true).open(&log).unwrap().write_all(b"{\"wal_seq\":3,").unwrap();
    let before = fs::read(&log).unwrap();
    let view = archive.read(&archive.session(&sessions[1].session_id).unwrap().logs[0]).unwrap();
    assert_eq!((view.task_id.as_str(), view.counts.ready, view.steps[0].waits_for_step_ids.len()), ("one", 1, 0));
    assert_eq!(fs::read(&log).unwrap(), before);
    drop(store);
}

/// CLI-5: where the logs of a session cannot be listed, that is told as a log that cannot be read, with the folder and the reason. (A file
/// stands in the folder's place, which nobody can list, whoever runs the tests.)
#[test]
fn logs_that_cannot_be_listed_are_told() {
    let place = Place::new("tasks_unlisted");
    place.task("sess_a", "one", None, 1);
    let folder = place.wal_dir().join("sess_b");
    fs::write(&folder, "no folder").unwrap();
    let archive = place.archive();
    let found = archive.session(&SessionId::parse("sess_b").unwrap()).unwrap();
    let [log] = found.logs.as_slice() else { panic!("{found:?}") };
    let damage = archive.read(log).unwrap_err();
    assert!(damage.path == folder && damage.why.contains("cannot list"), "{damage:?}");
    let refused = archive.cancel(log, None, Moment::from_millis(1), &|| EventId::parse("evt_1").unwrap()).unwrap_err();
    assert!(refused.to_string().contains("cannot list"), "{refused}");
    assert!(archive.read(&archive.sessions().unwrap()[0].logs[0]).is_ok());
}
