//! `soong-agent cleanup` (CLI-5, ART-3, STO-12).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use agent_testkit::Reply;
use rustix::process::Signal;

use crate::process::{Ended, Running};
use crate::support::{BIN, World, calls, sh};
use crate::terminal::Terminal;

/// A session with a result that was too long and is in an artifact.
fn with_artifact(world: &World) -> String {
    world.configure("model.context_window = 131072");
    world.server.script([calls(sh("yes long | head -n 40000")), Reply::text("Long.")]);
    world.run_answered("Be long.", "1\n").exits(0).session()
}

/// Files that belong to sessions, but for their locks.
fn files(world: &World) -> Vec<PathBuf> {
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let sessions = below(world.home.home.join("sessions"));
    sessions.flat_map(|session| below(session.join("artifacts"))).flat_map(below).collect()
}

/// The command that stderr says would do it, done.
fn as_told(world: &World, ended: &Ended) -> Ended {
    let told = ended.stderr.rsplit_once(": soong-agent ").expect("a command is named").1.trim();
    let mut shell = world.home.command("sh");
    shell.args(["-c", &format!("exec \"$0\" {told}"), BIN]);
    Running::start(shell).ends()
}

/// ART-3, ART-4: nothing goes unasked; what would go is shown with the command that does it, and that does it.
#[test]
fn artifacts() {
    let world = World::new("cleanup_artifacts");
    let session = with_artifact(&world);
    let other = with_artifact(&world);
    assert_eq!(files(&world).len(), 2);
    world.run(&["cleanup", "artifacts"]).exits(0).answers("").says(&["nothing to remove", "--all"]);
    world
        .run(&["cleanup", "artifacts", "--all", "--older-than", "1h"])
        .exits(0)
        .answers("")
        .says(&["nothing to remove"]);
    let shown = world.run(&["cleanup", "artifacts", "--all", "--session", &session]).exits(0);
    let shown = shown.says(&["1 file, 200.0 kB; nothing was removed"]);
    let columns: Vec<_> = shown.stdout.trim_end().split('\t').collect();
    assert_eq!(columns[..1], ["200000"], "{shown:?}");
    assert!(columns[2] == session && columns[3].starts_with("art_") && fs::exists(columns[4]).unwrap(), "{shown:?}");
    assert_eq!(files(&world).len(), 2, "nothing goes in a dry run");
    let removed = as_told(&world, &shown).exits(0).says(&["removed 1 file, 200.0 kB"]);
    assert_eq!(removed.stdout, shown.stdout);
    assert_eq!(columns[5], "--all");
    assert!(!fs::exists(columns[4]).unwrap() && files(&world).len() == 1);
    world.goes_on(&session);

    let shown = world.run(&["cleanup", "artifacts", "--all", "--older-than", "0s", "--max-bytes", "100 kB"]).exits(0);
    assert!(shown.stdout.contains(&other), "{shown:?}");
    as_told(&world, &shown).exits(0);
    assert_eq!(files(&world), Vec::<PathBuf>::new());
    world.run(&["cleanup", "artifacts", "--all", "--yes"]).exits(0).answers("").says(&["removed 0 files"]);
}

/// CLI-5: on a terminal a list says of which session a file is and what it is called, and why it may go.
#[test]
fn artifacts_on_a_terminal() {
    let world = World::new("cleanup_terminal");
    let session = with_artifact(&world);
    let name = files(&world)[0].file_name().unwrap().to_str().unwrap().to_owned();
    for (columns, age, arguments, why) in [
        (80, false, &["--all"][..], "--all"),
        (100, true, &["--all"], "--all"),
        (100, true, &["--all", "--older-than", "0s"], "older than 0s"),
        (100, true, &["--all", "--max-bytes", "1kB"], "over 1kB"),
    ] {
        let command = world.on_terminal([&["cleanup", "artifacts"], arguments].concat());
        let (code, screen) = Terminal::start_of(columns, command).ends();
        let row = screen.lines().next().unwrap();
        assert!(code == 0 && row.trim_start().starts_with("200.0 kB  sess_"), "{screen}");
        let words: Vec<_> = row.split_whitespace().collect();
        assert!(words[2].len() < 25 && session.starts_with(words[2]) && row.contains(&format!("  {why}  ")), "{row}");
        assert!(row.ends_with(&format!("/{name}")) && row.chars().count() < usize::from(columns), "{row}");
        assert!(!age || row.contains(" ago") || row.contains("just now"), "{row}");
    }
}

