//! Ctrl-C and its kin, in every phase: the exit code says so, nothing stays behind, the session goes on (CLI-4, CLI-06).

use std::fs;
use std::io::Read;
use std::process::Command;

use agent_testkit::{Delivery, Reply};
use rustix::process::Signal;

use crate::process::Running;
use crate::support::{BIN, World, calls, sh, write};
use crate::terminal::Terminal;
use crate::watched::wait_until;

const SIGNALS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

/// The run is stored as cancelled, and the session takes the next message.
#[track_caller]
fn is_over(world: &World, session: &str) {
    let types = world.event_types(session);
    assert!(types.contains(&"run_cancelled") && types.contains(&"loop_aborted"), "{types:?}");
    world.goes_on(session);
}

/// CLI-4, CLI-06 (a, e, f), RUN-18: while the model answers. The connection is closed; how to go on is said.
#[test]
fn while_the_model_answers() {
    for world in World::each("cancel_while_answering") {
        for (at, (signal, code)) in SIGNALS.into_iter().enumerate() {
            let (reply, gate) = Reply::text("A long answer in pieces.").chunks(5).gated();
            world.server.push(reply);
            let running = Running::start(world.agent(["run", "Talk."]));
            world.is_answering(2 * at);
            gate.release(2);
            running.signal(signal);
            let ended = running.ends().exits(code).answers("").says(&["stopping"]);
            assert_eq!(world.server.wait_for_end_blocking(2 * at), Delivery::ClosedByClient);
            is_over(&world, &ended.session());
        }
    }
}

/// CLI-06 (a) on a terminal: what was shown of the answer stays, and the next line is a line of its own.
#[test]
fn ctrl_c_on_a_terminal() {
    for world in World::each("ctrl_c_on_a_terminal") {
        let (reply, gate) = Reply::text("A long answer in pieces.").chunks(5).gated();
        world.server.push(reply);
        let mut terminal = Terminal::start(world.on_terminal(["run", "Talk."]));
        world.is_answering(0);
        gate.release(3);
        terminal.shows("A long").types("\x03");
        let (code, screen) = terminal.ends();
        assert_eq!(code, 130, "{screen}");
        let hint = screen.rsplit("--session-id ").next().unwrap();
        is_over(&world, hint.split_whitespace().next().unwrap());
    }
}

/// CLI-4, CLI-06 (d): the second Ctrl-C quits even while the answer goes to a reader that does not read.
#[test]
fn twice_while_nobody_reads() {
    let world = World::new("twice_while_nobody_reads");
    world.server.push(Reply::text("x".repeat(500_000)));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = world.agent(["run", "Talk."]);
    command.stdout(writer);
    let running = Running::with_stdout(command);
    // The answer is longer than a pipe holds: from its first byte on the process is stuck in writing the rest.
    reader.read_exact(&mut [0]).unwrap();
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.signal(Signal::INT);
    let code = running.ends().code;
    assert!([130, 143].contains(&code), "{code}");
    drop(reader);
}

/// CLI-06 (f): the window is closed: the run is cancelled, though nobody can be told.
#[test]
fn the_window_is_closed() {
    let world = World::new("window_is_closed");
    let (reply, gate) = Reply::text("A long answer in pieces.").chunks(5).gated();
    world.server.push(reply);
    let mut terminal = Terminal::start(world.on_terminal(["run", "Talk."]));
    world.is_answering(0);
    gate.release(3);
    terminal.shows("A long");
    assert_eq!(terminal.closes(), 129);
    is_over(&world, &world.sessions()[0]);
}

/// CLI-06 (b, e, f), RUN-18, STRM-09 (1): while a command runs. It is killed with all it started, what it said is kept, and
/// the later calls of the turn do not happen.
#[test]
fn while_a_command_runs() {
    for world in World::each("cancel_command") {
        for (signal, code) in SIGNALS {
            let started = world.home.project.join("started");
            let script = "echo 'so far'; (setsid sleep 300 &) ; sleep 300 & : >started; wait";
            world.server.push(Reply::empty().calls([sh(script), write("later.txt", "x")]));
            let mut running = Running::asked(world.agent(["run", "Work."]));
            running.types(b"1\n");
            wait_until("the command has started", || started.exists());
            assert!(world.at_work().len() >= 3, "the command and what it started are found");
            running.signal(signal);
            let ended = running.ends().exits(code).answers("");
            assert_eq!(world.at_work(), [], "nothing stays behind");
            let last = world.server.request_count();
            is_over(&world, &ended.session());
            let results = world.results(last);
            assert!(results.contains("so far") && results.contains("before it ran"), "{results}");
            assert_eq!(world.file("later.txt"), None);
            fs::remove_file(started).unwrap();
        }
    }
}

