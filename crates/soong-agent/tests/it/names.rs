//! What sessions and their runs may be called on the command line (CLI-5).

use std::fs;

use agent_core::id::{AgentId, RunId, SessionId};
use agent_protocol::{AgentType, EventDraft, LoopStarted, Object, RunStatus};
use agent_store::{Commit, NewRun, NewSession, SessionStore, Write};
use agent_testkit::Reply;
use serde_json::Value;

use crate::support::{World, calls, read};
use crate::terminal::Terminal;

/// Makes a session with a run that never ended, as a killed process leaves it.
pub(crate) fn made(world: &World, id: &str, cwd: &std::path::Path) {
    let agent_id = AgentId::parse(&format!("agent_{id}")).unwrap();
    let new = NewSession {
        session_id: SessionId::parse(id).unwrap(),
        cwd: cwd.to_string_lossy().into_owned(),
        root_agent_id: agent_id.clone(),
        agent_type: AgentType::Main,
        metadata: Object::new(),
    };
    let run_id = RunId::parse(&format!("run_{id}")).unwrap();
    let run = NewRun {
        run_id: run_id.clone(),
        agent_id: agent_id.clone(),
        status: RunStatus::Running,
        start_node_id: None,
        metadata: Object::new(),
    };
    let writes = vec![Write::Run(run), Write::Event(EventDraft::of(LoopStarted::default()))];
    world.in_store(async |store| {
        let lease = store.create_session(new).await.unwrap();
        store.commit(&lease, Commit { agent_id, run_id, writes }).await.unwrap();
    });
}

const ALIKE: [&str; 3] = ["sess_0123456789abcdef01", "sess_0123456789abcdef02", "sess_0123456789abX"];
const OTHERS: [&str; 3] = ["sess_0123zz6789abcdef01", "sess_longer_than_that_too", "sess_shorty"];

/// CLI-5: a list on a terminal shows ids as short as they tell sessions apart, with 12 characters at least, and each is
/// taken where a session is named; elsewhere they are whole.
#[test]
fn as_a_list_shows_them() {
    let world = World::new("names_short");
    let project = world.home.project.canonicalize().unwrap();
    for id in ALIKE.iter().chain(&OTHERS) {
        made(&world, id, &project);
    }
    let (_, screen) = Terminal::start_of(80, world.on_terminal(["sessions"])).ends();
    let shown: Vec<_> = screen.lines().map(|row| row.split_whitespace().next().unwrap()).collect();
    let known = [
        "sess_shorty",
        "sess_longer_than_",
        "sess_0123zz6789ab",
        "sess_0123456789abX",
        "sess_0123456789abcdef02",
        "sess_0123456789abcdef01",
    ];
    assert_eq!(shown, known, "{screen}");
    for (shown, whole) in shown.iter().zip(OTHERS.iter().rev().chain(ALIKE.iter().rev())) {
        let replayed = world.run(&["replay", shown]).exits(0).stdout;
        assert!(replayed.starts_with(&format!("session {whole}\n")), "{shown}: {replayed}");
    }
    let whole = world.run(&["sessions"]).exits(0).stdout;
    assert!(ALIKE.iter().chain(&OTHERS).all(|id| whole.contains(&format!("{id}\t"))), "{whole}");
}

