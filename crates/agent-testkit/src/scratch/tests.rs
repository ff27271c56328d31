use super::*;

fn place(root: Option<&str>, home: Option<&str>) -> Option<Place> {
    Place::choose(root.map(OsString::from), home.map(OsString::from))
}

/// TST-2: the variable wins, else the runs folder of the user's home, else nothing is touched at all.
#[test]
fn the_place_is_the_given_root_or_the_users_runs() {
    assert_eq!(place(Some("/r"), Some("/h")), Some(Place::Given("/r".into())));
    assert_eq!(place(None, Some("/h")), Some(Place::Runs("/h/.soong-agent/test-runs".into())));
    assert_eq!(place(Some(""), Some("/h")), Some(Place::Runs("/h/.soong-agent/test-runs".into())));
    assert_eq!(place(None, None), None);
}

#[test]
fn every_call_gets_a_fresh_private_folder() {
    let (a, b) = (scratch("same name/.."), scratch("same name/.."));
    assert_ne!(a, b);
    for folder in [a, b] {
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(folder, folder.canonicalize().unwrap());
        assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("same-name-.."));
    }
}

/// The name of a folder that is gone is not given again: whatever removes the old one with its test leaves the new one alone.
#[test]
fn a_name_is_given_once() {
    let first = scratch("given-once");
    fs::remove_dir_all(&first).unwrap();
    assert_ne!(scratch("given-once"), first);
}

#[test]
fn names_stay_one_component() {
    for (hint, name) in [("a/b", "a-b"), ("", "test"), ("..", "test"), ("ü", "-"), ("ok_1-x.y", "ok_1-x.y")] {
        assert_eq!(safe_name(hint), name);
    }
    assert_eq!(safe_name(&"x".repeat(500)).len(), 64);
}

/// A run as an earlier process left it: the mark is there, nobody holds it.
fn dead_run(parent: &Path, id: &str) -> PathBuf {
    let run = parent.join(id);
    fs::create_dir_all(run.join("some/data")).unwrap();
    File::create(run.join(ALIVE)).unwrap();
    run
}

/// TST-2: five runs stay; the oldest dead ones go, files and all.
#[test]
fn opening_a_run_prunes_all_but_the_newest_five() {
    let parent = scratch("prune");
    let old: Vec<PathBuf> = (1..=7).map(|n| dead_run(&parent, &format!("2020010{n}T000000.000Z-1"))).collect();
    let run = RunFolder::register(&parent).unwrap();
    let kept: Vec<bool> = old.iter().map(|run| run.exists()).collect();
    assert_eq!(kept, [false, false, false, true, true, true, true]);
    assert!(run.path.is_dir());
    let hidden =
        fs::read_dir(&parent).unwrap().flatten().filter(|e| e.file_name().to_string_lossy().starts_with(TRASH));
    assert_eq!(hidden.count(), 0);
}

/// FND-67: a run in which nothing is left goes at once, and does not take the place of one that holds what a failed test made.
#[test]
fn runs_that_left_nothing_go_first() {
    let parent = scratch("prune-empty");
    let failed = dead_run(&parent, "20200101T000000.000Z-1");
    let passed: Vec<PathBuf> = (2..=9).map(|n| dead_run(&parent, &format!("2020010{n}T000000.000Z-1"))).collect();
    for run in &passed {
        fs::remove_dir_all(run.join("some")).unwrap();
    }
    let living = RunFolder::register(&parent).unwrap();
    let next = RunFolder::register(&parent).unwrap();
    assert!(failed.join("some/data").is_dir());
    assert!(passed.iter().all(|run| !run.exists()));
    assert!(living.path.is_dir() && next.path.is_dir(), "a test at work has made nothing yet");
}

/// A run whose process lives, and a folder that is not ours, are never pruned, however old.
#[test]
fn pruning_spares_the_living_and_the_foreign() {
    let parent = scratch("spare");
    let alive = dead_run(&parent, "20200101T000000.000Z-1");
    let lock = File::open(alive.join(ALIVE)).unwrap();
    lock.lock().unwrap();
    let foreign = parent.join("00-notes");
    fs::create_dir(&foreign).unwrap();
    let dead = dead_run(&parent, "20200102T000000.000Z-1");
    let runs: Vec<RunFolder> = (0..6).map(|_| RunFolder::register(&parent).unwrap()).collect();
    assert!(alive.is_dir() && foreign.is_dir());
    assert!(!dead.exists());
    assert!(runs.iter().all(|run| run.path.is_dir()));
}

/// What a process killed in the middle of pruning left behind is removed by the next.
#[test]
fn leftover_trash_is_removed() {
    let parent = scratch("trash");
    let trash = dead_run(&parent, ".trash-20200101T000000.000Z-1");
    RunFolder::register(&parent).unwrap();
    assert!(!trash.exists());
}

/// Many processes may begin at once: each gets a run of its own and none disappears.
#[test]
fn runs_opened_at_the_same_time_do_not_collide() {
    let parent = scratch("parallel");
    let open = || RunFolder::register(&parent).unwrap();
    let runs: Vec<RunFolder> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: std::collections::BTreeSet<_> = runs.iter().map(|run| &run.path).collect();
    assert_eq!(distinct.len(), 12);
    assert!(runs.iter().all(|run| run.path.join(ALIVE).is_file()));
}

/// A folder the caller named is used directly and is never pruned.
#[test]
fn a_given_root_is_made_and_kept_as_it_is() {
    let root = scratch("given").join("made/here");
    let run = RunFolder::open(&Place::Given(root.clone())).unwrap();
    assert_eq!(run.fresh("x").unwrap(), root.canonicalize().unwrap().join("x"));
    let names: Vec<_> = fs::read_dir(&root).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["x"]);
}