/// PRV-14, ART-3: with SOONG_AGENT_DEBUG each exchange with the server is a file, and cleanup takes it without `--all`.
#[test]
fn raw_exchanges() {
    let world = World::new("cleanup_raw");
    world.server.script([Reply::text("Quiet."), Reply::text("Told.")]);
    world.run(&["run", "Be quiet."]).exits(0);
    let mut command = world.agent(["run", "Tell."]);
    command.env("SOONG_AGENT_DEBUG", "1");
    let ended = Running::start(command).ends().exits(0);
    let list = format!("soong-agent cleanup artifacts --session {}", ended.session());
    ended.says(&["SOONG_AGENT_DEBUG", &list]);
    let kept = files(&world);
    assert_eq!(kept.len(), 1);
    let listed = world.run(&list.split(' ').skip(1).collect::<Vec<_>>()).exits(0).stdout;
    assert!(listed.contains(kept[0].to_str().unwrap()) && listed.ends_with("\tmade for debugging\n"), "{listed}");
    for off in ["", "0", "False", "no", "OFF"] {
        world.server.push(Reply::text("Quiet."));
        let mut command = world.agent(["run", "Be quiet."]);
        command.env("SOONG_AGENT_DEBUG", off);
        Running::start(command).ends().exits(0).never_says(&["SOONG_AGENT_DEBUG"]);
        assert_eq!(files(&world).len(), 1, "{off}");
    }
    let kept = fs::read_to_string(&kept[0]).unwrap();
    assert!(kept.contains("Tell.") && kept.contains("Told."), "{kept}");
    world.run(&["cleanup", "artifacts", "--yes"]).exits(0).says(&["removed 1 file"]);
}

/// ART-3: sessions at work are left alone and named; with --yes that is a failure, and everything else is done.
#[test]
fn sessions_at_work_are_left_alone() {
    let world = World::new("cleanup_at_work");
    let busy = with_artifact(&world);
    let idle = with_artifact(&world);
    world.server.push(Reply::hang());
    let running = Running::start(world.agent(["run", "--session-id", &busy, "Think."]));
    world.is_answering(4);
    let pid = format!("process {} ", running.pid().as_raw_nonzero());
    let shown = world.run(&["cleanup", "artifacts", "--all"]).exits(0).says(&["left alone", &busy, &pid]);
    assert!(shown.stdout.contains(&idle) && !shown.stdout.contains(&busy), "{shown:?}");
    let done = world.run(&["cleanup", "artifacts", "--all", "--yes"]).exits(1).one_error();
    assert_eq!(done.clone().says(&["not removed", &busy, &pid, "removed 1 file"]).stdout, shown.stdout);
    let refused = |arguments: &[&str]| {
        world.run(arguments).exits(1).one_error().answers("").says(&[&busy, "in use by", &pid, "wait until"]);
    };
    refused(&["cleanup", "session", &busy]);
    refused(&["cleanup", "session", &busy, "--yes"]);
    running.signal(Signal::KILL);
    running.ends();
    world.run(&["cleanup", "session", &busy, "--yes"]).exits(0);
}

/// ART-3: what cannot be removed is told, and is a failure.
#[test]
fn files_that_cannot_be_removed() {
    let world = World::new("cleanup_refused");
    let session = with_artifact(&world);
    let folder = files(&world)[0].parent().unwrap().to_owned();
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let ended = Running::start(world.powerless(["cleanup", "artifacts", "--all", "--yes"])).ends();
    mode(0o700);
    let ended =
        ended.exits(1).one_error().answers("").says(&["not removed", folder.file_name().unwrap().to_str().unwrap()]);
    assert!(ended.stderr.contains("removed 0 files") && files(&world).len() == 1, "{ended:?}");
    // Its row is gone; what is left is a file that nothing names.
    let shown = world.run(&["cleanup", "artifacts"]).exits(0);
    assert!(shown.stdout.contains(&session) && shown.stdout.contains("\t-\t"), "{shown:?}");
    as_told(&world, &shown).exits(0);
    assert_eq!(files(&world), Vec::<PathBuf>::new());
}