/// CLI-06 (c): at the question. It counts as deny.
#[test]
fn at_the_question() {
    for world in World::each("cancel_question") {
        for (signal, code) in SIGNALS {
            world.server.push(calls(write("a.txt", "x")));
            let running = Running::asked(world.agent(["run", "Write."]));
            running.says("1, 2 or 3? ").signal(signal);
            let ended = running.ends().exits(code).answers("");
            is_over(&world, &ended.session());
        }
        world.server.push(calls(write("a.txt", "x")));
        let mut terminal = Terminal::start(world.on_terminal(["run", "Write."]));
        terminal.shows("1, 2 or 3? ").types("\x03");
        let (code, screen) = terminal.ends();
        assert_eq!((code, world.file("a.txt")), (130, None), "{screen}");
    }
}

/// CLI-4, CLI-06 (d): the second Ctrl-C does not wait for what does not stop. Even that is gone afterwards, and the session
/// goes on as after a crash (RUN-20).
#[test]
fn twice() {
    let world = World::new("cancel_twice");
    let script = "trap '' TERM INT HUP; : >started; while :; do sleep 1; done";
    world.server.push(calls(sh(script)));
    let mut running = Running::asked(world.agent(["run", "Work."]));
    running.types(b"1\n");
    let started = world.home.project.join("started");
    wait_until("the command has started", || started.exists());
    running.signal(Signal::INT);
    running.says("stopping; once more quits at once").signal(Signal::INT);
    let session = &running.ends().exits(130).session();
    wait_until("nothing stays behind", || world.at_work().is_empty());
    let unfinished = world.event_types(session);
    assert!(!unfinished.contains(&"loop_aborted"), "it did not wait for the command: {unfinished:?}");
    world.goes_on(session);
    assert!(world.results(1).contains("may or may not have run"), "{}", world.results(1));
}

/// CLI-4, DEC-42: neither a second signal nor SIGQUIT leaves anything of a command that is deaf to SIGTERM, or that left its
/// session; it is gone when the process is.
#[test]
fn nothing_survives_the_quick_exit() {
    for (signals, code) in [(&[Signal::INT, Signal::INT][..], 130), (&[Signal::QUIT], 131)] {
        let world = World::new("cancel_quick");
        let script = "trap '' TERM; setsid sleep 3004 & sleep 3005 & : >started; wait; sleep 3005";
        world.server.push(calls(sh(script)));
        let mut running = Running::asked(world.agent(["run", "Work."]));
        running.types(b"1\n");
        let started = world.home.project.join("started");
        wait_until("the command has started", || started.exists() && world.at_work().len() >= 3);
        for (at, signal) in signals.iter().enumerate() {
            if at > 0 {
                running.says("stopping; once more quits at once");
            }
            running.signal(*signal);
        }
        let _ = running.ends().exits(code);
        assert_eq!(world.at_work(), [], "{signals:?}");
    }
}

/// What the caller set to be ignored (`nohup`, a background job of a script) is ignored.
#[test]
fn an_ignored_signal() {
    for (name, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT), ("TERM", Signal::TERM)] {
        let world = World::new("ignored_signal");
        let (reply, gate) = Reply::text("Undisturbed.").chunks(3).gated();
        world.server.push(reply);
        let mut command = world.home.command("sh");
        command.args(["-c", &format!("trap '' {name}; exec \"$0\" run Talk."), BIN]);
        let running = Running::start(command);
        world.is_answering(0);
        running.signal(signal);
        gate.release_all();
        running.ends().exits(0).answers("Undisturbed.").never_says(&["stopping"]);
    }
}

/// FND-60: whoever starts the tests may have signals ignored (`nohup ./test &` in a script); those that send signals pass all the
/// same, and none of them hangs.
#[test]
fn whatever_signals_the_tests_were_started_with() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT QUIT TERM; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "cancel::while_the_model_answers", "cancel::ctrl_c_on_a_terminal", "cancel::twice"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("3 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
