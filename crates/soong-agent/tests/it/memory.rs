//! `soong-agent memory`, and the moment that a run gives to what is to be remembered (MEM-9).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_testkit::Reply;
use rustix::process::Signal;
use serde_json::json;

use crate::process::Running;
use crate::support::World;
use crate::terminal::Terminal;

const EVERYWHERE: &str = "mem_20261130094143_abcd";
const HERE: &str = "mem_20261130094144_abcd";
const ELSEWHERE: &str = "mem_20261130094145_abcd";

/// A world whose runs remember.
fn remembering(name: &str) -> World {
    let world = World::new(name);
    let url = world.server.base_url(world.protocol);
    world.home.write_config(&url, world.protocol.provider(), "memory.idle_seconds = 86400");
    world
}

fn remember(world: &World, id: &str, project: Option<&Path>, summary: &str, body: &str) -> PathBuf {
    let (project, summary) = (json!(project), json!(summary));
    let time = "2026-11-30T09:41:43Z";
    let text = format!(
        "---\nid: {id}\ncategory: user\nsummary: {summary}\ntags: [a, b]\ncreated_at: {time}\nupdated_at: {time}\n\
         source_session_id: sess_1\nsource_node_ids: [node_1]\nproject: {project}\n---\n\n{body}\n"
    );
    let path = world.home.home.join(format!("memory/user/x-20261130-{id}.md"));
    world.home.write(&path, text);
    path
}

fn with_memories(name: &str) -> World {
    let world = World::new(name);
    // No model server is needed, and none is there.
    world.configure_at("http://127.0.0.1:9", "");
    remember(&world, EVERYWHERE, None, "Likes tea", "Green tea.\n\u{1b}[2JLoose leaves.");
    remember(&world, HERE, Some(&world.home.project), "Uses tabs", "Tabs.");
    remember(&world, ELSEWHERE, Some(&world.home.root.join("other")), "Client\tX", "The plan.");
    world
}

/// CLI-5, MEM-12: what holds everywhere and what belongs to the project; others on demand. Tabs and whole values for scripts.
#[test]
fn list() {
    let world = with_memories("memory_list");
    let ended =
        world.run(&["memory", "list"]).exits(0).says(&["1 more of other projects; --all", "memory.enabled is false"]);
    let time = "2026-11-30T09:41:43Z";
    let project = world.home.project.to_str().unwrap();
    let here = format!("{HERE}\tuser\t{time}\t{project}\tUses tabs\n");
    let everywhere = format!("{EVERYWHERE}\tuser\t{time}\teverywhere\tLikes tea\n");
    assert_eq!(ended.stdout, format!("{here}{everywhere}"));
    let other = world.home.root.join("other");
    let elsewhere = format!("{ELSEWHERE}\tuser\t{time}\t{}\tClient X\n", other.display());
    // The folder is gone, or never was; what is remembered of it is not.
    world
        .run(&["memory", "list", "--path", other.to_str().unwrap()])
        .exits(0)
        .answers(&format!("{elsewhere}{everywhere}"));
    world.run(&["memory", "list", "--all"]).exits(0).answers(&format!("{elsewhere}{here}{everywhere}"));
    let nowhere = world.home.root.join("nowhere");
    world.run(&["memory", "list", "--path", nowhere.to_str().unwrap()]).exits(2).answers("").says(&["does not exist"]);
    world.home.write("home/memory/user/notes.md", "mine");
    world.run(&["memory", "list"]).exits(0).says(&["left out: user/notes.md"]);
}

/// On a terminal ids are as short as they can be, and no line is longer than the terminal.
#[test]
fn list_on_a_terminal() {
    let world = with_memories("memory_list_terminal");
    let (code, screen) = Terminal::start_of(60, world.on_terminal(["memory", "list", "--all"])).ends();
    assert_eq!(code, 0);
    for id in [HERE, ELSEWHERE, EVERYWHERE] {
        assert!(screen.contains(&id[..18]) && !screen.contains(id), "{screen}");
    }
    assert!(screen.contains("Uses tabs") && screen.contains("Likes tea"), "{screen}");
    let rows: Vec<_> = screen.lines().filter(|row| row.contains("user")).collect();
    assert!(rows.len() == 3 && rows.iter().all(|row| row.trim_end().chars().count() < 60), "{rows:?}");
}

