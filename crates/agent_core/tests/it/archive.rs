//! Looking back: lists, searches, replays, and what they do not show (API-6, STO-9, STO-10).

use agent_core::archive::{Archive, Replay, SessionFilter, Standing};
use agent_core::config::Location;
use agent_core::error::{ArchiveError, BuildError, ErrorCode, RuntimeError, StoreError};
use agent_core::id::{NodeId, SessionId};
use agent_core::permission::DecisionKind;
use agent_core::session::Node;
use agent_core::{EventType, RuntimeEvent};
use agent_protocol::EventDraft;
use agent_store::Write;
use agent_testkit::{Call, Protocol, Reply};
use serde_json::json;

use crate::stored::{Stored, big_call, big_tool, node};
use crate::support::{World, run, run_in, whole};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

pub(crate) async fn archive(world: &World) -> Archive {
    agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.expect("something is stored")
}

fn texts(nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(|node| node.content.iter().filter_map(|block| block.to_model_text()).collect()).collect()
}

/// API-6, STO-9: a session is replayed as three lists: the events its stream showed, its nodes, its artifacts; a part of it
/// by the places of its events, a run of it by its id, in this process and in another.
#[tokio::test]
async fn a_session_is_replayed() {
    for &protocol in Protocol::ALL {
        let world = World::new("replayed", protocol).await;
        world.server.script([big_call(), Reply::text("Found."), Reply::text("Again.")]);
        let runtime = world.builder().tool(big_tool()).build().await.unwrap();
        let first = run(&runtime, "Find the needle.").await;
        let second = run_in(&runtime, &first.session_id, "Again?").await;
        let stored = |events: &[RuntimeEvent]| -> Vec<RuntimeEvent> {
            events.iter().filter(|event| event.seq.is_some()).cloned().collect()
        };
        let (one, two) = (stored(&first.events), stored(&second.events));
        let id = &first.session_id;
        let whole = runtime.replay_session(id, None, None, true).await.unwrap().collect().await.unwrap();
        assert_eq!(whole.events, [&one[..], &two[..]].concat());
        assert_eq!(whole.nodes.len(), 6, "{:?}", texts(&whole.nodes));
        assert!(whole.nodes.iter().zip(1..).all(|(node, n)| node.node_seq == n));
        assert_eq!(whole.artifacts.len(), 1);
        let kept = std::fs::read_to_string(&whole.artifacts[0].path).unwrap();
        assert!(kept.matches("needle").count() == 2000, "the artifact is whole");

        let of_run = runtime.replay_run(two[0].run_id.as_ref().unwrap(), true).await.unwrap();
        assert_eq!(of_run.run().unwrap().turn_count, 1);
        let of_run = of_run.collect().await.unwrap();
        assert_eq!((of_run.events, texts(&of_run.nodes)), (two, vec!["Again?".to_owned(), "Again.".to_owned()]));
        let part = runtime.replay_session(id, one[2].seq, one[4].seq, true).await.unwrap().collect().await.unwrap();
        assert_eq!(part.events, one[2..=4]);

        let path = runtime.get_node_path(&whole.nodes[5].node_id).await.unwrap();
        assert_eq!(path, whole.nodes);
        runtime.close().await;
        let later = archive(&world).await;
        let again = later.replay_session(id, None, None, true).await.unwrap().collect().await.unwrap();
        assert_eq!(again, whole);
        later.close().await;
    }
}

