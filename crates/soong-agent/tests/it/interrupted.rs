//! Two processes on one session, and processes that die (RUN-4, RUN-20).

use agent_testkit::{Call, Reply};
use rustix::process::Signal;
use serde_json::json;

use crate::process::Running;
use crate::support::{World, calls, sh, write};
use crate::watched::wait_until;

/// A session that exists.
fn session(world: &World) -> String {
    world.session("hi", "Hello.")
}

/// RUN-4: a second process on a session is refused and told who has it; nothing is asked of the model and nothing stored.
/// Once the first is dead, however it died, the session goes on.
#[test]
fn a_session_has_one_owner() {
    for world in World::each("one_owner") {
        let session = session(&world);
        world.server.push(Reply::hang());
        let first = Running::start(world.agent(["run", "--session-id", &session, "Think."]));
        world.is_answering(1);
        let before = world.event_types(&session);
        let second = world.run(&["run", "--session-id", &session, "Me too."]).exits(1).one_error().answers("");
        let pid = format!("process {} ", first.pid().as_raw_nonzero());
        second.says(&[&session, "in use", &pid]);
        assert_eq!((world.server.request_count(), world.event_types(&session)), (2, before));
        first.signal(Signal::KILL);
        assert_eq!(first.ends().code, -9);
        world.goes_on(&session);
    }
}

/// RUN-4: other sessions of the same home are not concerned.
#[test]
fn sessions_run_side_by_side() {
    let world = World::new("side_by_side");
    world.server.push(Reply::hang());
    let _first = Running::start(world.agent(["run", "Think."]));
    world.is_answering(0);
    world.server.push(Reply::text("I am another."));
    world.run(&["run", "hi"]).exits(0).answers("I am another.");
}

/// RUN-20: killed while the model answers: what was said before is there, the run has failed.
#[test]
fn killed_while_the_model_answers() {
    for world in World::each("killed_answering") {
        let (reply, gate) = Reply::text("A long answer in pieces.").chunks(5).gated();
        world.server.push(reply);
        let running = Running::start(world.agent(["run", "Remember the word mango."]));
        world.is_answering(0);
        gate.release(2);
        running.signal(Signal::KILL);
        running.ends();
        let session = &world.sessions()[0];
        world.goes_on(session);
        assert!(world.server.requests()[1].body.to_string().contains("mango"));
        let failed = world.events(session).into_iter().find(|event| event.event_type.as_str() == "loop_failed");
        let error = failed.expect("the dead run is stored as failed").payload["error"].to_string();
        assert!(error.contains("process ended during the run"), "{error}");
    }
}

/// RUN-20, RUN-14, STRM-09 (2): killed while a command runs: its call gets a result that says it may have run, and the next
/// request is valid.
#[test]
fn killed_while_a_command_runs() {
    for world in World::each("killed_command") {
        let started = world.home.project.join("started");
        let script = ": >started; exec sleep 300";
        world.server.push(Reply::empty().calls([sh(script), write("later.txt", "x")]));
        let mut running = Running::asked(world.agent(["run", "Work."]));
        running.types(b"1\n");
        wait_until("the command has started", || started.exists());
        running.signal(Signal::KILL);
        running.ends();
        world.goes_on(&world.sessions()[0]);
        let results = world.results(1);
        assert!(results.contains("may or may not have run"), "{results}");
        assert_eq!(world.file("later.txt"), None);
    }
}

