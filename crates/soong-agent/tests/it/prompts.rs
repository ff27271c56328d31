//! Who is asked, what they are shown, and what counts as which answer (CLI-3).

use agent_testkit::{Call, Reply};
use serde_json::json;

use crate::process::Running;
use crate::support::{BIN, World, calls, command, read, sh, write};
use crate::terminal::Terminal;

const QUESTION: &str = "1, 2 or 3? ";

/// A model that writes a file and then says it is done.
fn writes(world: &World, path: &str) {
    world.server.script([calls(write(path, "x\n")), Reply::text("Done.")]);
}

/// PERM-12, CLI-3, CLI-4, FND-62: what counts as which answer. A denial ends with 0, what is no answer with 3, as none does.
#[test]
fn answers_on_a_pipe() {
    let world = World::new("answers_on_a_pipe");
    let rubbish = "a".repeat(1 << 20);
    for (number, (input, allowed, code)) in [
        ("1\n", true, 0),
        ("2\n", true, 0),
        ("allow once\n", true, 0),
        ("ALLOW FOR SESSION\r\n", true, 0),
        (" 1 ", true, 0),
        ("y\n", true, 0),
        ("3\n", false, 0),
        ("n\n", false, 0),
        ("deny\n", false, 0),
        ("3 use another name\n", false, 0),
        ("4\n", false, 3),
        ("yes\n", false, 3),
        ("\n", false, 3),
        ("1\nsrc/main.rs\n", false, 3),
        (rubbish.as_str(), false, 3),
        ("", false, 3),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("{number}.txt");
        writes(&world, &file);
        let ended = world.run_answered("Write.", input).exits(code).answers("Done.").says(&[QUESTION]);
        assert_eq!(world.file(&file).is_some(), allowed, "{ended:?}");
        assert_eq!(ended.stderr.contains("denied code.write_file"), !allowed, "{}", ended.stderr);
        assert_eq!(ended.stderr.contains("nobody answered"), code == 3, "{}", ended.stderr);
        let foreign = code == 3 && !input.is_empty();
        assert_eq!(ended.stderr.matches("</dev/null").count(), usize::from(foreign), "{}", ended.stderr);
        let told = world.results(world.server.request_count() - 1).contains("the user said no: use another name");
        assert_eq!(told, input.starts_with("3 "), "the model is told the reason");
    }
}

/// FND-08: a loop over lines keeps all its lines, whether it reads a file or a pipe, and none of them is an answer, also where a
/// line looks like one.
#[test]
fn a_loop_over_lines() {
    for (name, script) in [
        ("loop_over_file", "while read x; do \"$0\" run \"fix $x\"; done <list"),
        ("loop_over_pipe", "cat list | while read x; do \"$0\" run \"fix $x\"; done"),
    ] {
        let world = World::new(name);
        let lines = ["a.c", "1", "b.c", "y", "c.c"];
        world.home.write("project/list", &(lines.join("\n") + "\n"));
        for _ in lines {
            world.server.script([
                Reply::empty().calls([write("x.txt", "x"), read("list")]),
                calls(write("y.txt", "x")),
                Reply::text("Done."),
            ]);
        }
        let mut shell = world.home.command("sh");
        shell.args(["-c", script, BIN]);
        let ended = Running::start(shell).ends().exits(3).answers(&"Done.\n".repeat(lines.len()));
        assert_eq!((world.file("x.txt"), world.file("y.txt")), (None, None), "{}", ended.stderr);
        let requests = world.server.requests();
        for (line, request) in lines.iter().zip(requests.iter().step_by(3)) {
            assert!(
                request.messages().iter().any(|message| message.to_string().contains(&format!("fix {line}"))),
                "{line}"
            );
        }
        // In each run but the last the reason is said once, and the second question is not even shown.
        assert_eq!(ended.stderr.matches("</dev/null").count(), lines.len() - 1, "{}", ended.stderr);
        assert_eq!(ended.stderr.matches(QUESTION).count(), lines.len() + 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("stdin holds \"b.c\", which is no answer"), "{}", ended.stderr);
    }
}

