//! Sessions over several runs and several runtimes.

use agent_core::StartOptions;
use agent_core::error::ErrorCode;
use agent_core::event::{EventDraft, EventType};
use agent_core::message::Object;
use agent_store::{SessionStore, Write};
use agent_testkit::{Call, Protocol, Reply};
use serde_json::json;

use crate::stored::{Kept, Stored};
use crate::support::{World, run, run_in};

/// CTX-7, EVT-5: a last report that cannot be read teaches nothing, and the session goes on all the same.
#[tokio::test]
async fn a_report_that_cannot_be_read_is_done_without() {
    let world = World::new("unreadable_report", Protocol::OpenAi).await;
    world.server.script([Reply::text("First answer."), Reply::text("Second answer.")]);
    let runtime = world.runtime().await;
    let first = run(&runtime, "First question.").await;
    runtime.close().await;
    let stored = Stored::open(&world.home.home).await;
    let claimed = stored.store.claim_session(&first.session_id, None).await.unwrap();
    let run_id = first.events[0].run_id.clone().unwrap();
    let kept = Kept { lease: claimed.lease, agent_id: claimed.row.root_agent_id, run_id };
    let broken = Object::from_iter([("calibration".to_owned(), json!("much"))]);
    stored.commit(&kept, vec![Write::Event(EventDraft::raw(EventType::ContextBuilt, broken))]).await;
    stored.die([kept]).await;
    let runtime = world.runtime().await;
    run_in(&runtime, &first.session_id, "Second question.").await.assert_completed();
    runtime.close().await;
}

/// CLI-1, STO-7: a session goes on in another runtime, with its whole history.
#[tokio::test]
async fn a_session_goes_on() {
    for &protocol in Protocol::ALL {
        let world = World::new("goes_on", protocol).await;
        world.server.script([
            Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]),
            Reply::text("First answer."),
            Reply::text("Second answer."),
        ]);
        let runtime = world.runtime().await;
        let first = run(&runtime, "First question.").await;
        runtime.close().await;
        let runtime = world.runtime().await;
        run_in(&runtime, &first.session_id, "Second question.").await.assert_completed();
        let requests = world.server.requests();
        let before = requests[1].messages().len();
        assert_eq!(&requests[2].messages()[..before], requests[1].messages(), "the history is what it was");
        runtime.close().await;
    }
}

/// COD-10: a session belongs to its project.
#[tokio::test]
async fn a_session_belongs_to_its_project() {
    let world = World::new("belongs", Protocol::OpenAi).await;
    world.server.push(Reply::text("Hi."));
    let runtime = world.runtime().await;
    let first = run(&runtime, "Hi?").await;
    runtime.close().await;
    let other = world.builder().project_dir(&world.home.root).build().await.unwrap();
    let options = StartOptions { session_id: Some(first.session_id.clone()), mode: None };
    let error = other.start("More.", options).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ValidationError);
    assert!(error.to_string().contains(&world.home.project.display().to_string()), "{error}");
    other.close().await;
}

/// RUN-4: a session has one owner at a time; the second is told who, and may have it afterwards.
#[tokio::test]
async fn a_session_has_one_owner() {
    let world = World::new("one_owner", Protocol::OpenAi).await;
    world.server.script([Reply::text("Mine."), Reply::text("Yours.")]);
    let first = world.runtime().await;
    let ran = run(&first, "Mine?").await;
    let second = world.runtime().await;
    let options = || StartOptions { session_id: Some(ran.session_id.clone()), mode: None };
    let error = second.start("Mine!", options()).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::SessionActive);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    first.close().await;
    drop(first);
    run_in(&second, &ran.session_id, "Now?").await.assert_completed();
    second.close().await;
}

