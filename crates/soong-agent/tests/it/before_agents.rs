//! A home that the build before this one's schema has left behind (fixtures/before_agents): opened by every command, told,
//! searched and gone on with.

use std::fs;
use std::path::Path;

use agent_core::archive;
use agent_core::config::Location;
use agent_core::id::{NodeId, SessionId};
use agent_store::{SessionArchive, SessionStore};
use agent_testkit::{Call, Reply};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{World, calls};

const FIRST: &str = "sess_01a22f818885732896f5625d215a6a74";
const SECOND: &str = "sess_01a22f818dd97635a643d7df4391b649";
/// The answer of the first session's first run.
const ANSWER: &str = "node_01a22f8188867358b779b3b6fdca6561_8";

fn fixture(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/before_agents").join(path)
}

/// The home with its two projects as they were.
fn left_behind(name: &str) -> World {
    let world = World::new(name);
    let other = world.home.root.join("other");
    let text = fs::read_to_string(fixture("sessions.sql")).unwrap();
    let sql =
        text.replace("@PROJECT@", world.home.project.to_str().unwrap()).replace("@OTHER@", other.to_str().unwrap());
    Connection::open(world.home.home.join("sessions.sqlite")).unwrap().execute_batch(&sql).unwrap();
    let artifact = format!("{FIRST}/artifacts/art_01a22f8188ca7342b36ae889d146c2ae/stdout.txt");
    let content = fs::read(fixture(&format!("sessions/{artifact}"))).unwrap();
    world.home.write(format!("home/sessions/{artifact}"), content);
    world.home.write("project/brews.csv", "name,price\nmocha,3\nlatte,4\nristretto,2\n");
    world.home.write("project/count.txt", "3\n");
    world.home.write("other/plan.md", "# Plan\n\n- mocha\n");
    world
}

fn overwrite(path: &str, content: &str) -> Call {
    Call::new("code.write_file", json!({"path": path, "content": content, "overwrite": true}))
}

/// STO-4: no command refuses it, whichever comes first.
#[test]
fn every_command_takes_it() {
    for arguments in [
        &["sessions"][..],
        &["sessions", "--search", "ristretto"],
        &["replay", FIRST],
        &["replay", FIRST, "--debug"],
        &["replay", FIRST, "--context"],
        &["replay", FIRST, "--run", "1", "--turn", "2"],
        &["cleanup", "artifacts"],
        &["run", "--session-id", "last", "Still there?"],
        &["run", "--session-id", FIRST, "Still there?"],
        &["run", "Something new."],
    ] {
        let world = left_behind("before_agents_commands");
        world.server.respond_with(|_, _| Reply::text("Yes."));
        world.run(arguments).exits(0);
        let raw = Connection::open(world.home.home.join("sessions.sqlite")).unwrap();
        let version: i64 = raw.query_row("SELECT max(version) FROM schema_migrations", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 6, "{arguments:?}");
    }
}

/// CLI-5, STO-9: what was done is listed, found and told as it happened, up to the kill.
#[test]
fn it_is_listed_searched_and_replayed() {
    let world = left_behind("before_agents_replay");
    let list = world.run(&["sessions"]).exits(0).stdout;
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows[0][0], rows[1][0], rows.len()), (SECOND, FIRST, 2), "{list}");
    assert_eq!((rows[0][2..4].join(" "), rows[1][2..4].join(" ")), ("2 completed".into(), "4 interrupted".into()));
    let found = world.run(&["sessions", "--search", "ristretto", "brew*"]).exits(0).stdout;
    assert!(found.starts_with(FIRST) && found.lines().count() == 1, "{found}");

    let shown = world.run(&["replay", FIRST]).exits(0).stdout;
    let mut at = 0;
    for words in [
        "> How many brews are in brews.csv? Count them.\n",
        "notes.txt: deny\n",
        "denied code.write_file notes.txt",
        "count.txt: allow once\n",
        "ok     code.write_file count.txt: created, 2 bytes\n",
        "| There are **3** brews: mocha, latte and ristretto.\n",
        "file   2.7 kB: ",
        "note   8 earlier turns in summary from here on",
        "| The data repeats itself.\n",
        "> Wait.\n",
        "lost   code.run_command ",
        "end    interrupted",
    ] {
        at += shown[at..].find(words).unwrap_or_else(|| panic!("{words:?} is not next in:\n{}", &shown[at..]));
    }
    let second = world.run(&["replay", SECOND]).exits(0).stdout;
    assert!(second.contains("| The plan is in plan.md.\n"), "{second}");

    let request = world.run(&["replay", FIRST, "--run", "1", "--turn", "2"]).exits(0).stdout;
    let request: Value = serde_json::from_str(&request).unwrap();
    assert_eq!(request["messages"].as_array().unwrap().len(), 3);
    assert!(request["tools"].as_array().unwrap().len() > 5);
    let id = SessionId::parse(FIRST).unwrap();
    let artifacts = world.in_store(async |store| store.artifacts(&id, None, 9).await.unwrap());
    assert!(artifacts.len() == 1 && artifacts[0].file_exists);
}

