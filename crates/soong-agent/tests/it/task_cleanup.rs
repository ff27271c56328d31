//! `soong-agent cleanup tasks` (CLI-5, ART-3).

use std::fs;

use agent_tasks::{Command, StepStatus};

use crate::process::{Ended, Running};
use crate::support::{BIN, World};

const ONE: &str = "sess_01a22d4ad787000000000000000000aa";
const OTHER: &str = "sess_01a22d4ad788000000000000000000bb";

fn world(name: &str) -> World {
    let world = World::new(name);
    let mut tasks = world.tasks(ONE);
    tasks.at(now() - 3_600_000);
    tasks.create("done", "Done", &["a"]).sets("done", "a", StepStatus::Completed, "").completes("done");
    tasks.create("failed", "Failed", &["a"]).does("failed", Command::Fail { reason: None });
    tasks.create("cancelled", "Cancelled", &["a"]).does("cancelled", Command::Cancel { reason: None });
    tasks.create("active", "Active", &["a"]);
    let mut tasks = world.tasks(OTHER);
    tasks.at(now() - 86_400_000 * 40);
    tasks.create("old", "Old", &["a"]).sets("old", "a", StepStatus::Completed, "").completes("old");
    world
}

/// The command that stderr says would do it, done.
fn as_told(world: &World, ended: &Ended) -> Ended {
    let told = ended.stderr.rsplit_once(": soong-agent ").expect("a command is named").1.trim();
    let mut shell = world.home.command("sh");
    shell.args(["-c", &format!("exec \"$0\" {told}"), BIN]);
    Running::start(shell).ends()
}

/// ART-3, CLI-5: nothing goes unasked; what would go is shown with what that frees and the command that does it, what stays with why; the
/// command does just that, and a session's folder goes once it is empty.
#[test]
fn tasks_that_ended() {
    let world = world("cleanup_tasks");
    let one = world.tasks(ONE);
    fs::write(one.log("done").with_file_name("done.wal.jsonl.torn-99"), "torn").unwrap();
    let size = fs::metadata(one.log("done")).unwrap().len() + 4;
    let shown = world.run(&["cleanup", "tasks"]).exits(0).says(&[
        "2 logs and 1 empty folder",
        "nothing was removed",
        "active.wal.jsonl: its task has not ended: it is running",
        "failed.wal.jsonl: its task is failed, and these were not asked for",
        "cancelled.wal.jsonl: its task is cancelled",
    ]);
    let lines: Vec<Vec<_>> = shown.stdout.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 3, "{shown:?}");
    assert_eq!([lines[0][2], lines[0][4]], [OTHER, "its task is completed"], "the oldest comes first");
    assert_eq!(lines[2][4], "nothing else is in it", "its log is there yet");
    assert_eq!([lines[1][0], lines[1][2]], [&*size.to_string(), ONE]);
    assert!(lines[1][3].ends_with("/done.wal.jsonl") && lines[2][3].ends_with(OTHER), "{shown:?}");
    assert!(one.log("done").exists(), "nothing goes in a dry run");

    let old =
        world.run(&["cleanup", "tasks", "--older-than", "3w"]).exits(0).says(&["done.wal.jsonl: its task ended at"]);
    assert!(old.stdout.contains("/old.wal.jsonl"), "{old:?}");
    let removed = as_told(&world, &shown).exits(0).says(&["removed 2 logs and 1 empty folder"]);
    assert_eq!(removed.stdout, shown.stdout);
    let left = |session: &str| fs::read_dir(world.wal_dir().join(session)).map(|entries| entries.count());
    assert_eq!(left(ONE).unwrap(), 3);
    assert!(left(OTHER).is_err());
    let none = world.run(&["cleanup", "tasks", "--yes"]).exits(0).says(&["removed 0 logs"]);
    assert_eq!(none.stdout, "");
    world.run(&["cleanup", "tasks"]).exits(0).says(&["nothing to remove; --failed and --cancelled cover more"]);
    let failed = world.run(&["cleanup", "tasks", "--failed"]);
    as_told(&world, &failed).exits(0).says(&["removed 1 log, "]);
    world.run(&["cleanup", "tasks", "--failed"]).exits(0).says(&["nothing to remove; --cancelled covers more"]);
    as_told(&world, &world.run(&["cleanup", "tasks", "--failed", "--cancelled"])).exits(0).says(&["removed 1 log, "]);
    assert_eq!(left(ONE).unwrap(), 1);
    // What is left has not ended: no option helps.
    let nothing = world.run(&["cleanup", "tasks"]).exits(0).says(&["there is nothing to remove"]);
    assert!(!nothing.stderr.contains("cover"), "{nothing:?}");
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64
}

/// ART-3: a log that cannot be read stays and is told with line and reason; with --yes the exit code says that something is left.
#[test]
fn a_log_that_cannot_be_read() {
    let world = world("cleanup_tasks_damaged");
    let one = world.tasks(ONE);
    one.damages("done");
    let words = ["done.wal.jsonl: it cannot be read: line 2: wal_seq is 9, and 2 was expected"];
    world.run(&["cleanup", "tasks"]).exits(0).says(&words).says(&["left alone"]);
    world
        .run(&["cleanup", "tasks", "--yes"])
        .exits(1)
        .says(&words)
        .says(&["not removed", "removed 1 log and 1 empty folder"]);
    assert!(one.log("done").exists());
}

/// CLI-5: another project is named with --path; a project without Tasks is no fault, one that is not there is.
#[test]
fn of_a_project() {
    let world = world("cleanup_tasks_project");
    fs::create_dir(world.home.root.join("other")).unwrap();
    world.run(&["cleanup", "tasks", "--path", "../other"]).exits(0).answers("").says(&["nothing to remove"]);
    world.run(&["cleanup", "tasks", "--path", "../nowhere"]).exits(2).answers("").says(&["nowhere"]);
    let mut command = world.agent(["cleanup", "tasks", "--path", "../project"]);
    command.current_dir(world.home.root.join("other"));
    let shown = Running::start(command).ends().exits(0).says(&["--path ../project --yes"]);
    assert_eq!(shown.stdout.lines().count(), 3);
}