/// STO-9: what child agents say is left out of their session's replay and told in a summary; their own run shows it.
#[tokio::test]
async fn children_are_summarised() {
    let world = World::new("children", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let kept = stored.session("parent", "Share the work.").await;
    let said = stored.child(&kept, "child", "I count files.").await;
    stored.commit(&kept, vec![node(&kept.run_id, 2, "Thank you.")]).await;
    let archive = archive(&world).await;
    let of_session = archive.replay_session(kept.id(), None, None, false).await.unwrap();
    let children: Vec<_> = of_session.children().iter().map(|child| child.agent_id.as_str().to_owned()).collect();
    assert_eq!(children, ["agent_child"]);
    let whole = of_session.collect().await.unwrap();
    assert_eq!(texts(&whole.nodes), ["Share the work.", "Thank you."]);
    assert!(!format!("{whole:?}").contains("count files"));

    let path = archive.get_node_path(&said, false).await.unwrap();
    let of_child = archive.replay_run(&path[0].run_id, false).await.unwrap();
    assert!(of_child.children().is_empty());
    let of_child = of_child.collect().await.unwrap();
    assert_eq!((texts(&of_child.nodes), of_child.events.len()), (vec!["I count files.".to_owned()], 1));
    let of_parent = archive.replay_run(&kept.run_id, false).await.unwrap();
    assert_eq!(of_parent.children().len(), 1);
    archive.close().await;
    stored.die([kept]).await;
}

/// STO-9: a big session comes in pieces that together are the whole, each event and node once and in order.
#[tokio::test]
async fn big_sessions_come_in_pieces() {
    let world = World::new("pieces", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let kept = stored.session("big", "Begin.").await;
    for at in 0..30_u64 {
        let line = |n: u64| {
            Write::Event(EventDraft::raw(
                EventType::Error,
                agent_protocol::Object::from_iter([("n".to_owned(), n.into())]),
            ))
        };
        let writes = (0..100_u64).flat_map(|n| [node(&kept.run_id, at * 100 + n + 2, "more"), line(at * 100 + n)]);
        stored.commit(&kept, writes.collect()).await;
    }
    let archive = archive(&world).await;
    let mut replay = archive.replay_session(kept.id(), None, None, false).await.unwrap();
    let (mut pages, mut seqs, mut node_seqs) = (0, Vec::new(), Vec::new());
    while let Some(page) = replay.next().await.unwrap() {
        pages += 1;
        seqs.extend(page.events.iter().filter_map(|event| event.seq));
        node_seqs.extend(page.nodes.iter().map(|node| node.node_seq));
    }
    assert!(pages > 2, "{pages}");
    assert_eq!(seqs, (1..=3000).collect::<Vec<_>>());
    assert_eq!(node_seqs, (1..=3001).collect::<Vec<_>>());
    archive.close().await;
    stored.die([kept]).await;
}

async fn shown(replay: Result<Replay, ArchiveError>) -> String {
    format!("{:?}", replay.unwrap().collect().await.unwrap())
}

/// STO-10: replays, paths, listings and searches show no secret unless asked; what is stored stays whole.
#[tokio::test]
async fn secrets_are_not_shown() {
    let world = World::new("not_shown", Protocol::OpenAi).await;
    world.home.write("project/notes.txt", format!("deploy with {TOKEN} on friday\n"));
    world.server.script([
        Reply::text("").calls([Call::new("code.read_file", json!({"path": "notes.txt"}))]),
        Reply::text(format!("It is {TOKEN}.")),
        Reply::error(401, format!("bad key {TOKEN}")),
    ]);
    let runtime = world.runtime().await;
    let first = run(&runtime, &format!("My token is {TOKEN}, read the notes.")).await;
    let second = run_in(&runtime, &first.session_id, "Again?").await;
    let archive = runtime.archive();
    let id = &first.session_id;
    let of = |ran: &crate::support::Ran| ran.events[0].run_id.clone().unwrap();
    let tip = runtime.replay_run(&of(&first), false).await.unwrap().run().unwrap().end_node_id.clone().unwrap();
    for include_sensitive in [true, false] {
        let texts = [
            shown(archive.replay_session(id, None, None, include_sensitive).await).await,
            shown(archive.replay_run(&of(&first), include_sensitive).await).await,
            format!("{:?}", archive.get_node_path(&tip, include_sensitive).await.unwrap()),
        ];
        for text in &texts {
            assert_eq!(text.contains(TOKEN), include_sensitive, "{text}");
            assert!(text.contains("code.read_file") && text.contains("notes.txt"), "{text}");
        }
        let failed = archive.replay_run(&of(&second), include_sensitive).await.unwrap();
        assert_eq!(format!("{:?}", failed.run()).contains(TOKEN), include_sensitive);
    }
    let path = runtime.get_node_path(&tip).await.unwrap();
    assert!(
        path.iter()
            .all(|node| node.metadata.get("redacted") == Some(&json!(true)) || node.role.as_str() == "assistant")
    );
    for text in [
        format!("{:?}", whole(runtime.list_sessions(10, 0).await.unwrap())),
        format!("{:?}", archive.session(id).await.unwrap()),
        format!("{:?}", whole(runtime.search_sessions("token notes", 10, 0).await.unwrap().hits)),
    ] {
        assert!(!text.contains(TOKEN) && text.contains(id.as_str()), "{text}");
    }
    runtime.close().await;
}

/// API-6: sessions are listed by pages, the last used one first, of one project or of all; one of them by its id says the
/// same.
#[tokio::test]
async fn sessions_are_listed() {
    let world = World::new("listed", Protocol::OpenAi).await;
    world.server.script((0..4).map(|n| Reply::text(format!("Answer {n}."))));
    let runtime = world.runtime().await;
    let first = run(&runtime, "First project question.").await;
    let other = world.builder().project_dir(&world.home.root).build().await.unwrap();
    let second = run(&other, "Second project question.").await;
    other.close().await;
    let third = run(&runtime, "Third project question.").await;
    run_in(&runtime, &first.session_id, "More of the first.").await;

    let ids = |listed: &[agent_core::archive::SessionListing]| -> Vec<SessionId> {
        listed.iter().map(|listing| listing.summary.session.session_id.clone()).collect()
    };
    let all = whole(runtime.list_sessions(10, 0).await.unwrap());
    let order = [first.session_id.clone(), third.session_id.clone(), second.session_id.clone()];
    assert_eq!(ids(&all), order);
    assert_eq!(ids(&whole(runtime.list_sessions(1, 1).await.unwrap())), order[1..2]);
    let filter = SessionFilter { cwd: Some(world.home.project.display().to_string()) };
    assert_eq!(ids(&whole(runtime.archive().list_sessions(&filter, 10, 0).await.unwrap())), order[..2]);
    assert_eq!(all[0].summary.first_message.as_deref(), Some("First project question."));
    assert_eq!((all[0].summary.runs, all[0].standing), (2, Standing::Ended(agent_core::runtime::RunStatus::Completed)));
    for listing in &all {
        assert_eq!(runtime.archive().session(&listing.summary.session.session_id).await.unwrap(), *listing);
    }
    let id = second.session_id.as_str();
    assert_eq!(*runtime.sessions_beginning(&id[..id.len() - 1], 9).await.unwrap(), order[2..]);
    assert_eq!(runtime.archive().sessions_beginning("sess_", 2).await.unwrap().len(), 2);
    let hits = whole(runtime.search_sessions("second", 10, 0).await.unwrap().hits);
    assert_eq!(
        hits.iter().map(|hit| &hit.listing.summary.session.session_id).collect::<Vec<_>>(),
        [&second.session_id]
    );
    assert!(hits[0].excerpt.contains("Second project question"), "{}", hits[0].excerpt);
    runtime.close().await;
}

/// RUN-20: a run whose process is gone was interrupted; while it is at work its session says who works.
#[tokio::test]
async fn a_crash_is_seen() {
    let world = World::new("crash_seen", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let kept = stored.session("crashed", "Work.").await;
    let archive = archive(&world).await;
    let id = kept.id().clone();
    let at_work = archive.session(&id).await.unwrap();
    assert_eq!((at_work.standing, at_work.owner.unwrap().pid), (Standing::Running, std::process::id()));
    assert_eq!(
        whole(archive.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap())[0].standing,
        Standing::Running
    );
    stored.die([kept]).await;
    let gone = archive.session(&id).await.unwrap();
    assert_eq!((gone.standing, gone.owner), (Standing::Interrupted, None));
    assert_eq!(
        whole(archive.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap())[0].standing,
        Standing::Interrupted
    );
    archive.close().await;
}

/// ERR-5: what is not there is named.
#[tokio::test]
async fn what_is_not_there() {
    let world = World::new("not_there", Protocol::OpenAi).await;
    let nowhere = agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.err().unwrap();
    assert!(
        matches!(&nowhere, BuildError::NothingStored { path } if path.ends_with("home/sessions.sqlite")),
        "{nowhere}"
    );
    assert!(!world.home.home.join("sessions.sqlite").exists() && !world.home.home.join("sessions").exists());

    let runtime = world.runtime().await;
    let session = SessionId::parse("sess_none").unwrap();
    let not_found = |error: RuntimeError| {
        assert_eq!(error.code(), ErrorCode::ValidationError);
        assert!(matches!(&error, RuntimeError::Store(StoreError::SessionNotFound { .. })), "{error}");
    };
    not_found(runtime.replay_session(&session, None, None, false).await.err().unwrap());
    not_found(runtime.archive().session(&session).await.unwrap_err().into());
    not_found(runtime.delete_session(&session).await.unwrap_err());
    let node = NodeId::parse("node_none").unwrap();
    for error in [
        runtime.get_node_path(&node).await.unwrap_err(),
        runtime.switch_node(&session, &node).await.unwrap_err(),
        runtime.delete_artifact(&agent_core::id::ArtifactId::parse("art_none").unwrap()).await.unwrap_err(),
        runtime.replay_run(&agent_core::id::RunId::parse("run_none").unwrap(), false).await.err().unwrap(),
    ] {
        assert!(error.to_string().contains("none") && error.code() == ErrorCode::ValidationError, "{error}");
    }
    runtime.close().await;
    let archive = archive(&world).await;
    assert!(
        whole(archive.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap()).is_empty(),
        "a database without sessions"
    );
    archive.close().await;
}

/// API-14: the archive finds the database that the configuration names, or the one it is given, then without a configuration.
#[tokio::test]
async fn the_database_is_found() {
    let world = World::new("db_found", Protocol::OpenAi).await;
    let elsewhere = world.home.root.join("data/mine.sqlite");
    std::fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    world.configure(&format!("context.session_db_path = \"{}\"", elsewhere.display()));
    world.server.push(Reply::text("Hi."));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Hi?").await;
    runtime.close().await;
    assert!(archive(&world).await.session(&ran.session_id).await.is_ok());
    std::fs::remove_file(world.home.config_path()).unwrap();
    let location = Location::default().home_dir(&world.home.home);
    assert!(matches!(agent_core::archive::open(&location).await, Err(BuildError::Config(_))));
    let given = agent_core::archive::open(&location.session_db_path(&elsewhere)).await.unwrap();
    assert!(given.session(&ran.session_id).await.is_ok());
    given.close().await;
    assert!(given.session(&ran.session_id).await.is_err(), "closed");
}

/// STO-5, DEC-74: an empty database beside a log is damaged, not new.
#[tokio::test]
async fn an_empty_database_beside_a_log() {
    let world = World::new("empty_beside_log", Protocol::OpenAi).await;
    world.home.write("home/sessions.sqlite", "");
    world.home.write("home/sessions.sqlite-wal", "something");
    let error = agent_core::archive::open(&Location::default().home_dir(&world.home.home)).await.err().unwrap();
    assert!(error.to_string().contains("it is damaged"), "{error}");
    assert_eq!(std::fs::read_to_string(world.home.home.join("sessions.sqlite-wal")).unwrap(), "something");
}

/// STO-10: a line about a call is cut after secrets have been taken out of it, so that no half of one stays.
#[tokio::test]
async fn a_cut_line_keeps_no_half_of_a_secret() {
    let world = World::with("cut_secret", Protocol::OpenAi, "model.context_window = 32768").await;
    let secret = "https://bob:Tr0ub4dorAnd3horseBattery9@example.org/x";
    let calls = (100..170).step_by(5).map(|width| {
        let argv = json!(["echo", "x".repeat(width - 8), secret]);
        Reply::text("").calls([Call::new("code.run_command", json!({ "argv": argv }))])
    });
    let calls: Vec<_> = calls.collect();
    let count = calls.len();
    world.server.script(calls.into_iter().chain([Reply::text("Done.")]));
    let (runtime, _) = world.answering(DecisionKind::AllowOnce).await;
    let ran = run(&runtime, "Echo.").await;
    ran.assert_completed();
    let replay = runtime.replay_session(&ran.session_id, None, None, true).await.unwrap();
    let events = replay.collect().await.unwrap().events;
    let started: Vec<_> = events.iter().filter(|event| event.event_type == EventType::ToolStarted).collect();
    assert_eq!(started.len(), count);
    for event in started {
        let shown = serde_json::to_string(&event.payload).unwrap();
        assert!(!shown.contains("Tr0ub4"), "{shown}");
    }
    runtime.close().await;
}
