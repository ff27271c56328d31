//! `soong-agent replay` (CLI-5).

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::ChildStdout;

use agent_core::config::Location;
use agent_core::id::SessionId;
use agent_testkit::Reply;
use rustix::process::Signal;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::big;
use crate::names::made;
use crate::process::Running;
use crate::support::{BIN, World, calls, command, read, sh, write};
use crate::terminal::Terminal;
use crate::watched::wait_until;

/// The ids of a session's runs, in order.
fn runs(world: &World, session: &str) -> Vec<String> {
    let events = world.events(session);
    let begun = events.iter().filter(|event| event.event_type.as_str() == "loop_started");
    begun.map(|event| event.run_id.as_ref().unwrap().to_string()).collect()
}

/// The rows without their times, which differ from one day to the next.
fn timeless(text: &str) -> String {
    let row = |row: &str| match row.as_bytes().get(..7) {
        Some(time) if time.iter().all(|byte| byte.is_ascii_digit() || b": ".contains(byte)) && time.contains(&b':') => {
            format!(" 0:00  {}", row[7..].split_once(" tokens").map_or(&row[7..], |(start, _)| start))
        }
        _ => row.to_owned(),
    };
    text.lines().map(|line| row(line) + "\n").collect()
}

/// CLI-5: a session is told run by run: what was said, done, asked and answered, and how it ended. Nothing else is said.
#[test]
fn a_session() {
    let world = World::new("replay");
    world.home.write("project/brews.csv", "a\nb\n");
    world.server.script([
        Reply::text("I shall *look*.").calls([read("brews.csv")]),
        calls(write("count.txt", "2\n")),
        calls(command(&["false"])),
        calls(write("more.txt", "3\n")),
        Reply::text("There are **2**."),
    ]);
    let session = world.run_answered("How many brews?\nCount them.", "1\n1\n3\n").exits(0).session();
    world.server.push(Reply::error(400, "no such model"));
    world.run(&["run", "--session-id", "last", "And now?"]).exits(1);
    let ended = world.run(&["replay", &session]).exits(0);
    assert_eq!(ended.stderr, "");
    let runs = runs(&world, &session);
    let shown = timeless(&ended.stdout);
    for rows in [
        &format!("session {session}\nproject ~/project\ntime    20"),
        "runs    2 runs\n\nrun 1  ",
        "> How many brews?\n> Count them.\n| I shall *look*.\n 0:00  ok     code.read_file brews.csv: ",
        " 0:00  asked  code.write_file count.txt: allow once\n",
        " 0:00  ok     code.write_file count.txt: created, 2 bytes\n 0:00  asked  code.run_command ",
        " 0:00  exit   code.run_command false: ",
        "more.txt: deny\n 0:00  denied code.write_file more.txt: ",
        "| There are **2**.\n 0:00  end    completed; 5 turns,",
        "\n\nrun 2  ",
        "> And now?\n 0:00  error  ",
        "no such model",
        " 0:00  end    failed; 1 turn,",
    ] {
        assert!(shown.contains(rows), "{rows:?} is missing in:\n{shown}");
    }
    assert!(runs.iter().all(|run| shown.contains(run.as_str())), "{shown}");

    let second = world.run(&["replay", &session, "--run", &runs[1]]).exits(0).stdout;
    assert!(second.contains("> And now?") && !second.contains("brews"), "{second}");
    assert_eq!(world.run(&["replay", "last"]).exits(0).stdout, ended.stdout);
    assert_eq!(world.run(&["replay", "last", "--path", "brews.csv"]).exits(0).stdout, ended.stdout);
}

