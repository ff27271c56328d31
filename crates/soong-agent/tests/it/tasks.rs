//! `soong-agent tasks` (CLI-5).

use std::fs;
use std::os::unix::fs::symlink;

use agent_tasks::{Command, StepStatus};
use agent_testkit::Reply;
use rustix::process::Signal;

use crate::process::Running;
use crate::support::World;
use crate::task_logs::Tasks;
use crate::terminal::Terminal;

const ONE: &str = "sess_01a22d4ad787000000000000000000aa";
const OTHER: &str = "sess_01a22d4ad788000000000000000000bb";

/// A session at work on a Task, and an older one whose Task has ended.
fn world(name: &str) -> (World, Tasks) {
    let world = World::new(name);
    let mut other = world.tasks(OTHER);
    other.create("old", "An old one", &["a"]).sets("old", "a", StepStatus::Completed, "").completes("old");
    other.written_at("old", 1_000);
    let mut tasks = world.tasks(ONE);
    tasks.create(
        "release",
        "Release 1.4",
        &[
            "design: Agree on the format",
            "parse<design: Write the parser",
            "print<design: Write the printer",
            "tests<parse,print: Test both",
            "ship<tests: Tag and publish",
        ],
    );
    tasks.sets("release", "design", StepStatus::Completed, "One line a record.\nNo header.");
    tasks.claims("release", "parse", "agent_worker");
    (world, tasks)
}

/// CLI-5: a line for each Task, the latest session first, in columns that scripts can cut.
#[test]
fn the_tasks_of_a_project() {
    let (world, mut tasks) = world("tasks_list");
    let ended = world.run(&["tasks"]).exits(0);
    let lines: Vec<Vec<_>> = ended.stdout.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((lines.len(), &*ended.stderr), (2, ""), "{ended:?}");
    let counts = "pending=2 ready=1 claimed=1 running=0 blocked=0 completed=1 failed=0 cancelled=0";
    assert_eq!(lines[0][0], ONE);
    assert_eq!(lines[0][2..], ["release", "running", counts, "-", "Release 1.4"]);
    assert_eq!([lines[1][0], lines[1][2], lines[1][3]], [OTHER, "old", "completed"]);
    let limited = world.run(&["tasks", "--limit", "1"]).exits(0).says(&["the latest 1", "--all"]);
    assert_eq!(limited.stdout.lines().count(), 1);
    tasks.sets("release", "print", StepStatus::Failed, "").sets("release", "parse", StepStatus::Failed, "");
    assert!(world.run(&["tasks"]).exits(0).stdout.contains("\tstalled\tRelease 1.4\n"));
    // From a folder inside of the project, and from one that has nothing to do with it.
    let inside = world.home.project.join("src/deep");
    fs::create_dir_all(&inside).unwrap();
    let mut command = world.agent(["tasks"]);
    command.current_dir(&inside);
    let ended = Running::start(command).ends().exits(0).says(&["it lies in the project"]);
    assert_eq!(ended.stdout.lines().count(), 2);
    fs::create_dir(world.home.root.join("bare")).unwrap();
    world.run(&["tasks", "--path", "../bare"]).exits(0).answers("").says(&["no Tasks of this project"]);
}