/// FND-08: what a script gives and nobody reads gets one line; what it gives as answers, and nothing, gets none.
#[test]
fn what_is_left_on_stdin() {
    let world = World::new("left_on_stdin");
    let inputs = [
        ("src/a.c\n", false, 1),
        ("1\n1\n", true, 1),
        ("1\n", true, 0),
        ("1", true, 0),
        ("", false, 0),
        ("x", true, 0),
    ];
    for (number, (input, asks, lines)) in inputs.into_iter().enumerate() {
        world.server.script(asks.then(|| calls(write(&format!("{number}.txt"), "x"))));
        world.server.push(Reply::text("Done."));
        let ended = world.run_answered("Go.", input);
        assert_eq!(ended.stderr.matches("was not read to its end").count(), lines, "{input:?}: {}", ended.stderr);
    }
    world.home.write("project/list", "one\ntwo\n");
    for (stdin, lines) in [("<list", 1), ("</dev/null", 0)] {
        world.server.push(Reply::text("Done."));
        let mut shell = world.home.command("sh");
        shell.args(["-c", &format!("exec \"$0\" run hi {stdin}"), BIN]);
        let ended = Running::start(shell).ends().exits(0);
        assert_eq!(ended.stderr.matches("was not read to its end").count(), lines, "{stdin}: {}", ended.stderr);
    }
}

/// PERM-12: without any stdin, and with one that is closed, nobody hangs and nothing is written.
#[test]
fn no_stdin() {
    let world = World::new("no_stdin");
    for script in ["exec \"$0\" run Write. </dev/null", "exec \"$0\" run Write. <&-"] {
        writes(&world, "a.txt");
        let mut shell = world.home.command("sh");
        shell.args(["-c", script, BIN]);
        Running::start(shell)
            .ends()
            .exits(3)
            .answers("Done.")
            .says(&["denied", "nobody can be asked: it writes a.txt"]);
        assert_eq!(world.file("a.txt"), None);
    }
    // PRM-11: the configuration may say otherwise, of plain writes.
    world.configure("[permissions]\nwrite_without_callback = \"allow\"\n");
    for (path, code) in [("a.txt", 0), (".git/config", 3)] {
        writes(&world, path);
        let mut shell = world.home.command("sh");
        shell.args(["-c", "exec \"$0\" run Write. </dev/null", BIN]);
        Running::start(shell).ends().exits(code);
        assert_eq!(world.file(path).is_some(), code == 0, "{path}");
    }
}

/// PRM-8, RUN-13: a denied write stops the later calls of the turn, which are not even asked about.
#[test]
fn a_denial_stops_the_turn() {
    for world in World::each("denial_stops") {
        world
            .server
            .script([Reply::empty().calls([write("a.txt", "a"), write("b.txt", "b")]), Reply::text("I may not.")]);
        let ended = world.run_answered("Write two.", "3\n1\n").exits(0).answers("I may not.");
        assert_eq!(ended.stderr.matches(QUESTION).count(), 1, "{}", ended.stderr);
        assert_eq!((world.file("a.txt"), world.file("b.txt")), (None, None));
    }
}

/// TOL-5: escapes in what a command prints have no power over the terminal, and stay in the artifact.
#[test]
fn output_of_commands_is_data() {
    let world = World::new("output_is_data");
    world.configure("[tools]\nstdout_limit_bytes = 64\nartifact_threshold_bytes = 64\n");
    let script = "i=0; while [ $i -lt 40 ]; do printf '\\033[31mred\\033[0m\\n'; i=$((i+1)); done; exit 3";
    world.server.script([calls(crate::support::command(&["sh", "-c", script])), Reply::text("Done.")]);
    let ended = world.run_answered("Print.", "1\n").exits(0);
    assert!(ended.stderr.contains("exit   code.run_command") && !ended.stderr.contains('\u{1b}'), "{}", ended.stderr);
    let artifacts = world.home.home.join("sessions").join(ended.session()).join("artifacts");
    let stored = crate::support::bytes_below(&artifacts);
    assert!(stored.windows(8).any(|bytes| bytes == b"\x1b[31mred"), "the artifact has the bytes as they were");
}

/// CLI-3: an answer is one line; the next line is for the next question.
#[test]
fn an_answer_for_every_question() {
    for world in World::each("answer_for_every_question") {
        world.server.script(["a", "b", "c"].map(|path| calls(write(path, "x"))));
        world.server.push(Reply::text("Done."));
        world.run_answered("Write three.", "1\n3\nallow once\n").exits(0);
        let written = ["a", "b", "c"].map(|path| world.file(path).is_some());
        assert_eq!(written, [true, false, true]);
    }
}

/// PRM-4, PERM-14: `2` answers for the same tool in the same folder, in this process only.
#[test]
fn allowed_for_the_session() {
    for world in World::each("allowed_for_the_session") {
        world.server.script([calls(write("a", "x")), calls(write("b", "x")), calls(write("sub/c", "x"))]);
        world.server.push(Reply::text("Done."));
        let ended = world.run_answered("Write.", "2\n").exits(3);
        assert_eq!((world.file("b").is_some(), world.file("sub/c")), (true, None), "{}", ended.stderr);
        writes(&world, "d");
        world.run(&["run", "--session-id", &ended.session(), "Write."]).exits(3);
        assert_eq!(world.file("d"), None);
    }
}