/// CLI-4, CLI-5: what is not there is a wrong argument, and the next step is named.
#[test]
fn what_is_not_there() {
    let world = World::new("replay_unknown");
    let session = world.session("hi", "Hello.");
    let other = world.session("hi", "Hello.");
    let (run, foreign) = (&runs(&world, &session)[0], &runs(&world, &other)[0]);
    let request = |turn: &str| format!("{run}:{turn}");
    for (arguments, words) in [
        (&["replay", "sess_0"][..], "soong-agent sessions"),
        (&["replay", "last", "--path", ".."], "soong-agent sessions"),
        (&["replay", "run_0"], "sess_"),
        (&["replay", &session, "--run", "run_0"], "run_0"),
        (&["replay", &session, "--run", foreign], &other),
        (&["replay", &session, "--run", "../x"], "--run"),
        (&["replay", &session, "--run", run, "--turn", "2"], "turn"),
        (&["replay", &session, "--request", &request("0")], "turn"),
        (&["replay", &session, "--request", &request("x")], "run_…:2"),
        (&["replay", &session, "--request", run], "run_…:2"),
        (&["replay", &session, "--turn", "2"], "turn"),
        (&["replay", &session, "--path", "."], "--path"),
        (&["replay"], "SESSION"),
    ] {
        world.run(arguments).exits(2).answers("").says(&[words]);
    }
}

/// CLI-5, RUN-20: a run whose process was killed is told as interrupted, with what it left open, before and after the
/// session is gone on with.
#[test]
fn after_a_kill() {
    let world = World::new("replay_killed");
    let started = world.home.project.join("started");
    world.server.push(Reply::text("I shall work.").calls([sh(":>started; exec sleep 300")]));
    let mut running = Running::asked(world.agent(["run", "Work."]));
    running.types(b"1\n");
    wait_until("the command has started", || started.exists());
    let session = &world.sessions()[0];
    let at_work = world.run(&["replay", session]).exits(0).stdout;
    let owner = format!("in use by process {} ", running.pid().as_raw_nonzero());
    assert!(at_work.contains(&owner) && at_work.ends_with("       now    at work\n"), "{at_work}");
    running.signal(Signal::KILL);
    running.ends();
    let killed = world.run(&["replay", session]).exits(0).stdout;
    for words in [
        "1 run; the last one was interrupted",
        "| I shall work.\n",
        "lost   code.run_command ",
        "end    interrupted",
        &format!("--session-id {session} "),
    ] {
        assert!(killed.contains(words), "{words} is missing in:\n{killed}");
    }
    world.goes_on(session);
    let after = world.run(&["replay", session]).exits(0).stdout;
    let (first, second) = after.split_once("\n\nrun 2").expect("a second run");
    assert!(first.ends_with("end    interrupted: the process ended during the run"), "{after}");
    assert!(second.contains("failed code.run_command: interrupted") && second.contains("| Still here.\n"), "{after}");
    assert!(!after.contains("the last one was interrupted"), "{after}");
}

/// CLI-5: the words that go on with a session do so from where they are shown; where nothing can, that is said.
#[test]
fn from_another_folder() {
    let world = World::new("replay_elsewhere");
    let project = world.home.root.join("else where");
    fs::create_dir(&project).unwrap();
    let project = project.canonicalize().unwrap();
    made(&world, "sess_elsewhere", &project);
    made(&world, "sess_here", &world.home.project.canonicalize().unwrap());
    let here = world.run(&["replay", "sess_here"]).exits(0).stdout;
    assert!(here.ends_with("; go on with: soong-agent run --session-id sess_here \"…\"\n"), "{here}");
    let shown = world.run(&["replay", "sess_elsewhere"]).exits(0).stdout;
    let told = shown.rsplit_once("go on with: soong-agent ").expect("a command is named").1.replace('…', "hi");
    world.server.push(Reply::text("Yes."));
    let mut shell = world.home.command("sh");
    shell.args(["-c", &format!("exec \"$0\" {told}"), BIN]);
    assert_eq!(Running::start(shell).ends().exits(0).answers("Yes.").session(), "sess_elsewhere");

    let refused = world.run(&["run", "--session-id", "sess_elsewhere", "hi"]).exits(2).one_error();
    refused.says(&["belongs to the project", "--path '"]).never_says(&["gone"]);
    made(&world, "sess_elsewhere_too", &project);
    fs::remove_dir(&project).unwrap();
    let shown = world.run(&["replay", "sess_elsewhere_too"]).exits(0).stdout;
    assert!(shown.contains("its project folder ~/else where is gone") && !shown.contains("soong-agent run"), "{shown}");
    world.run(&["run", "--session-id", "sess_elsewhere", "hi"]).exits(2).one_error().says(&["its folder is gone"]);
}