/// CLI-5: wherever a session is named its id's beginning will do, if there is no other one; an id that is one always wins.
#[test]
fn a_beginning_will_do() {
    let world = World::new("names_beginning");
    let project = world.home.project.canonicalize().unwrap();
    let alike: Vec<_> = (1..=6).map(|n| format!("sess_0123456789{n}")).collect();
    for id in alike.iter().map(String::as_str).chain(["sess_01234567890", "sess_012345678901", "sess_abcdefghij"]) {
        made(&world, id, &project);
    }
    let all = |name: &'static str| {
        [
            vec!["replay", name],
            vec!["cleanup", "session", name],
            vec!["cleanup", "artifacts", "--session", name],
            vec!["run", "--session-id", name, "hi"],
        ]
    };
    for arguments in all("sess_01234567") {
        let refused = world.run(&arguments).exits(2).answers("").one_error();
        refused.says(&[
            "several sessions begin with sess_01234567: ",
            "sess_01234567890, ",
            "and others",
            "more of the id",
        ]);
    }
    let named = world.run(&["replay", "sess_01234567"]).exits(2).stderr;
    assert_eq!(named.matches("sess_0123456789").count(), 5, "{named}");
    for arguments in all("sess_abcdefg") {
        world.run(&arguments).exits(2).answers("").says(&["no session sess_abcdefg", "8 characters"]);
    }
    for arguments in all("sess_abcdefgX").into_iter().filter(|it| it[1] != "artifacts") {
        world.run(&arguments).exits(2).answers("").one_error().says(&["sess_abcdefgX", "soong-agent sessions"]);
    }
    assert_eq!(world.server.request_count(), 0);
    for (name, whole) in [("sess_abcdefgh", "sess_abcdefghij"), ("sess_01234567890", "sess_01234567890")] {
        assert!(world.run(&["replay", name]).exits(0).stdout.starts_with(&format!("session {whole}\n")), "{name}");
        let shown = world.run(&["cleanup", "session", name]).exits(0);
        assert!(shown.stdout.starts_with(&format!("{whole}: ")), "{shown:?}");
        shown.says(&[&format!("cleanup session {whole} --yes")]);
        world.run(&["cleanup", "artifacts", "--session", name]).exits(0);
        world.server.push(Reply::text("Yes."));
        let went_on = world.run(&["run", "--session-id", name, "hi"]).exits(0).says(&["going on with"]);
        assert_eq!(went_on.session(), whole);
    }
}

/// CLI-5: `last` is the project's latest wherever a session is named; what is to be typed next names it by its id.
#[test]
fn the_last_one() {
    let world = World::new("names_last");
    for arguments in [&["cleanup", "session", "last"][..], &["cleanup", "artifacts", "--session", "last"]] {
        world.run(arguments).exits(2).answers("").one_error().says(&["no session"]);
    }
    let first = world.session("One.", "1.");
    let second = world.session("Two.", "2.");
    let elsewhere = world.home.root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    made(&world, "sess_of_another_project", &elsewhere);
    world.run(&["cleanup", "artifacts", "--all", "--session", "last"]).exits(0).says(&["nothing to remove"]);
    world.run(&["cleanup", "session", "last"]).exits(0).says(&[&format!("cleanup session {second} --yes")]);
    world.run(&["cleanup", "session", "last", "--yes"]).exits(0);
    assert!(world.run(&["replay", "last"]).exits(0).stdout.starts_with(&format!("session {first}\n")));
}

/// CLI-5: a run is named by its id, by its number as the timeline prints it, or as the last one, which is also meant where
/// only a turn is named.
#[test]
fn runs() {
    let world = World::new("names_runs");
    world.home.write("project/a.txt", "x\n");
    let session = world.session("One.", "1.");
    world.server.script([calls(read("a.txt")), Reply::text("2.")]);
    world.run(&["run", "--session-id", &session, "Two."]).exits(0);
    let said = |run: &str| world.run(&["replay", &session, "--run", run]).exits(0).stdout;
    assert!(said("1").contains("> One.") && !said("1").contains("> Two."), "{}", said("1"));
    assert_eq!(said("run 1"), said("1"));
    assert!(said("2").contains("> Two.") && !said("2").contains("> One."), "{}", said("2"));
    assert_eq!(said("last"), said("2"));
    let messages = |arguments: &[&str]| {
        let json = world.run(&[&["replay", &session], arguments].concat()).exits(0).stdout;
        serde_json::from_str::<Value>(&json).unwrap()["messages"].as_array().unwrap().len()
    };
    for last in [&["--turn", "2"][..], &["--run", "last", "--turn", "2"], &["--run", "2", "--turn", "2"]] {
        assert_eq!(messages(last), 5, "{last:?}");
    }
    assert_eq!((messages(&["--request", "last:2"]), messages(&["--request", "1:1"])), (5, 1));
    for (run, words) in [("3", "2 runs"), ("0", "counted from 1"), ("first", "--run"), ("-1", "--run")] {
        world.run(&["replay", &session, &format!("--run={run}")]).exits(2).answers("").one_error().says(&[words]);
    }
}