/// RUN-20: however a run ends hard, the next one's model is told that it was cut short, once, and with which calls it may have done
/// something; so is the person, in one line and one for each call. A run that ended itself is not told of.
#[test]
fn hard_ends_are_told() {
    /// How a run ends.
    enum End {
        Killed,
        InterruptedTwice,
        Interrupted,
        Completed,
    }
    let looks = || vec![calls(Call::new("code.list_dir", json!({}))), Reply::hang()];
    let command = || vec![Reply::empty().calls([sh(": >started; exec sleep 300")])];
    for (end, replies, answers, told, line) in [
        (End::Killed, vec![Reply::hang()], "", "the process ended", ""),
        (
            End::Killed,
            command(),
            "1\n",
            "(what it started may still be running)",
            "it may still be running: code.run_command",
        ),
        (
            End::InterruptedTwice,
            command(),
            "1\n",
            "(what it started may still be running)",
            "it may still be running: ",
        ),
        (End::Killed, looks(), "", "the process ended", ""),
        (End::Interrupted, vec![Reply::hang()], "", "", ""),
        (End::Completed, vec![Reply::text("Done.")], "", "", ""),
    ] {
        let world = World::new("hard_ends");
        let started = world.home.project.join("started");
        let requests = replies.len();
        world.server.script(replies);
        let mut running = Running::asked(world.agent(["run", "Work."]));
        running.types(answers.as_bytes());
        match end {
            End::Completed => {}
            _ if answers.is_empty() => world.is_answering(requests - 1),
            _ => wait_until("the command has started", || started.exists()),
        }
        match end {
            End::Killed => running.signal(Signal::KILL),
            End::Interrupted => running.signal(Signal::INT),
            End::InterruptedTwice => {
                running.signal(Signal::INT);
                running.says("stopping; once more quits at once").signal(Signal::INT);
            }
            End::Completed => {}
        }
        running.ends();
        let session = &world.sessions()[0];
        for round in 0..2 {
            world.server.push(Reply::text("Still here."));
            let ended = world.run(&["run", "--session-id", session, "Are you there?"]).exits(0).answers("Still here.");
            let request = world.server.requests().pop().unwrap().body.to_string();
            let said = request.matches("The work on the previous message was cut short").count();
            assert_eq!(said, usize::from(!told.is_empty()), "{told}: {request}");
            assert!(request.contains(told), "{told}: {request}");
            let is_told = round == 0 && !told.is_empty();
            let first = "the last run was cut short: its process ended; the model is told";
            assert_eq!(ended.stderr.contains(first), is_told, "{}", ended.stderr);
            let about = ["it may still be running: ", "it may have been done: "]
                .map(|about| ended.stderr.matches(about).count());
            assert_eq!(about.iter().sum::<usize>(), usize::from(is_told && !line.is_empty()), "{}", ended.stderr);
            assert!(!is_told || ended.stderr.contains(line), "{}", ended.stderr);
        }
    }
}

/// RUN-20: killed at the question: nothing was written, and the next run is asked anew.
#[test]
fn killed_at_the_question() {
    for world in World::each("killed_question") {
        world.server.push(calls(write("a.txt", "x")));
        let running = Running::asked(world.agent(["run", "Write."]));
        running.says("1, 2 or 3? ").signal(Signal::KILL);
        running.ends();
        assert_eq!(world.file("a.txt"), None);
        world.goes_on(&world.sessions()[0]);
    }
}

/// RUN-20: killed again and again, in whatever moment it is: the session stays whole and takes the next message.
#[test]
fn killed_again_and_again() {
    let world = World::new("killed_again");
    // Requests are counted, and a summary would be one.
    world.configure("compact.enabled = false");
    let session = session(&world);
    world.home.write("project/a.txt", "x\n".repeat(2000));
    // An endless task of small steps: there is always something going on.
    world.server.respond_with(|_, at| {
        let line = 1 + at % 1500;
        calls(Call::new("code.read_file", json!({"path": "a.txt", "start_line": line, "max_lines": 3})))
    });
    let mut events = 0;
    for round in 0..12 {
        let before = world.server.request_count();
        let running = Running::start(world.agent(["run", "--session-id", &session, "Read on."]));
        // The moment differs from round to round, by turns and, within a turn, by whatever the machine does meanwhile.
        wait_until("it is at work", || world.server.request_count() > before + round % 5);
        running.signal(Signal::KILL);
        running.ends();
        let now = world.event_types(&session).len();
        assert!(now > events, "what was stored stays stored");
        events = now;
    }
    world.goes_on(&session);
}