/// CLI-5: every step with its state, below what it depends on, with its holder, its result and what it waits for; nothing is changed by
/// looking, and a line that is being written is not there yet. --verbose shows texts whole.
#[test]
fn the_steps_of_a_task() {
    let (world, tasks) = world("tasks_steps");
    let log = tasks.log("release");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [&whole[..], b"{\"wal_seq\":7,\"event"].concat()).unwrap();
    let before = fs::read(&log).unwrap();
    let steps = [
        "completed  design    Agree on the format\n                     result: One line a record. No header.\n",
        "claimed    |- parse  Write the parser (held by agent_worker, lease ",
        "ready      `- print  Write the printer\n",
        "pending       tests  Test both (waits for parse, print)\n",
        "pending       ship   Tag and publish (waits for tests)\n",
    ];
    for session in ["last", ONE, &ONE[..20]] {
        let ended = world.run(&["tasks", session]).exits(0);
        assert!(
            ended.stdout.starts_with(
                "running  release  Release 1.4\n  5 steps: 1 completed, 1 claimed, 1 ready, 2 pending; made "
            ),
            "{ended:?}"
        );
        assert!(steps.iter().all(|step| ended.stdout.contains(step)), "{}", ended.stdout);
        assert!(!ended.stdout.contains('\u{1b}') && !ended.stdout.contains("What release"), "{ended:?}");
    }
    assert_eq!(fs::read(&log).unwrap(), before);
    let verbose = world.run(&["tasks", "last", "--task", "release", "--verbose"]).exits(0).stdout;
    assert!(
        verbose.contains("  What release is about\n") && verbose.contains("result: One line a record.\n"),
        "{verbose}"
    );
    let other = world.run(&["tasks", OTHER]).exits(0).stdout;
    assert!(
        other.starts_with("completed  old  An old one\n") && other.contains("result: All of it is done."),
        "{other}"
    );
    for (arguments, words) in [
        (&["tasks", "sess_0"][..], "sess_0"),
        (&["tasks", "sess_01a22d4ad78"], "several sessions begin with"),
        (&["tasks", "sess_ffffffffffffffff"], "sess_ffffffffffffffff"),
        (&["tasks", "rubbish"], "SESSION: "),
        (&["tasks", "last", "--task", "none"], "it has: release"),
        (&["tasks", "--task", "release"], "SESSION"),
        (&["tasks", "--path", "../nowhere"], "nowhere"),
    ] {
        world.run(arguments).exits(2).answers("").says(&[words]);
    }
}

/// WAL-4, CLI-5: a log that makes no Task is told with line and reason, harms no other, and the exit code says so.
#[test]
fn a_damaged_log() {
    let (world, mut tasks) = world("tasks_damaged");
    tasks.create("broken", "Broken", &["a"]).damages("broken");
    let words = "broken.wal.jsonl: line 2: wal_seq is 9, and 2 was expected";
    let ended = world.run(&["tasks"]).exits(1).says(&["one log cannot be read"]);
    assert!(
        ended.stdout.contains("\tunavailable\t")
            && ended.stdout.contains(words)
            && ended.stdout.contains("\trelease\t")
    );
    let ended = world.run(&["tasks", "last"]).exits(1);
    assert!(ended.stdout.contains(words) && ended.stdout.contains("Write the parser"), "{ended:?}");
    world.run(&["tasks", "last", "--task", "release"]).exits(0);
    world.run(&["tasks", "last", "--task", "broken"]).exits(2).says(&["it has: release; 1 log cannot be read"]);
}