/// CLI-3, PRM-6: a question shows the diff or the words of the command, then the tool, its target, where and why, then the
/// options, one a line; what is not shown whole is said right before them.
#[test]
fn what_a_question_shows() {
    let world = World::new("what_a_question_shows");
    world.home.write("project/a.txt", "old line\n");
    world.configure("model.context_window = 65536\n");
    let big: String = (0..3000).map(|n| format!("line {n}\n")).collect();
    world.server.script([
        calls(read("a.txt")),
        calls(Call::new("code.edit_file", json!({"path": "a.txt", "edits": [{"old": "old line", "new": "new line"}]}))),
        calls(command(&["sh", "-c", "echo 'two words'", "$HOME"])),
        calls(write("big.txt", &big)),
        Reply::text("Done."),
    ]);
    let project = world.home.project.display().to_string();
    let ended = world.run_answered("Change it.", "1\n1\n1\n").exits(0);
    let (edit, rest) = whole_lines(&ended.stderr).split_once(QUESTION).map(two).unwrap();
    let (command, rest) = rest.split_once(QUESTION).map(two).unwrap();
    let (write, _) = rest.split_once(QUESTION).map(two).unwrap();
    check_order(
        &edit,
        &[
            "\n  | -old line\n  | +new line\n",
            "\nallow? code.edit_file\n",
            &format!("\n  target  {project}/a.txt\n"),
            &format!("\n  in      {project}\n"),
            "\n  because it writes a.txt\n",
            "\n  1  allow once\n",
            "\n  2  allow for this session: do not ask again about writes to files directly in ./ by code.edit_file\n",
            "\n  3  deny; what follows the 3 tells the model why\n",
        ],
    );
    check_order(
        &command,
        &[
            "\n  | sh -c $'echo \\'two words\\'' '$HOME'\n",
            "\nallow? code.run_command (dangerous)\n",
            &format!("\n  in      {project}\n"),
            "\n  1  allow once\n",
        ],
    );
    check_order(
        &write,
        &[
            "\n  | +line 0\n",
            "\n  | [… ",
            "\n  | +line 2999\n",
            "\nallow? code.write_file\n",
            &format!("\n  target  {project}/big.txt\n"),
            "\n  !       not shown whole; left out above: ",
            "\n  1  allow once\n",
        ],
    );
}

fn two((before, after): (&str, &str)) -> (String, String) {
    (before.to_owned(), after.to_owned())
}

/// Facts that were wrapped, whole again: rows go on with a colon.
fn whole_lines(stderr: &str) -> String {
    stderr.replace("\n        : ", "").replace("\n   : ", "")
}

#[track_caller]
fn check_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some(at) = rest.find(part) else { panic!("{part:?} is missing or too early in\n{text}") };
        // The line break at its end may be that at the beginning of the next one.
        rest = &rest[at + part.trim_end().len()..];
    }
}

/// CLI-3, PRM-6: on a terminal what others have written never begins a row, however it is padded.
#[test]
fn a_question_on_a_narrow_terminal() {
    const COLUMNS: usize = 40;
    let world = World::new("narrow_terminal");
    let fake = ["  target  src/ok.txt", "  1  allow once", "  | +harmless", "allow? code.read_file"];
    // After the borders of a diff and of ours, each of these would begin a row.
    let content: String =
        fake.iter().map(|fake| format!("{}{fake}\n", "x ".repeat(200).split_at(COLUMNS - 5).0)).collect();
    let (reply, gate) = calls(write(&format!("a{}1  allow once", " ".repeat(60)), &content)).gated();
    world.server.script([reply, Reply::text("Done.")]);
    let mut terminal = Terminal::start(world.on_terminal(["run", "Write."]));
    world.server.wait_for_request_blocking(0);
    terminal.resize(u16::try_from(COLUMNS).unwrap(), 24);
    gate.release_all();
    terminal.shows(QUESTION).types("3\n");
    let (code, screen) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    let (question, _) = screen.split_once(QUESTION).unwrap();
    let rows: Vec<_> = question[question.find("  | ").unwrap()..].lines().map(str::trim_end).collect();
    for row in &rows {
        // The title is coloured; it holds no words of the model.
        assert!(row.chars().count() < COLUMNS || row.contains("\u{1b}[33mallow?"), "{row:?} in\n{screen}");
    }
    for (label, times) in [("  target  ", 1), ("  1  ", 1), ("  | +harmless", 0), ("allow? ", 0)] {
        assert_eq!(rows.iter().filter(|row| row.starts_with(label)).count(), times, "{label} in\n{screen}");
    }
}