/// RUN-20, COD-5, CMP-1: it is gone on with: the summary stands for its beginning, the killed call is answered, what was seen of
/// files counts, and so does what changed since.
#[test]
fn it_is_gone_on_with() {
    let world = left_behind("before_agents_goes_on");
    world.home.write("project/brews.csv", "changed\n");
    world.server.script([
        calls(overwrite("count.txt", "4\n")),
        calls(overwrite("brews.csv", "mine\n")),
        Reply::text("One of two."),
    ]);
    let run = world.agent(["run", "--session-id", FIRST, "Correct the files."]);
    world.fed(run, b"1\n1\n").exits(0).answers("One of two.");
    assert_eq!(world.file("count.txt").unwrap(), "4\n");
    assert_eq!(world.file("brews.csv").unwrap(), "changed\n");
    let first = world.server.requests()[0].body.to_string();
    for words in ["<compaction>", "3 brews counted", "Wait.", "Correct the files."] {
        assert!(first.contains(words), "{words} is missing in {first}");
    }
    assert!(world.results(0).contains("may or may not have run"), "{}", world.results(0));
    assert!(world.results(2).contains("path_conflict"), "{}", world.results(2));

    let id = SessionId::parse(FIRST).unwrap();
    world.in_store(async |store| {
        let session = store.session(&id).await.unwrap().unwrap();
        let root = store.load_agent(&id, &session.root_agent_id).await.unwrap();
        assert_eq!(root.row.active_node_id, session.active_node_id);
        assert_eq!(store.unfinished_runs(&id).await.unwrap(), []);
        let events = store.events(&id, 0, 10_000).await.unwrap();
        assert!(events.iter().map(|event| event.seq.unwrap()).eq(1..=events.len() as u64));
        assert_eq!(root.last_context.unwrap().built.run_id, events.last().unwrap().run_id);
    });
    let shown = world.run(&["replay", FIRST]).exits(0).stdout;
    assert!(shown.contains("run 5  ") && shown.contains("| One of two.\n"), "{shown}");
    world.goes_on(FIRST);
}

/// STO-7: a branch of it begins where its first answer was, before the summary and without what came later.
#[test]
fn another_branch_of_it() {
    let world = left_behind("before_agents_branch");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let archive = archive::open(&Location::default().home_dir(&world.home.home)).await.unwrap();
        let (session, node) = (SessionId::parse(FIRST).unwrap(), NodeId::parse(ANSWER).unwrap());
        archive.switch_node(&session, &node).await.unwrap();
        archive.close().await;
    });
    world.goes_on(FIRST);
    let request = world.server.requests()[0].body.to_string();
    assert!(request.contains("There are **3** brews"), "{request}");
    for words in ["3 brews counted", "Print the numbers", "Wait."] {
        assert!(!request.contains(words), "{words} is in {request}");
    }
    assert!(world.run(&["replay", FIRST]).exits(0).stdout.contains("another branch begins here"));
}
