//! `soong-agent sessions` (CLI-5).

use std::fs;

use agent_testkit::Reply;
use rustix::process::Signal;
use unicode_width::UnicodeWidthStr;

use crate::process::{Ended, Running};
use crate::support::{World, calls, write};
use crate::terminal::Terminal;

/// Columns of each line.
fn columns(ended: &Ended) -> Vec<Vec<&str>> {
    ended.stdout.lines().map(|line| line.split('\t').collect()).collect()
}

fn ids(ended: &Ended) -> Vec<&str> {
    columns(ended).iter().map(|columns| columns[0]).collect()
}

/// CLI-5: one line each, the latest first, in columns that scripts can cut; only a project's own where asked for.
#[test]
fn the_latest_first() {
    let world = World::new("sessions_list");
    let first = world.session("Count the\n\tbrews.", "7.");
    let second = world.session("hi", "Hello.");
    let elsewhere = world.home.root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    world.server.push(Reply::text("Hello."));
    let third = world.run(&["run", "--path", "../elsewhere", "hi \u{1b}[2J there"]).exits(0).session();
    world.goes_on(&first);

    let ended = world.run(&["sessions"]).exits(0);
    assert_eq!((ids(&ended), &*ended.stderr), (vec![&*first, &*third, &*second], ""));
    let lines = columns(&ended);
    let project = world.home.project.canonicalize().unwrap();
    assert_eq!(lines[0][2..], ["2", "completed", &*project.to_string_lossy(), "Count the brews."]);
    assert_eq!(lines[1][4..], [elsewhere.canonicalize().unwrap().to_str().unwrap(), "hi \\x1b[2J there"]);
    assert!(lines.iter().all(|line| line[1].len() == "2026-11-30T09:41:43.120Z".len()), "{lines:?}");

    fs::write(elsewhere.join("file.txt"), "x").unwrap();
    for path in ["../elsewhere", "../elsewhere/file.txt", "../elsewhere/"] {
        assert_eq!(ids(&world.run(&["sessions", "--path", path]).exits(0)), [&*third], "{path}");
    }
    fs::remove_dir_all(&elsewhere).unwrap();
    assert_eq!(ids(&world.run(&["sessions", "--path", "../elsewhere"]).exits(0)), [&*third], "a project that is gone");
    world.run(&["sessions", "--path", ".."]).exits(0).answers("").says(&["no sessions of .."]);
}

/// CLI-5: what is left out is said, and how to see it.
#[test]
fn more_than_the_limit() {
    let world = World::new("sessions_limit");
    let sessions: Vec<_> = (0..3).map(|at| world.session(&format!("message {at}"), "Hello.")).collect();
    let ended = world.run(&["sessions", "--limit", "2"]).exits(0).says(&["the latest 2", "--limit 10", "--all"]);
    assert_eq!(ids(&ended), [&*sessions[2], &*sessions[1]]);
    for all in [&["sessions", "--all"][..], &["sessions", "--limit", "3"], &["sessions"]] {
        let ended = world.run(all).exits(0);
        assert_eq!((ids(&ended).len(), &*ended.stderr), (3, ""), "{all:?}");
    }
    for wrong in
        [&["sessions", "--limit", "0"][..], &["sessions", "--limit", "2", "--all"], &["sessions", "--limit", "few"]]
    {
        world.run(wrong).exits(2).answers("");
    }
}

/// CLI-5: nothing there is no failure, says what to do, and creates nothing.
#[test]
fn nothing_yet() {
    let world = World::new("sessions_none");
    for arguments in [&["sessions"][..], &["sessions", "--search", "word"], &["sessions", "--path", "."]] {
        world.run(arguments).exits(0).answers("").says(&["soong-agent run"]);
    }
    world.run(&["cleanup", "artifacts"]).exits(0).answers("").says(&["nothing"]);
    for arguments in [
        &["replay", "last"][..],
        &["replay", "sess_1"],
        &["cleanup", "session", "sess_1"],
        &["cleanup", "artifacts", "--session", "sess_1"],
    ] {
        world.run(arguments).exits(2).answers("").one_error().says(&["no session", "soong-agent run"]);
    }
    assert_eq!(world.left_in_home(), Vec::<String>::new());
    fs::write(world.home.home.join("sessions.sqlite"), "").unwrap();
    world.run(&["sessions"]).exits(0).answers("").says(&["no sessions yet"]);
}