/// ART-2, CLI-5: a result that was stored in a file is named so that it can be read.
#[test]
fn files_of_results() {
    let world = World::new("replay_files");
    world.configure("model.context_window = 131072");
    world.server.script([calls(sh("yes long | head -n 40050")), Reply::text("Long.")]);
    let session = world.run_answered("Be long.", "1\n").exits(0).session();
    let shown = world.run(&["replay", &session]).exits(0).stdout;
    let path = shown.lines().find_map(|row| row.strip_prefix("       file   200.3 kB: ~/")).expect("a file");
    assert!(fs::read_to_string(world.home.root.join(path)).unwrap().starts_with("long\nlong\n"), "{path}");
}

/// STO-7: a branch is seen where it begins, and what it goes on from; what it left behind stays in the timeline.
#[test]
fn another_branch() {
    let world = World::new("replay_branch");
    let session = world.session("Remember the word mango.", "I shall.");
    let answer = world.events(&session).into_iter().find(|event| event.event_type.as_str() == "message_completed");
    let answer = answer.and_then(|event| event.node_id).expect("an answer");
    world.goes_on(&session);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let archive = agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.unwrap();
        archive.switch_node(&SessionId::parse(&session).unwrap(), &answer).await.unwrap();
        archive.close().await;
    });
    world.server.push(Reply::text("Mango."));
    world.run(&["run", "--session-id", &session, "Which word?"]).exits(0).answers("Mango.");
    let shown = world.run(&["replay", &session]).exits(0).stdout;
    let branch = format!("note   another branch begins here: it goes on from {answer}, in run 1\n> Which word?\n");
    assert!(shown.matches("another branch").count() == 1 && shown.contains(&branch), "{shown}");
    assert!(shown.contains("> Are you there?\n"), "{shown}");
}

/// STO-10: what looks like a secret is shown only where that is asked for.
#[test]
fn secrets() {
    let world = World::new("replay_secrets");
    let token = format!("ghp_{}", "aB3dE9xY".repeat(5));
    world.home.write("project/token.txt", format!("token = {token}\n"));
    let missing = format!("{token}.txt");
    world
        .server
        .script([Reply::empty().calls([read("token.txt"), read(&missing)]), Reply::text(format!("It is {token}."))]);
    let session = world.run(&["run", &format!("Is {token} mine?")]).exits(0).session();
    let run = &runs(&world, &session)[0];
    for part in [&["--debug"][..], &["--run", run], &["--run", run, "--turn", "2"]] {
        let arguments = [&["replay", &session], part].concat();
        let hidden = world.run(&arguments).exits(0).stdout;
        assert!(hidden.len() > 100 && !hidden.contains("aB3dE9xY"), "{hidden}");
        let shown = world.run(&[&arguments[..], &["--include-sensitive"]].concat()).exits(0).stdout;
        assert!(shown.matches(&token).count() >= 3, "{shown}");
    }
}

/// STO-11: what the model was sent in a turn, as it was sent.
#[test]
fn a_request_again() {
    let world = World::new("replay_request");
    world.home.write("project/odd.txt", "odd\u{9b}31m\u{202e}\u{7f} text\n");
    world.server.script([calls(read("odd.txt")), Reply::text("Seen.")]);
    let session = world.run(&["run", "Look."]).exits(0).session();
    let run = &runs(&world, &session)[0];
    let request = format!("{run}:2");
    let json = world.run(&["replay", &session, "--request", &request]).exits(0).stdout;
    assert!(json.chars().all(|c| !c.is_control() || c == '\n') && !json.contains('\u{202e}'), "{json}");
    let shown: Value = serde_json::from_str(&json).unwrap();
    let sent = &world.server.requests()[1].body;
    assert_eq!(
        (&shown["model"], shown["tools"].as_array().unwrap().len()),
        (&sent["model"], sent["tools"].as_array().unwrap().len())
    );
    let system = shown["system"][0]["content"].as_str().unwrap();
    assert!(sent["messages"][0]["content"].as_str().unwrap().starts_with(system.trim_end()), "{shown}");
    let roles = |value: &Value| {
        value.as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles(&shown["messages"]), roles(&sent["messages"])[1..]);
    assert!(shown["messages"][2].to_string().contains("odd\u{9b}31m"), "{shown}");
    let one = world.run(&["replay", &session, "--run", run, "--turn", "1"]).exits(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["messages"].as_array().unwrap().len(), 1);
}

