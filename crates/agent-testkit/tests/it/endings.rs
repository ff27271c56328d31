//! What is left and told of a test that is over, or should be: tests in processes of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use agent_testkit::{going_on, not_tried, scratch};

const ROLE: &str = "AGENT_TESTKIT_TEST_ROLE";

/// Not a test of its own: the entry of the processes that the other tests start.
#[test]
fn entry() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (one, other) = (scratch("one"), scratch("other"));
    fs::write(one.join("data"), "data").unwrap();
    fs::create_dir(other.join("closed")).unwrap();
    match role.as_str() {
        "pass" => {}
        "fail" => panic!("as it should"),
        "hang" => std::thread::sleep(Duration::from_secs(600)),
        "go on" => (0..8).for_each(|_| {
            std::thread::sleep(Duration::from_millis(100));
            going_on();
        }),
        "not tried" => not_tried("the moon"),
        other => panic!("there is no role {other}"),
    }
}

/// A home for the process, and what became of it.
struct Played {
    output: Output,
    runs: PathBuf,
}

fn play(role: &str, more: &[(&str, &str)]) -> Played {
    let home = scratch("endings");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "endings::entry"]).env(ROLE, role).env("HOME", &home);
    for inherited in
        ["SOONG_AGENT_TEST_ROOT", "SOONG_AGENT_TEST_KEEP", "SOONG_AGENT_TEST_NOT_TRIED", "SOONG_AGENT_TEST_LIMIT"]
    {
        command.env_remove(inherited);
    }
    let output = command.envs(more.iter().copied()).output().unwrap();
    Played { output, runs: home.join(".soong-agent/test-runs") }
}

impl Played {
    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The folders of tests that are there, sorted.
    fn left(&self) -> Vec<String> {
        let folders = |path: &Path| fs::read_dir(path).unwrap().flatten().filter(|entry| entry.path().is_dir());
        let mut left: Vec<_> = folders(&self.runs).flat_map(|run| folders(&run.path()).collect::<Vec<_>>()).collect();
        left.sort_by_key(fs::DirEntry::file_name);
        left.iter().map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

/// FND-67, TST-2: what a passed test made is removed where that is asked for, and stays otherwise.
#[test]
fn what_a_passed_test_made() {
    let played = play("pass", &[("SOONG_AGENT_TEST_KEEP", "failed")]);
    assert!(played.output.status.success() && played.stderr().is_empty(), "{}", played.stderr());
    assert_eq!(played.left(), [""; 0]);
    for keep in [&[][..], &[("SOONG_AGENT_TEST_KEEP", "all")]] {
        assert_eq!(play("pass", keep).left(), ["one", "other"]);
    }
}

/// FND-67: what a failed test made is kept and named.
#[test]
fn what_a_failed_test_made() {
    let played = play("fail", &[("SOONG_AGENT_TEST_KEEP", "failed")]);
    assert!(!played.output.status.success());
    assert_eq!(played.left(), ["one", "other"]);
    let told = played.stderr();
    for name in ["one", "other"] {
        let line = told.lines().find(|line| line.ends_with(&format!("/{name}"))).unwrap_or_else(|| panic!("{told}"));
        let path = line.strip_prefix("endings::entry failed; what it made is in ").unwrap();
        assert!(Path::new(path).is_dir(), "{path}");
    }
}

/// FND-60, TST-9: a test that hangs is named and ended; one that says that it goes on is not.
#[test]
fn a_test_that_hangs() {
    let played = play("hang", &[("SOONG_AGENT_TEST_LIMIT", "0.3")]);
    assert!(!played.output.status.success());
    assert!(
        played.stderr().contains("endings::entry: not over after 0.3 s (SOONG_AGENT_TEST_LIMIT)"),
        "{}",
        played.stderr()
    );
    let played = play("go on", &[("SOONG_AGENT_TEST_LIMIT", "0.5")]);
    assert!(played.output.status.success(), "{}", played.stderr());
    let played = play("pass", &[("SOONG_AGENT_TEST_LIMIT", "soon")]);
    assert!(String::from_utf8_lossy(&played.output.stdout).contains("is a number of seconds"), "{:?}", played.output);
}

/// TST-10: what could not be tried is told though the test passes, and counted by who asks for it.
#[test]
fn what_was_not_tried_is_told() {
    let list = scratch("not-tried").join("list");
    let played = play("not tried", &[("SOONG_AGENT_TEST_NOT_TRIED", list.to_str().unwrap())]);
    assert!(played.output.status.success());
    assert_eq!(played.stderr(), "not tried by endings::entry: the moon\n");
    assert_eq!(fs::read_to_string(list).unwrap(), "not tried by endings::entry: the moon\n");
}