/// STO-10, CLI-01: keys that are known and what looks like a secret are masked, escapes are shown and not done.
#[test]
fn secrets_and_escapes() {
    let (world, mut tasks) = world("tasks_secrets");
    world.configure("model.api_key_env = \"THE_KEY\"\n");
    let title = "Use value-of-the-key with ghp_0123456789abcdefghijABCDEFGHIJ012345";
    tasks.create("leaky", title, &[&format!("a: {title}")]);
    tasks.sets("leaky", "a", StepStatus::Failed, "\u{1b}[2J\nvalue-of-the-key");
    for arguments in [&["tasks"][..], &["tasks", "last"], &["tasks", "last", "--task", "leaky", "--svg", "-"]] {
        let mut command = world.agent(arguments);
        command.env("THE_KEY", "value-of-the-key");
        let text = Running::start(command).ends().exits(0).stdout;
        assert!(
            text.contains("[secret THE_KEY]") && !text.contains("value-of") && !text.contains("ghp_0123"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}') && text.contains("\\x1b[2J") == (arguments == ["tasks", "last"]), "{text}");
    }
}

/// WAL-4: logs stand alone: without the session database they are found all the same, and a session that is in it but in another
/// project is found where its project is.
#[test]
fn with_and_without_a_database() {
    let world = World::new("tasks_database");
    world.server.push(Reply::text("Hello."));
    let elsewhere = world.home.root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let session = world.run(&["run", "--path", "../elsewhere", "hi"]).exits(0).session();
    world.run(&["tasks", &session]).exits(0).answers("").says(&["has no Tasks"]);
    Tasks::open(&elsewhere.join(".soong-agent/tasks"), &session).create("there", "There", &["a"]);
    let short = &session[..session.len() - 4];
    let ended = world.run(&["tasks", short]).exits(0);
    assert!(ended.stdout.starts_with("running  there  There\n"), "{ended:?}");
    for file in ["sessions.sqlite", "sessions.sqlite-wal", "sessions.sqlite-shm"] {
        let _ = fs::remove_file(world.home.home.join(file));
    }
    let ended = world.run(&["tasks", "--path", "../elsewhere", short]).exits(0);
    assert!(ended.stdout.starts_with("running  there  There\n"), "{ended:?}");
    world.run(&["tasks", short]).exits(2).answers("").says(&["no session database"]);
    assert!(!fs::exists(world.home.home.join("sessions.sqlite")).unwrap(), "looking makes none");
}

/// Where projects share a folder of logs, each is shown its own.
#[test]
fn a_shared_folder() {
    let world = World::new("tasks_shared");
    let shared = world.home.root.join("logs");
    world.configure(&format!("task.wal_dir = {:?}\n", shared.to_str().unwrap()));
    world.server.script([Reply::text("Hello."), Reply::text("Hello.")]);
    let elsewhere = world.home.root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let here = world.run(&["run", "hi"]).exits(0).session();
    let there = world.run(&["run", "--path", "../elsewhere", "hi"]).exits(0).session();
    for (session, task) in [(&*here, "here"), (&*there, "there"), (ONE, "unknown")] {
        Tasks::open(&shared, session).create(task, task, &["a"]);
    }
    let ids = |arguments: &[&str]| {
        let listed = world.run(arguments).exits(0).stdout;
        let mut ids: Vec<_> = listed.lines().map(|line| line.split('\t').nth(2).unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&["tasks"]), ["here", "unknown"]);
    assert_eq!(ids(&["tasks", "--path", "../elsewhere"]), ["there", "unknown"]);
}

/// CLI-2, CLI-11: on a terminal states are coloured and rows fit; with NO_COLOR nothing is.
#[test]
fn on_a_terminal() {
    let (world, _tasks) = world("tasks_terminal");
    for arguments in [&["tasks"][..], &["tasks", "last"]] {
        for columns in [60, 100] {
            let (code, screen) = Terminal::start_of(columns, world.on_terminal(arguments)).ends();
            assert!(code == 0 && screen.contains("\u{1b}[32m"), "{screen}");
            let mut command = world.on_terminal(arguments);
            command.env("NO_COLOR", "1");
            let (_, plain) = Terminal::start_of(columns, command).ends();
            assert!(!plain.contains('\u{1b}') && plain.contains("Release 1.4"), "{plain}");
            assert!(plain.lines().all(|row| row.trim_end().chars().count() < usize::from(columns)), "{plain}");
        }
    }
}

/// CLI-5: without a terminal --watch prints a line for each change and ends with the last Task.
#[test]
fn changes_as_they_come() {
    let (world, mut tasks) = world("tasks_watch");
    let running = Running::start(world.agent(["tasks", ONE, "--watch"]));
    let mut read = running.prints("\trelease\t-\trunning, 5 steps: ", 0);
    tasks.sets("release", "parse", StepStatus::Completed, "Parsed.");
    read = running.prints("\trelease\tparse\tclaimed -> completed; result: Parsed.\n", read);
    tasks.claims("release", "print", "agent_b");
    read = running.prints("\trelease\tprint\tready -> claimed by agent_b\n", read);
    tasks.create("more", "More", &["x"]);
    read = running.prints("\tmore\t-\trunning, 1 step: 1 ready: More\n", read);
    tasks.does("more", Command::Cancel { reason: None });
    read = running.prints("\tmore\t-\trunning -> cancelled\n", read);
    tasks.does("release", Command::Fail { reason: Some("enough".to_owned()) });
    running.prints("\trelease\t-\trunning -> failed\n", read);
    running.ends().exits(0);
}

/// CLI-5: --watch of a session without Tasks waits for one.
#[test]
fn a_task_that_is_to_come() {
    let world = World::new("tasks_to_come");
    world.server.push(Reply::text("Hello."));
    let session = world.run(&["run", "hi"]).exits(0).session();
    let running = Running::start(world.agent(["tasks", &session, "--watch"]));
    running.says("has no Tasks yet; waiting for one");
    let mut tasks = Tasks::open(&world.home.project.join(".soong-agent/tasks"), &session);
    tasks.create("late", "Late", &["a"]);
    tasks.does("late", Command::Cancel { reason: None });
    let ended = running.ends().exits(0);
    assert!(ended.stdout.contains("late"), "{ended:?}");
    let short = world.run(&["tasks", "last"]).exits(0);
    assert!(short.stderr.contains(&format!("session {session}")), "{}", short.stderr);
    let whole = world.run(&["tasks", &session]).exits(0);
    assert!(!whole.stderr.contains("session "), "{}", whole.stderr);
}

/// CLI-4, CLI-09: on a terminal --watch draws on a screen of its own and gives the terminal back as it was; Ctrl-C ends it.
#[test]
fn a_live_screen() {
    let (world, mut tasks) = world("tasks_live");
    let mut terminal = Terminal::start_of(80, world.on_terminal(["tasks", "last", "--watch"]));
    terminal.shows("\u{1b}[?1049h").shows("Write the parser");
    tasks.sets("release", "parse", StepStatus::Completed, "Parsed at last.");
    terminal.shows("Parsed at last.").types("\u{3}");
    let (code, screen) = terminal.ends();
    assert_eq!(code, 130, "{screen}");
    let (_, after) = screen.rsplit_once("\u{1b}[?1049l").expect("the screen is given back");
    assert!(after.contains("Parsed at last."), "what was seen last stays: {after}");
    let running = Running::start(world.agent(["tasks", ONE, "--watch"]));
    running.prints("release", 0);
    running.signal(Signal::TERM);
    running.ends().exits(143);
}

/// CLI-5: a picture is written to a new file or over such a picture, and over nothing else.
#[test]
fn a_picture() {
    let (world, mut tasks) = world("tasks_picture");
    let picture = world.run(&["tasks", "last", "--svg", "-"]).exits(0);
    let text = &picture.stdout;
    assert!(text.starts_with("<?xml") && text.ends_with("</svg>\n"), "{text}");
    // Whose it is, is said beside it.
    assert!(picture.stderr.contains("session sess_"), "{}", picture.stderr);
    for word in ["release: Release 1.4", ">claimed</text>", "held by agent_worker", "depends on design", "waits"] {
        assert_eq!(text.contains(word), word != "waits", "{word}: {text}");
    }
    world.run(&["tasks", "last", "--svg", "dag.svg"]).exits(0).answers("").says(&["wrote dag.svg"]);
    assert_eq!(world.file("dag.svg").unwrap(), *text);
    tasks.sets("release", "parse", StepStatus::Completed, "");
    world.run(&["tasks", "last", "--svg", "dag.svg"]).exits(0).says(&["replaced dag.svg"]);
    assert!(!world.file("dag.svg").unwrap().contains(">claimed</text>"));
    world.home.write("project/mine.svg", "<svg>mine</svg>");
    symlink("mine.svg", world.home.project.join("link.svg")).unwrap();
    for name in ["mine.svg", "link.svg", "nowhere/dag.svg", "."] {
        world.run(&["tasks", "last", "--svg", name]).exits(1).answers("").says(&["--svg: ", "is not written"]);
    }
    assert_eq!(world.file("mine.svg").unwrap(), "<svg>mine</svg>");
    let left: Vec<_> = fs::read_dir(&world.home.project).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().ends_with(".tmp")), "{left:?}");
    tasks.create("second", "Second", &["a"]);
    let several = ["several Tasks; choose one with --task: "];
    world.run(&["tasks", "last", "--svg", "x.svg"]).exits(2).says(&several);
    world.run(&["tasks", "last", "--task", "second", "--svg", "x.svg"]).exits(0);
}