/// EXEC-04: a command sees the end of its input at once, and eats none of the answers.
#[test]
fn commands_do_not_eat_answers() {
    for world in World::each("do_not_eat_answers") {
        world.server.script([
            calls(command(&["cat"])),
            calls(sh("read x; echo \"got:$x.\"")),
            calls(write("a.txt", "x")),
            Reply::text("Done."),
        ]);
        world.run_answered("Run them.", "1\n1\n1\n").exits(0);
        assert!(world.results(2).contains("got:."), "{}", world.results(2));
        assert!(world.file("a.txt").is_some(), "the third answer was still there");
    }
}

/// CLI-3: when the message came from stdin, that is not where questions are answered; without a terminal they are denied.
#[test]
fn a_message_on_stdin_without_a_terminal() {
    let world = World::new("stdin_without_terminal");
    for message in ["Write.\n1\n1\n", "1\n"] {
        writes(&world, "a.txt");
        let ended = world.fed(world.detached(["run", "-"]), message.as_bytes());
        ended.exits(3).answers("Done.").says(&["there is no terminal to ask on"]);
        assert_eq!(world.file("a.txt"), None);
    }
}

/// CLI-3: when the message came from stdin, the question goes to the terminal.
#[test]
fn a_message_on_stdin_with_a_terminal() {
    for (answer, code, written) in [("1\n", 0, true), ("3\n", 0, false), ("\x04", 3, false)] {
        let world = World::new("stdin_with_terminal");
        writes(&world, "a.txt");
        let mut terminal = Terminal::start(world.script_on_terminal("printf 'Write it.\\n3\\n' | \"$0\" run -"));
        terminal.shows(QUESTION).types(answer);
        let (left, screen) = terminal.ends();
        assert_eq!((left, world.file("a.txt").is_some()), (code, written), "{screen}");
    }
}

/// CLI-3: answers on a terminal, which ends as it was.
#[test]
fn answers_on_a_terminal() {
    let world = World::new("answers_on_a_terminal");
    for (number, (keys, allowed, code)) in [
        ("1\n", true, 0),
        ("y\n", true, 0),
        ("allow for session\n", true, 0),
        ("3\n", false, 0),
        ("n\n", false, 0),
        ("maybe\n", false, 0),
        ("\n", false, 0),
        ("\x04", false, 3),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("{number}.txt");
        writes(&world, &file);
        let mut terminal = Terminal::start(world.on_terminal(["run", "Write."]));
        terminal.shows("allow?").shows(QUESTION).types(keys);
        let (left, screen) = terminal.ends();
        assert_eq!((left, world.file(&file).is_some()), (code, allowed), "{screen}");
        // FND-62: which answers there are is said where none of them came.
        let is_none = matches!(keys, "maybe\n" | "\n");
        assert_eq!(screen.contains("the answers are 1 or y"), is_none, "{screen}");
    }
}

/// CLI-3: what was typed before the question, whole lines or the beginning of one, is no answer to it; what is typed as soon
/// as the question shows is.
#[test]
fn typed_ahead() {
    for (ahead, echo, answer, allowed) in
        [("1\n", "1\r\n", "3\n", false), ("1", "1", "\n", false), ("3\n1\n3\n", "1\r\n3\r\n", "1\n", true)]
    {
        let world = World::new("typed_ahead");
        let (reply, gate) = calls(write("a.txt", "x")).gated();
        world.server.script([reply, Reply::text("Done.")]);
        let mut terminal = Terminal::start(world.on_terminal(["run", "Write."]));
        world.server.wait_for_request_blocking(0);
        // The echo shows that the keys have arrived on the other side.
        terminal.types(ahead).shows(echo);
        gate.release_all();
        terminal.shows(QUESTION).types(answer);
        let (code, screen) = terminal.ends();
        assert_eq!((code, world.file("a.txt").is_some()), (0, allowed), "{screen}");
    }
}

/// EXEC-11: a command that opens the terminal behind its closed stdin finds none.
#[test]
fn a_command_has_no_terminal() {
    let world = World::new("command_has_no_terminal");
    world.server.script([calls(sh("read x </dev/tty || exit 9; echo \"read:$x\"")), Reply::text("Done.")]);
    let mut terminal = Terminal::start(world.on_terminal(["run", "Ask them."]));
    terminal.shows(QUESTION).types("1\n");
    let (code, screen) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
    let result = world.results(1);
    assert!(result.contains("/dev/tty") && !result.contains("read:"), "{result}");
}