/// DB-04, STO-5: a damaged database is one error that names it and what to do, never an empty list, and is left as it is.
#[test]
fn a_damaged_database() {
    let world = World::new("sessions_damaged");
    let session = world.session("hi", "Hello.");
    let file = world.home.home.join("sessions.sqlite");
    let whole = fs::read(&file).unwrap();
    assert!(whole.len() > 3 * 4096);
    let noise = (0..whole.len()).map(|at| (at * 7919 % 251) as u8 ^ 0x5A);
    let damaged: Vec<u8> = whole[..4096].iter().copied().chain(noise.skip(4096)).collect();
    for bytes in [&damaged[..], b"a text file, and no database"] {
        fs::write(&file, bytes).unwrap();
        let all = [
            &["sessions"][..],
            &["sessions", "--search", "hi"],
            &["replay", &session],
            &["replay", "last"],
            &["cleanup", "artifacts"],
            &["cleanup", "session", &session],
            &["run", "--session-id", &session, "hi"],
            &["run", "--session-id", "last", "hi"],
        ];
        for arguments in all {
            world.run(arguments).exits(1).answers("").one_error().says(&["sessions.sqlite"]);
        }
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

/// CLI-5: a list says which sessions are at work, and by whom, and which runs did not end as they should.
#[test]
fn standings() {
    let world = World::new("sessions_standings");
    world.server.push(Reply::error(400, "no"));
    let failed = world.run(&["run", "fail"]).exits(1).session();
    world.server.push(Reply::hang());
    let cancelled = Running::start(world.agent(["run", "cancel"]));
    world.is_answering(1);
    cancelled.signal(Signal::INT);
    let cancelled = cancelled.ends().exits(130).session();
    world.server.push(Reply::hang());
    let running = Running::start(world.agent(["run", "work"]));
    world.is_answering(2);

    let states = |ended: &Ended| columns(ended).iter().map(|line| line[3].to_owned()).collect::<Vec<_>>();
    let ended = world.run(&["sessions"]).exits(0);
    let by = format!("running by pid {}", running.pid().as_raw_nonzero());
    assert_eq!(states(&ended), [&*by, "cancelled", "failed"]);
    assert_eq!(ids(&ended)[1..], [&*cancelled, &*failed]);
    running.signal(Signal::KILL);
    running.ends();
    assert_eq!(states(&world.run(&["sessions"]).exits(0)), ["interrupted", "cancelled", "failed"]);
    let session = ids(&ended)[0].to_owned();
    world.goes_on(&session);
    assert_eq!(states(&world.run(&["sessions"]).exits(0)), ["completed", "cancelled", "failed"]);
}

/// CLI-5: a session that waits for an answer says so, with the question; its timeline does, too.
#[test]
fn a_session_that_asks() {
    let world = World::new("sessions_asks");
    world.server.script([calls(write("count.txt", "2\n")), Reply::text("Counted.")]);
    let mut running = Running::asked(world.agent(["run", "Count the brews."]));
    running.says("allow?");
    let session = world.sessions().remove(0);
    let state = || columns(&world.run(&["sessions"]).exits(0))[0][3].to_owned();
    let question = "code.write_file count.txt";
    assert_eq!(state(), format!("asks by pid {}: {question}", running.pid().as_raw_nonzero()));
    let (_, screen) = Terminal::start_of(120, world.on_terminal(["sessions"])).ends();
    assert!(screen.contains("asks") && screen.contains(&format!("{question}? Count the brews.")), "{screen}");
    let shown = world.run(&["replay", &session]).exits(0).stdout;
    let (header, rows) = shown.split_once("\n\n").unwrap();
    assert!(header.ends_with(&format!("; waits for an answer: {question}")), "{shown}");
    assert!(rows.ends_with(&format!("       now    waits for an answer: {question}\n")), "{shown}");
    running.types(b"1\n");
    running.ends().exits(0).answers("Counted.");
    assert_eq!(state(), "completed");
    assert!(!world.run(&["replay", &session]).exits(0).stdout.contains("waits"));
}

/// CLI-5: what was cut says so, and a path is what it is, in columns for scripts as well.
#[test]
fn nothing_is_cut_in_silence() {
    let world = World::new("sessions_cut");
    let odd = world.home.root.join("odd\tand\nodder  path");
    fs::create_dir(&odd).unwrap();
    world.server.push(Reply::text("Long."));
    let message = "word ".repeat(99);
    world.run(&["run", "--path", odd.to_str().unwrap(), &message]).exits(0);
    world.session(&"exactly. ".repeat(50)[..400], "Not cut.");
    let ended = world.run(&["sessions"]).exits(0);
    let lines = columns(&ended);
    assert_eq!(lines[0][5], "exactly. ".repeat(50)[..400].trim_end());
    assert!(lines[1][4].ends_with("/odd\\tand\\nodder  path"), "{lines:?}");
    let words = lines[1][5].strip_suffix('…').expect("a mark");
    assert!(words.len() > 380 && message.starts_with(words), "{words}");
}

/// CLI-4: a project that neither exists nor ever had a session is a wrong argument; so is a search for no word.
#[test]
fn nothing_to_look_for() {
    let world = World::new("sessions_misspelt");
    for stored in [false, true] {
        if stored {
            world.session("hi", "Hello.");
        }
        for arguments in
            [&["sessions", "--path", "nonesuch/x"][..], &["sessions", "--path", "nonesuch", "--search", "hi"]]
        {
            world.run(arguments).exits(2).answers("").one_error().says(&["nonesuch", "does not exist", "--path"]);
        }
        for words in [&[""][..], &[" "], &["", "\t"]] {
            let refused = world.run(&[&["sessions", "--search"], words].concat()).exits(2).answers("").one_error();
            refused.says(&["--search", "no word"]);
        }
    }
    assert_eq!(columns(&world.run(&["sessions", "--path", ".", "--search", "", "hi"]).exits(0)).len(), 1);
}

/// CLI-5: every word must occur; the line shows where.
#[test]
fn searching() {
    let world = World::new("sessions_search");
    let mangoes = world.session("Remember the word mango.", "I shall remember the fruit.");
    let papayas = world.session("Remember the word papaya.", "I shall remember the other fruit.");
    let found = |words: &[&str]| {
        let ended = world.run(&[&["sessions", "--search"], words].concat()).exits(0);
        ended.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["fruit"]), [&*papayas, &*mangoes]);
    assert_eq!(found(&["fruit", "mango"]), [&*mangoes]);
    assert_eq!(found(&["pap*"]), [&*papayas]);
    let ended = world.run(&["sessions", "--search", "mango"]).exits(0);
    assert_eq!(columns(&ended)[0][5], "you: Remember the word mango.");
    world.run(&["sessions", "--search", "banana"]).exits(0).answers("").says(&["no session has"]);
    world.run(&["sessions", "--search", "…"]).exits(2).answers("").one_error().says(&["search"]);
}

/// STO-10: what looks like a secret is in no list and no excerpt.
#[test]
fn secrets_are_not_listed() {
    let world = World::new("sessions_secrets");
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    world.server.push(Reply::text(format!("So the deploy token is {token} today.")));
    world.run(&["run", &format!("My token {token} is here.")]).exits(0);
    for arguments in [&["sessions"][..], &["sessions", "--search", "deploy"], &["sessions", "--search", "token"]] {
        let ended = world.run(arguments).exits(0);
        assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
        assert!(!ended.stdout.contains("aB3dE9xY"), "{}", ended.stdout);
    }
    let excerpt = world.run(&["sessions", "--search", "deploy"]).exits(0).stdout;
    assert!(excerpt.contains("model: So the deploy token is") && excerpt.contains(" today."), "{excerpt}");
}

/// CLI-5: on a terminal no line is wider than it, whatever was said, and of what was said something is there.
#[test]
fn as_wide_as_the_terminal() {
    let world = World::new("sessions_width");
    let long = "👩‍👩‍👧 中文 e\u{301}\u{301} ".repeat(40);
    let sessions =
        [world.session(&long, "Hello."), world.session("hi", "Hello."), world.session(&"word ".repeat(99), "Hello.")];
    let project = world.home.project.file_name().unwrap().to_str().unwrap().to_owned();
    for columns in [45, 60, 80, 132, 250] {
        for (mark, arguments) in [("", &["sessions"][..]), ("model: ", &["sessions", "--search", "hello"])] {
            let (code, screen) = Terminal::start_of(columns, world.on_terminal(arguments)).ends();
            assert_eq!(code, 0, "{screen}");
            let rows: Vec<_> = screen.lines().collect();
            assert_eq!(rows.len(), 3, "{screen}");
            for (row, session) in rows.iter().zip(sessions.iter().rev()) {
                let id = row.split_whitespace().next().unwrap();
                assert!(id.len() >= 17 && id.len() < 25 && session.starts_with(id), "{screen}");
                let words = row.strip_prefix(id).unwrap();
                assert!(["…", "hi", "Hello."].iter().any(|end| words.ends_with(end)), "{screen}");
                assert!(columns < 60 || mark.is_empty() || row.contains("model: Hello."), "{screen}");
                assert!(row.width() < usize::from(columns), "{columns}: {row}");
            }
            let whole = columns >= 132;
            assert!(
                !whole || (screen.contains(&project) && screen.contains("1 run ") && screen.contains(mark)),
                "{screen}"
            );
        }
    }
}

/// CLI-11: no escapes where none are wanted; colours only on a terminal.
#[test]
fn colours() {
    let world = World::new("sessions_colours");
    world.server.push(Reply::error(400, "no"));
    world.run(&["run", "fail"]).exits(1);
    let (_, screen) = Terminal::start_of(132, world.on_terminal(["sessions"])).ends();
    assert!(screen.contains("\u{1b}[31mfailed\u{1b}[0m"), "{screen:?}");
    let mut plain = world.on_terminal(["sessions"]);
    plain.env("NO_COLOR", "1");
    let (_, screen) = Terminal::start_of(132, plain).ends();
    assert!(screen.contains("failed") && !screen.contains('\u{1b}'), "{screen:?}");
}

/// CLI-4: a list that cannot be written is a failure; one that nobody reads any more is none.
#[test]
fn stdout_that_is_full() {
    let world = World::new("sessions_full");
    world.session("hi", "Hello.");
    for arguments in [&["sessions"][..], &["replay", "last"]] {
        let mut full = world.agent(arguments);
        full.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
        Running::with_stdout(full).ends().exits(1).one_error().says(&["stdout"]);
    }
}