/// The picture in docs/tasks.md is what the command draws. To draw it anew: `UPDATE_DOCS=1 cargo test -p soong-agent the_picture_of`.
#[test]
fn the_picture_of_the_docs() {
    let world = World::new("tasks_docs");
    let mut tasks = world.tasks(ONE);
    tasks.create(
        "release",
        "Release 1.4 of the record reader",
        &[
            "format: Agree on the format of a record",
            "parser<format: Write the parser, with a limit on the length of a line",
            "printer<format: Write the printer",
            "fuzz<parser: Fuzz the parser for an hour",
            "round-trip<parser,printer,format: Test that what is printed is parsed to the same record",
            "docs<format: Describe the format for users",
            "ship<fuzz,round-trip,docs: Tag and publish",
        ],
    );
    tasks.sets("release", "format", StepStatus::Completed, "One line a record.");
    tasks.claims("release", "parser", "agent_01").sets("release", "parser", StepStatus::Completed, "Done.");
    tasks.claims("release", "printer", "agent_02").sets("release", "printer", StepStatus::Running, "");
    tasks.claims("release", "fuzz", "agent_01").sets("release", "docs", StepStatus::Blocked, "");
    let drawn = world.run(&["tasks", ONE, "--svg", "-"]).exits(0).stdout;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tasks.svg");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file, &drawn).unwrap();
    }
    assert!(fs::read_to_string(file).unwrap() == drawn, "docs/tasks.svg is stale");
}