/// Facts and text of one; what would act on a terminal does not.
#[test]
fn show() {
    let world = with_memories("memory_show");
    let ended = world.run(&["memory", "show", &EVERYWHERE[..17]]).exits(2).one_error();
    ended.says(&["beginning of several", HERE, EVERYWHERE]).answers("");
    let ended = world.run(&["memory", "show", EVERYWHERE]).exits(0);
    for fact in
        [EVERYWHERE, "everywhere", "Likes tea", "a, b", "sess_1", "node_1", "memory/user/x-20261130-", "Loose leaves."]
    {
        assert!(ended.stdout.contains(fact), "{fact} is missing in {}", ended.stdout);
    }
    let hint = "soong-agent memory list --all";
    world.run(&["memory", "show", "mem_2026"]).exits(2).one_error().says(&["there is no memory", hint, "8 characters"]);
}

/// What is forgotten is gone, from its folder and from the catalog, and is told; unless all are found none goes.
#[test]
fn forget() {
    let world = with_memories("memory_forget");
    let left = || fs::read_dir(world.home.home.join("memory/user")).unwrap().count();
    world.run(&["memory", "forget"]).exits(2);
    world.run(&["memory", "forget", HERE, "mem_20261130094146_abcd"]).exits(2).one_error();
    assert_eq!(left(), 3, "none goes");
    let ended = world.run(&["memory", "forget", &HERE[..18], ELSEWHERE, HERE]).exits(0).says(&["forgot 2 memories"]);
    assert!(ended.stdout.lines().count() == 2 && ended.stdout.contains("Uses tabs"), "{}", ended.stdout);
    assert_eq!(left(), 1);
    let catalog = fs::read_to_string(world.home.home.join("memory/MEMORY.md")).unwrap();
    assert!(catalog.contains(EVERYWHERE) && !catalog.contains(HERE), "{catalog}");
    world.run(&["memory", "forget", EVERYWHERE]).exits(0).says(&["forgot 1 memory"]);
}

/// Looking makes nothing.
#[test]
fn nothing_yet() {
    let world = World::new("memory_nothing");
    world.run(&["memory", "list"]).exits(0).answers("").says(&["nothing is remembered here yet"]);
    world.run(&["memory", "show", EVERYWHERE]).exits(2).one_error();
    world.run(&["memory", "forget", EVERYWHERE]).exits(2).one_error();
    assert!(world.left_in_home().is_empty(), "{:?}", world.left_in_home());
}

/// A run that is over, of which the model is still asked what is to be remembered.
fn asked_what_to_remember(world: &World) -> (Running, agent_testkit::Gate) {
    let (stuck, gate) = Reply::text("{\"decisions\":[]}").gated();
    world.server.script([Reply::text("Noted."), stuck]);
    let running = Running::start(world.agent(["run", "Remember that I use tabs."]));
    running.says("go on with");
    world.server.wait_for_request_blocking(1);
    (running, gate)
}

/// Answers a run with "Noted.", and a look for things to remember with what `answer` makes of the message's node id.
fn decides(world: &World, answer: impl Fn(serde_json::Value) -> String + Send + Sync + 'static) {
    world.server.respond_with(move |request, _| {
        let told = request.messages().last().unwrap()["content"].as_str().unwrap().to_owned();
        let message = told.lines().rev().find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        match message.and_then(|message| Some(message.get("node_id")?.clone())) {
            Some(id) => Reply::text(answer(id)),
            None => Reply::text("Noted."),
        }
    });
}

