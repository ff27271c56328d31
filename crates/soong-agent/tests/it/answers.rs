//! What stands on stdout, what on stderr, and how it looks (CLI-2).

use std::fs::File;
use std::process::Stdio;

use agent_testkit::{Call, Reply, Stop};
use serde_json::json;

use crate::process::Running;
use crate::support::{BIN, World, calls, read, sh, write};
use crate::terminal::Terminal;

/// CLI-2, FND-73: a file holds exactly the answer and a line end; what the model says between tool calls, tool lines, usage and the session are
/// on stderr.
#[test]
fn a_file_holds_just_the_answer() {
    for world in World::each("just_the_answer") {
        world.home.write("project/a.txt", "x\n");
        let answer = "Zwölf Tees.\n\n```sh\nls\t-l\n```\r\nEnd without a line end: 👩‍👩‍👧";
        world.server.script([
            Reply::text("Let me look at it.").chunks(4).calls([read("a.txt")]),
            Reply::text("And at what is not there.").calls([read("b.txt")]),
            Reply::text(answer).chunks(9),
        ]);
        let path = world.home.root.join("answer.md");
        let mut command = world.agent(["run", "How many?"]);
        command.stdout(File::create(&path).unwrap());
        let ended = Running::with_stdout(command).ends().exits(0);
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            format!("{answer}\n"),
            "FND-73: a text file ends with a line end"
        );
        let session = ended.clone().session();
        ended.never_says(&["Zwölf"]).says(&[
            "Let me look at it.",
            "ok     code.read_file a.txt",
            "And at what is not there.",
            "failed code.read_file: b.txt does not exist",
            "3 turns",
            &session,
        ]);
    }
}

/// CLI-2, DEC-26: where stdout and stderr are one file or pipe, what is said after an answer begins a line, and the answer
/// is as long as ever.
#[test]
fn an_answer_in_a_log() {
    let world = World::new("answer_in_a_log");
    for (answer, wanted) in
        [("Seven.", "Seven.\n1 turn, "), ("Seven.\n", "Seven.\n1 turn, "), ("7\n\n", "7\n\n1 turn, ")]
    {
        for log in ["", ">log 2>&1; cat log; exit", ">log 2>>log; cat log; exit"] {
            world.server.push(Reply::text(answer));
            let mut shell = world.home.command("sh");
            shell.args(["-c", &format!("\"$0\" run hi 2>&1 {log}"), BIN]);
            let said = Running::start(shell).ends().exits(0).stdout;
            assert!(said.starts_with(wanted), "{answer:?} {log}: {said:?}");
        }
    }
}

/// FND-53: where the answer was given beside the last call and nothing follows, not even when asked, it still reaches stdout.
#[test]
fn an_answer_beside_the_last_call() {
    for world in World::each("beside_the_last_call") {
        world.home.write("project/a.txt", "x\n");
        world.server.script([Reply::text("It holds an x.").calls([read("a.txt")]), Reply::empty(), Reply::empty()]);
        world.run(&["run", "What is in a.txt?"]).exits(0).answers("It holds an x.");
    }
}

/// FND-41: a call in the words of the answer is on stderr and not run; it is asked for once more, then the run has failed and says
/// why.
#[test]
fn a_call_that_is_written_as_text() {
    for world in World::each("written_call") {
        let written = "<tool_call>{\"name\": \"code__write_file\", \"arguments\": {\"path\": \"a.txt\", \"content\": \"x\"}}</tool_call>";
        world.server.script([Reply::text(written), Reply::text(written)]);
        let ended = world.run(&["run", "Write it."]).exits(1).answers("");
        ended.says(&["code.write_file", "wrote its call", "nothing was run"]);
        assert_eq!(world.file("a.txt"), None);
        world.server.script([Reply::text(written), Reply::text("I cannot write here.")]);
        world.run(&["run", "Write it."]).exits(0).answers("I cannot write here.");
    }
}

/// FND-72: a reply that opens its thoughts and never closes them is no answer; the error names the option that helps, and with it the
/// text is the answer.
#[test]
fn thoughts_without_an_end() {
    let world = World::new("thoughts_without_an_end");
    world.server.script([Reply::text("<think>It is seven."), Reply::text("<think>It is seven.")]);
    world.run(&["run", "How many?"]).exits(1).answers("").says(&["<think>", "inline_thinking = false"]);
    world.configure("model.provider_options.openai = { inline_thinking = false }");
    world.server.push(Reply::text("<think>It is seven."));
    world.run(&["run", "How many?"]).exits(0).answers("<think>It is seven.");
}