/// STO-12: a session goes with everything that is its own, once that is asked for; others stay.
#[test]
fn a_session() {
    let world = World::new("cleanup_session");
    let session = with_artifact(&world);
    let kept = world.session("hi", "Hello.");
    let shown = world.run(&["cleanup", "session", &session]).exits(0).says(&["nothing was removed"]);
    let shown = shown.says(&["session \"Be long.\", of ~/project, last used "]);
    assert!(shown.stdout.contains("1 run, 4 messages,") && shown.stdout.contains("1 file, 200.0 kB"), "{shown:?}");
    world.run(&["replay", &session]).exits(0);
    let done = as_told(&world, &shown).exits(0);
    let done = done.says(&["session \"Be long.\", of ~/project, last used "]);
    assert_eq!(done.stdout, shown.stdout, "what went is what was shown");
    for arguments in
        [&["replay", &session][..], &["cleanup", "session", &session], &["run", "--session-id", &session, "hi"]]
    {
        world.run(arguments).exits(2).answers("").one_error().says(&[&session, "soong-agent sessions"]);
    }
    assert_eq!(world.sessions(), [&*kept]);
    let list = world.run(&["sessions"]).exits(0).stdout;
    assert!(list.contains(&kept) && list.lines().count() == 1, "{list}");
    world.goes_on(&kept);
}

/// CLI-4, CLI-5: spans and sizes that are none are wrong usage, and it is said how they are written.
#[test]
fn wrong_words() {
    let world = World::new("cleanup_words");
    for (arguments, words) in [
        (&["cleanup"][..], "artifacts"),
        (&["cleanup", "tasks", "--older-than", "30"], "30d, 12h"),
        (&["cleanup", "tasks", "--max-bytes", "1GB"], "--max-bytes"),
        (&["cleanup", "session"], "SESSION"),
        (&["cleanup", "session", "Last"], "sess_"),
        (&["cleanup", "artifacts", "--older-than", "30"], "30d, 12h"),
        (&["cleanup", "artifacts", "--older-than", "-1d"], "unexpected argument"),
        (&["cleanup", "artifacts", "--max-bytes", "1.5GB"], "500MB, 1GiB"),
        (&["cleanup", "artifacts", "--session", "x"], "--session"),
    ] {
        world.run(arguments).exits(2).answers("").says(&[words]);
    }
    assert_eq!(world.left_in_home(), Vec::<String>::new());
}

/// ART-3, WAL-6: Tasks stay when their session is removed; before and after it is said where they are, which have not ended, and what ends
/// and removes them. That works without the session.
#[test]
fn the_tasks_of_a_session_stay() {
    let world = World::new("cleanup_session_tasks");
    world.server.script([Reply::text("Done.")]);
    let session = world.run(&["run", "Do it."]).exits(0).session();
    let mut tasks = world.tasks(&session);
    tasks.create("over", "Over", &["a"]).does("over", agent_tasks::Command::Cancel { reason: None });
    tasks.create("open", "Open", &["a"]);
    let logs = [tasks.log("over"), tasks.log("open")];
    drop(tasks);
    let words = [
        "its Tasks stay: 2 logs in ",
        "soong-agent cleanup tasks --failed --cancelled --path ",
        "Task open has not ended. To end it: ",
    ];
    world.run(&["cleanup", "session", &session]).exits(0).says(&words);
    let removed = world.run(&["cleanup", "session", &session, "--yes"]).exits(0).says(&words).says(&["removed"]);
    assert!(logs.iter().all(|log| log.exists()));
    let ended = as_told(&world, &removed).exits(0).says(&["cancelled Task open of session", &session]);
    assert!(!ended.stderr.contains("Task over"), "{ended:?}");
    world.run(&["cleanup", "tasks", "--cancelled", "--yes"]).exits(0).says(&["removed 2 logs and 1 empty folder"]);
    world.server.script([Reply::text("Done.")]);
    let without = world.run(&["run", "Do it."]).exits(0).session();
    let shown = world.run(&["cleanup", "session", &without, "--yes"]).exits(0);
    assert!(!shown.stderr.contains("Tasks"), "{shown:?}");
}