/// A session that does not exist is an error that names it.
#[tokio::test]
async fn no_such_session() {
    let world = World::new("no_such_session", Protocol::OpenAi).await;
    let runtime = world.runtime().await;
    let id = agent_core::id::SessionId::parse("sess_nonesuch").unwrap();
    let error = runtime.start("Hi", StartOptions { session_id: Some(id), mode: None }).await.err().unwrap();
    assert!(error.to_string().contains("sess_nonesuch"), "{error}");
    runtime.close().await;
}

/// COD-5, EDIT-17: a file that somebody changed after it was read is not overwritten, even by a later process.
#[tokio::test]
async fn somebody_elses_change_is_not_overwritten() {
    let world = World::new("somebody_else", Protocol::OpenAi).await;
    world.home.write("project/f.txt", "one\n");
    let overwrite = || Call::new("code.write_file", json!({"path": "f.txt", "content": "mine\n", "overwrite": true}));
    world.server.script([
        Reply::text("").calls([Call::new("code.read_file", json!({"path": "f.txt"}))]),
        Reply::text("Read."),
        Reply::text("").calls([overwrite()]),
        Reply::text("Conflict."),
    ]);
    let runtime = world.runtime().await;
    let first = run(&runtime, "Read it.").await;
    runtime.close().await;
    drop(runtime);
    world.home.write("project/f.txt", "one\ntheirs\n");
    let (runtime, _) = world.answering(agent_core::permission::DecisionKind::AllowOnce).await;
    let ran = run_in(&runtime, &first.session_id, "Overwrite it.").await;
    assert_eq!(ran.of_type(agent_core::EventType::ToolFailed)[0].payload["error"]["code"], "path_conflict");
    assert_eq!(world.file("f.txt").as_deref(), Some("one\ntheirs\n"));
    runtime.close().await;
}

/// RUN-4, ART-3: two homes with one database look for the lock in the same place; two databases of one home do not take each
/// other's files for strays.
#[tokio::test]
async fn the_lock_lies_beside_the_database() {
    let world = World::new("shared_database", Protocol::OpenAi).await;
    world.server.script([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]);
    let database = world.home.root.join("shared/other.sqlite");
    let first = world.builder().session_db_path(&database).build().await.unwrap();
    let ran = run(&first, "One?").await;
    let elsewhere = world.home.root.join("second-home");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::copy(world.home.home.join("config.toml"), elsewhere.join("config.toml")).unwrap();
    let second = world.builder().home_dir(&elsewhere).session_db_path(&database).build().await.unwrap();
    let options = StartOptions { session_id: Some(ran.session_id.clone()), mode: None };
    let error = second.start("Mine!", options).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::SessionActive);
    assert!(world.home.root.join("shared/other.sqlite.sessions").join(ran.session_id.as_str()).join("lock").exists());
    second.close().await;
    let third = world.runtime().await;
    run(&third, "Three?").await.assert_completed();
    assert!(!world.home.home.join("sessions").join(ran.session_id.as_str()).exists());
    third.close().await;
    first.close().await;
}

/// COD-10, DEC-84: projects whose names are no UTF-8 are told apart.
#[tokio::test]
async fn projects_of_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new("any_bytes", Protocol::OpenAi).await;
    let folder = |name: &[u8]| world.home.root.join(std::ffi::OsStr::from_bytes(name));
    let (one, other) = (folder(b"p\xff"), folder(b"p\xfe"));
    for folder in [&one, &other] {
        std::fs::create_dir(folder).unwrap();
    }
    world.server.push(Reply::text("Hi."));
    let runtime = world.builder().project_dir(&one).build().await.unwrap();
    let ran = run(&runtime, "Hi?").await;
    runtime.close().await;
    let elsewhere = world.builder().project_dir(&other).build().await.unwrap();
    let options = StartOptions { session_id: Some(ran.session_id), mode: None };
    let error = elsewhere.start("More.", options).await.err().unwrap();
    assert!(error.to_string().contains("p%FF") && error.to_string().contains("p%FE"), "{error}");
    elsewhere.close().await;
}