/// RUN-7: an answer that came in parts, because of the output limit, is their concatenation, without separators.
#[test]
fn an_answer_in_parts() {
    for world in World::each("answer_in_parts") {
        world.server.script([
            Reply::text("One and a ha").stop(Stop::Length),
            Reply::text("lf and two").stop(Stop::Length),
            Reply::text(" is all."),
        ]);
        world.run(&["run", "Count."]).exits(0).answers("One and a half and two is all.");
    }
}

const TRICKS: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}]52;c;aGk=\u{7}\u{9b}31mALL OK\rsee";

/// CLI-01, CLI-02: what models and files say controls no terminal, in answers, tool lines, errors and prompts; long names
/// are cut between characters. What is stored is what was said.
#[test]
fn tricks_are_shown_harmless() {
    for world in World::each("tricks") {
        world.configure("model.context_window = 131072");
        world.home.write("project/a.txt", TRICKS);
        let family = "👩‍👩‍👧".repeat(1000);
        let replies = [
            Reply::text(TRICKS).calls([read("a.txt"), read(TRICKS), read(&family)]),
            calls(Call::new(TRICKS, json!({}))),
            calls(Call::new("x\nok     code.write_file evil.txt", json!({}))),
            calls(Call::new("code.write_file", json!({"path": format!("{TRICKS}.txt"), "content": TRICKS}))),
            calls(write("x\nallow? code.read_file\n  target  nothing.txt", "x")),
            Reply::text(TRICKS),
        ];
        world.server.script(replies.clone());
        let ended = world.run_answered("Look.", "3\n3\n").exits(0);
        assert!(ended.stderr.lines().all(|line| line.chars().count() < 1000), "one line a call: {}", ended.stderr);
        for (beginning, count) in [("allow?", 2), ("ok     code.write_file", 0)] {
            let lines = ended.stderr.lines().filter(|line| line.starts_with(beginning)).count();
            assert_eq!(lines, count, "{}", ended.stderr);
        }
        for text in [&ended.stdout, &ended.stderr] {
            assert!(text.contains("ALL OK"), "{text}");
            let odd: Vec<char> = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\t')).collect();
            assert_eq!(odd, Vec::<char>::new(), "{text:?}");
        }
        assert!(world.results(1).contains("\\u001b[2J"), "the model has what the file holds");

        world.server.script(replies);
        let mut terminal = Terminal::start(world.on_terminal(["run", "Look."]));
        terminal.shows("1, 2 or 3? ").types("3\n").shows("1, 2 or 3? ").types("3\n");
        let (code, screen) = terminal.ends();
        assert_eq!(code, 0, "{screen}");
        assert_eq!(screen.matches("\x1b[33mallow?").count(), 2, "{screen}");
        for trick in ["\x1b[2J", "\x1b]", "\x07", "\u{9b}", "OK\rs"] {
            assert!(!screen.contains(trick), "{screen:?}");
        }
    }
}

/// CLI-11: no escapes with `NO_COLOR`, on a dumb terminal, or without one, whatever `CLICOLOR_FORCE` says; colours on a
/// terminal, also when `NO_COLOR` is empty.
#[test]
fn colours() {
    let world = World::new("colours");
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        world.server.script([calls(read("no.txt")), Reply::text("Done.")]);
        let mut command = world.on_terminal(arguments);
        let (_, screen) = Terminal::start({
            command.envs(variables.iter().copied());
            command
        })
        .ends();
        screen
    };
    let message = &["run", "hi"];
    for (variables, coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "")], true),
        (&[("NO_COLOR", "1")], false),
        (&[("TERM", "dumb")], false),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
    ] {
        let screen = run(variables, message);
        assert_eq!(screen.contains('\x1b'), coloured, "{variables:?}: {screen:?}");
        assert!(screen.contains("Done.") && screen.contains("failed"), "{screen}");
    }
    world.server.script([calls(read("no.txt")), Reply::text("Done.")]);
    for arguments in [&["run", "hi"][..], &["--help"], &["walk"], &["config", "check"]] {
        let mut piped = world.agent(arguments);
        piped.env("CLICOLOR_FORCE", "1").env("TERM", "xterm-256color");
        let ended = Running::start(piped).ends();
        assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('\x1b'), "{ended:?}");
        let mut plain = world.on_terminal(arguments);
        plain.env("NO_COLOR", "1");
        if arguments[0] != "run" {
            let (_, screen) = Terminal::start(plain).ends();
            assert!(!screen.contains('\x1b'), "{screen:?}");
        }
    }
}

