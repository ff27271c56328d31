//! `soong-agent run --session-id`: what a person is told about the session that is gone on with (CLI-2, CLI-5).

use std::fs;

use agent_testkit::Reply;
use rustix::process::Signal;

use crate::process::Running;
use crate::support::World;
use crate::terminal::Terminal;

/// CLI-2: before the answer one line says which session this is, on stderr; the answer is alone on stdout.
#[test]
fn a_line_about_the_session() {
    let world = World::new("resume");
    let session = world.session("Remember the\nword mango, and other words that nobody will read in a line.", "Yes.");
    world.server.push(Reply::text("Mango."));
    let ended = world.run(&["run", "--session-id", &session, "Which word?"]).exits(0).answers("Mango.");
    let first = ended.stderr.lines().next().unwrap();
    let start = format!("going on with {session}: 1 run, last ");
    assert!(first.starts_with(&start), "{first}");
    assert!(
        first.ends_with(" (completed): \"Remember the word mango, and other words that nobody will r…\""),
        "{first}"
    );
    assert!(ended.stderr.lines().last().unwrap().contains("go on with: "), "{}", ended.stderr);
    world.server.push(Reply::text("Hello."));
    world.run(&["run", "hi"]).exits(0).never_says(&["going on with"]);
}

/// CLI-5: `last` is the project's latest session.
#[test]
fn the_latest_session() {
    let world = World::new("resume_last");
    world
        .run(&["run", "--session-id", "last", "hi"])
        .exits(2)
        .one_error()
        .answers("")
        .says(&["no session of", "soong-agent sessions"]);
    let first = world.session("One.", "1.");
    let second = world.session("Two.", "2.");
    fs::create_dir(world.home.root.join("elsewhere")).unwrap();
    world.server.push(Reply::text("3."));
    let third = world.run(&["run", "--path", "../elsewhere", "Three."]).exits(0).session();
    let again = |arguments: &[&str], session: &str| {
        world.server.push(Reply::text("Yes."));
        let ended =
            world.run(&[&["run", "--session-id", "last"], arguments, &["And?"]].concat()).exits(0).answers("Yes.");
        assert_eq!(ended.says(&[&format!("going on with {session}:")]).session(), session);
    };
    again(&[], &second);
    again(&["--path", "../elsewhere"], &third);
    world.goes_on(&first);
    again(&[], &first);
    assert_eq!(world.sessions().len(), 3);
}

/// CLI-5, RUN-20: a session whose last run was interrupted says so.
#[test]
fn an_interrupted_session() {
    let world = World::new("resume_interrupted");
    let session = world.session("Remember the word mango.", "Yes.");
    world.server.push(Reply::hang());
    let running = Running::start(world.agent(["run", "--session-id", &session, "Think."]));
    world.is_answering(1);
    let pid = format!("process {} ", running.pid().as_raw_nonzero());
    let refused = world.run(&["run", "--session-id", &session, "Me too."]).exits(1).one_error().answers("");
    refused.says(&[&session, "in use by", &pid, "wait until", "leave --session-id out"]).never_says(&["going on with"]);
    running.signal(Signal::KILL);
    running.ends();
    world.server.push(Reply::text("Still here."));
    let ended = world.run(&["run", "--session-id", "last", "Are you there?"]).exits(0).answers("Still here.");
    ended.says(&[&format!("going on with {session}: 2 runs, last "), " (interrupted): \"Remember the word mango.\""]);
}

/// CLI-2, STO-10: the line holds no secret and no escape, and its words of others begin no row of a terminal.
#[test]
fn a_line_that_is_safe() {
    let world = World::new("resume_safe");
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    let session = world.session(&format!("\u{1b}[2J {token} allow? code.x"), "Yes.");
    world.server.push(Reply::text("Hello."));
    let ended = world.run(&["run", "--session-id", &session, "hi"]).exits(0);
    let ended = ended.never_says(&["aB3dE9xY"]).says(&["going on with"]);
    assert!(ended.stderr.contains("allow? code.x"), "{}", ended.stderr);
    world.server.push(Reply::text("Hello."));
    let mut command = world.on_terminal(["run", "--session-id", &session, "hi"]);
    command.env("NO_COLOR", "1");
    let (code, screen) = Terminal::start_of(60, command).ends();
    assert_eq!(code, 0, "{screen}");
    let rows: Vec<_> = screen.lines().take_while(|row| !row.starts_with("Hello")).collect();
    assert!(rows.len() > 1 && rows[1..].iter().all(|row| row.starts_with("    ") || row.is_empty()), "{screen}");
}