/// CLI-5: events for debugging are there where asked for, with their payload, in one row.
#[test]
fn debugging() {
    let world = World::new("replay_debug");
    let session = world.session("hi", "Hello.");
    let plain = world.run(&["replay", &session]).exits(0).stdout;
    let debug = world.run(&["replay", &session, "--debug"]).exits(0).stdout;
    assert!(!plain.contains("context_built"), "{plain}");
    let row = debug.lines().find(|row| row.contains("  debug  context_built {")).expect("a row for it");
    let payload = row.split_once("context_built ").unwrap().1;
    assert_eq!(serde_json::from_str::<Value>(payload).unwrap()["turn"], 1, "{row}");
}

/// CLI-01: what was said and done cannot act on the terminal, nor pass for a row of ours; no row is wider than it.
#[test]
fn on_a_terminal() {
    let world = World::new("replay_terminal");
    let evil = format!("\u{1b}[2J\u{1b}]0;x\u{7}\r\n 0:00  ok     code.x\n{}中文", "word ".repeat(60));
    world.home.write("project/evil.txt", &evil);
    world.server.script([Reply::text(&*evil).calls([read("evil.txt"), read("\u{1b}[2Jx")]), Reply::text(&*evil)]);
    let session = world.run(&["run", &evil]).exits(0).session();
    for columns in [50, 80] {
        let mut command = world.on_terminal(["replay", &session, "--debug"]);
        command.env("NO_COLOR", "1");
        let (code, screen) = Terminal::start_of(columns, command).ends();
        assert_eq!(code, 0, "{screen}");
        for row in screen.split_terminator("\r\n") {
            assert!(!row.chars().any(char::is_control), "{row:?}");
            assert!(row.width() < usize::from(columns), "{columns}: {row}");
            assert!(!row.starts_with(" 0:00  ok     code.x"), "{screen}");
        }
    }
    let (_, colourful) = Terminal::start_of(80, world.on_terminal(["replay", &session])).ends();
    assert!(colourful.contains("\u{1b}[32mok\u{1b}[0m"), "{colourful}");
}

/// CLI-4: a reader that has had enough is no failure.
#[test]
fn a_reader_that_leaves() {
    let world = World::new("replay_pipe");
    let session = big::session(&world);
    let (running, stdout) = Running::read_by_hand(world.agent(["replay", &session]));
    let mut first = String::new();
    BufReader::new(stdout).read_line(&mut first).unwrap();
    assert_eq!(first, format!("session {session}\n"));
    assert_eq!(running.ends().exits(0).stderr, "");
}

/// STO-9, DB-12: a long session is printed while it is read, and is never in memory as a whole.
#[test]
fn a_long_session() {
    let world = World::new("replay_long");
    let session = big::session(&world);
    for arguments in [&["replay", &session][..], &["replay", &session, "--debug"]] {
        let (running, stdout) = Running::read_by_hand(world.agent(arguments));
        let mut reader = BufReader::new(stdout);
        let read_up_to = |reader: &mut BufReader<ChildStdout>, start: &str| {
            let mut line = String::new();
            while !line.starts_with(start) {
                line.clear();
                assert!(reader.read_line(&mut line).unwrap() > 0, "{start} never came");
            }
        };
        // It waits for us to read on, before the end of the session.
        read_up_to(&mut reader, "session ");
        let early = memory(&running);
        read_up_to(&mut reader, "run 199 ");
        let late = memory(&running);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("run 200 ") && rest.trim_end().ends_with("tokens unknown, 0.0 s"), "the end is there");
        running.ends().exits(0);
        // The session says 20 MB.
        assert!(late < 48_000 && late < early + 16_000, "{early} kB, then {late} kB");
    }
    let shown = world.run(&["replay", &session, "--run", "run_7"]).exits(0).stdout;
    assert!(shown.contains("> message 7\n") && !shown.contains("> message 8\n"), "{shown}");
    let list = world.run(&["sessions"]).exits(0).stdout;
    assert!(list.contains("\t200\tcompleted\t"), "{list}");
}

/// The most memory a process has had so far, in kB.
pub(crate) fn memory(running: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is at work");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