/// CLI-2: on a terminal the text of every turn streams, and no answer runs into the next line.
#[test]
fn a_terminal_shows_all_text() {
    for world in World::each("terminal_shows_all") {
        let (reply, gate) = Reply::text("First this. Then that.").chunks(2).calls([read("no.txt")]).gated();
        world.server.script([reply, Reply::text("Done.")]);
        let mut command = world.on_terminal(["run", "hi"]);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::start(command);
        gate.release(2);
        terminal.shows("First");
        gate.release_all();
        let (code, screen) = terminal.ends();
        assert_eq!(code, 0);
        assert!(
            screen.contains("First this. Then that.\r\nfailed code.read_file: no.txt does not exist"),
            "{screen:?}"
        );
        assert!(screen.contains("\r\nDone.\r\n2 turns"), "{screen:?}");
    }
}

/// CLI-4: when nobody reads stdout any more, or nobody stderr, the run goes on quietly and its record is whole.
#[test]
fn nobody_reads() {
    for world in World::each("nobody_reads") {
        world.server.script([calls(read("no.txt")), Reply::text("Nobody hears this.")]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.agent(["run", "hi"]);
        command.stdout(writer);
        let ended = Running::with_stdout(command).ends().exits(0).never_says(&["error", "ipe"]);
        let session = ended.session();
        assert_eq!(world.event_types(&session).last(), Some(&"loop_completed"));
        world.goes_on(&session);

        world.server.push(Reply::text("Hello."));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut deaf = world.agent(["run", "hi"]);
        let output = deaf.stdout(Stdio::piped()).stderr(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(0), b"Hello.\n".to_vec()));

        for arguments in [&["config", "template"][..], &["config", "check"], &["--help"], &["run", "--help"]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut command = world.agent(arguments);
            command.stdout(writer);
            assert_eq!(Running::with_stdout(command).ends().exits(0).stderr, "");
        }
    }
}

/// CLI-2: on a terminal a line says what is happening and for how long; it fits the terminal, and nothing of it is left where
/// the answer stands.
#[test]
fn a_terminal_shows_what_is_happening() {
    let world = World::new("what_is_happening");
    let (reply, gate) = Reply::text("Done.").gated();
    let script = format!("sleep 0.9; : {}", "long ".repeat(40));
    world.server.script([calls(sh(&script)), reply]);
    let mut terminal = Terminal::start(world.on_terminal(["run", "Work."]));
    terminal.resize(60, 20);
    terminal.shows("1, 2 or 3? ").types("1\n").shows("code.run_command sh -c").shows("waiting for scripted 1 s");
    gate.release_all();
    let (code, screen) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    let lines: Vec<_> = screen.split("\r\x1b[2K").skip(1).map(|rest| rest.split('\r').next().unwrap()).collect();
    let status = |line: &&&str| ["- ", "\\ ", "| ", "/ "].iter().any(|frame| line.starts_with(frame));
    let widest = lines.iter().filter(status).map(|line| line.chars().count()).max();
    assert_eq!(widest, Some(59), "{lines:?}");
    assert!(screen.contains("\r\x1b[2KDone.\r\n"), "{screen:?}");
}

/// An answer that cannot be written is not there: exit 1, and where it can be found is said.
#[test]
fn a_full_disk_for_the_answer() {
    let world = World::new("full_disk_for_answer");
    world.server.push(Reply::text("Much to say."));
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let mut command = world.agent(["run", "hi"]);
    command.stdout(full());
    let ended = Running::with_stdout(command).ends().exits(1).one_error().says(&["No space left"]);
    world.goes_on(&ended.session());
    for arguments in [&["config", "template"][..], &["config", "check"], &["config", "path"]] {
        let mut command = world.agent(arguments);
        command.stdout(full());
        Running::with_stdout(command).ends().exits(1).one_error().says(&["No space left"]);
    }
}