/// MEM-3, MEM-4: whoever asked for something to be remembered is told what came of it: that it was not, and why.
#[test]
fn what_is_not_remembered_is_told() {
    let secret = |id| {
        let decision = json!({
            "action": "new", "category": "user", "scope": "user", "name": "staging", "summary": "Staging", "tags": [],
            "content": "The staging password is hunter2-Tr0ub4dor.", "source_node_ids": [id],
        });
        json!({ "decisions": [decision] }).to_string()
    };
    type Answer = fn(serde_json::Value) -> String;
    let cases: [(Answer, &str); 3] = [
        (secret, "note   not remembered: "),
        (|_| json!({ "decisions": [] }).to_string(), "note   nothing new was found to be remembered"),
        (|_| "I will do that!".to_owned(), "note   nothing was remembered: "),
    ];
    for (answer, note) in cases {
        let world = remembering("memory_not");
        decides(&world, answer);
        let ended = world.run(&["run", "Remember the staging password."]).exits(0).answers("Noted.");
        ended.says(&[note]).never_says(&["hunter2"]);
        assert!(!world.run(&["memory", "list"]).exits(0).stdout.contains("mem_"));
    }
}

/// MEM-9: what a run is told to remember is remembered when it ends.
#[test]
fn a_run_waits_for_its_memory() {
    let world = remembering("memory_waits");
    decides(&world, |id| {
        let decision = json!({
            "action": "new", "category": "user", "scope": "user", "name": "tabs", "summary": "Uses tabs", "tags": [],
            "content": "The user uses tabs.", "source_node_ids": [id],
        });
        json!({ "decisions": [decision] }).to_string()
    });
    let ended = world.run(&["run", "Remember that I use tabs."]).exits(0).answers("Noted.");
    ended.says(&["remembered (see, or undo with forget: soong-agent memory show mem_"]);
    world
        .run(&["memory", "list"])
        .exits(0)
        .never_says(&["enabled"])
        .stdout
        .contains("Uses tabs")
        .then_some(())
        .unwrap();
}

/// MEM-9: three seconds at most; then it is said what becomes of it.
#[test]
fn a_run_does_not_wait_long() {
    let world = remembering("memory_waits_not_long");
    let (running, _gate) = asked_what_to_remember(&world);
    let begun = Instant::now();
    running
        .ends()
        .exits(0)
        .answers("Noted.")
        .says(&["nothing is remembered yet: finding out what to remember takes more than 3 s"]);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

/// MEM-9, CLI-4: Ctrl-C ends the wait, and the run stays what it was.
#[test]
fn the_wait_can_be_cut_short() {
    let world = remembering("memory_cut_short");
    let (running, _gate) = asked_what_to_remember(&world);
    running.signal(Signal::INT);
    let ended = running.ends().exits(0).answers("Noted.").never_says(&["takes longer"]);
    let types = world.event_types(&ended.session());
    assert_eq!(types.last(), Some(&"memory_extraction_failed"), "the job was ended in order");
}

/// CLI-4: the second Ctrl-C leaves at once, also then.
#[test]
fn the_second_signal_leaves_at_once() {
    let world = remembering("memory_second_signal");
    let (answer, _stuck_answer) = Reply::text("A long answer in pieces.").chunks(5).gated();
    let (stuck, _gate) = Reply::text("{\"decisions\":[]}").gated();
    world.server.script([answer, stuck]);
    let running = Running::start(world.agent(["run", "Remember that I use tabs."]));
    world.server.wait_for_request_blocking(0);
    running.signal(Signal::INT);
    world.server.wait_for_request_blocking(1);
    let begun = Instant::now();
    running.signal(Signal::INT);
    running.ends().exits(130);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// On a terminal the person sees what is waited for.
#[test]
fn the_wait_is_shown() {
    let world = remembering("memory_shown");
    let (stuck, gate) = Reply::text("{\"decisions\":[]}").gated();
    world.server.script([Reply::text("Noted."), stuck]);
    let mut terminal = Terminal::start(world.on_terminal(["run", "Remember that I use tabs."]));
    terminal.shows("finding out what to remember");
    gate.release_all();
    assert_eq!(terminal.ends().0, 0);
}