/// CLI-5, TSK-7: a Task that has not ended is ended by a person, named by its id alone or with its session; while a process has it open it
/// stays as it is, and so does one that has ended. What can be done next is said, and does it.
#[test]
fn a_task_is_cancelled() {
    let (world, tasks) = world("tasks_cancel");
    let log = tasks.log("release");
    let before = fs::read(&log).unwrap();
    let held = world.run(&["tasks", "cancel", "release"]);
    held.exits(1).says(&[
        "Task release is not cancelled: ",
        "is in use by process ",
        "end the run that works on it first",
    ]);
    assert_eq!(fs::read(&log).unwrap(), before);
    drop(tasks);
    world.run(&["tasks", "cancel", "old"]).exits(1).says(&["Task old of session", "is completed; it has ended"]);
    world
        .run(&["tasks", "cancel", "nothing"])
        .exits(2)
        .says(&["there is no Task nothing", "`soong-agent tasks` lists them"]);
    world.tasks(OTHER).create("release", "Another", &["a", "b<a"]);
    world.run(&["tasks", "cancel", "release"]).exits(2).says(&["--session", ONE, OTHER]);
    let cancelled = world.run(&["tasks", "cancel", "release", "--session", ONE, "--reason", "done by hand"]).exits(0);
    cancelled.says(&[
        "cancelled Task release of session",
        ONE,
        "with 4 steps",
        "soong-agent cleanup tasks --cancelled",
    ]);
    let shown = world.run(&["tasks", ONE, "--task", "release"]).exits(0);
    assert!(shown.stdout.starts_with("cancelled  release"), "{shown:?}");
    assert!(shown.stdout.contains("reason: done by hand"), "{shown:?}");
    assert!(shown.stdout.contains("reason: the Task was cancelled before it was done"), "{shown:?}");
    assert!(!shown.stdout.contains("task_cancelled"), "{shown:?}");
    world.run(&["tasks", "cancel", "release"]).exits(0).says(&[OTHER, "with 2 steps"]);
    world.run(&["cleanup", "tasks", "--cancelled", "--yes"]).exits(0);
    assert!(!log.exists());
}
